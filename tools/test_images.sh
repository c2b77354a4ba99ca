#!/bin/bash
# Builds the images of docker/ with podman and runs them: the CPU worker read-only and as nobody, the digits trained on
# it from this machine, SIGTERM; the CUDA worker without a GPU. As root; no image registry is asked: the bases are made by
# debootstrap (tools/debian_base.sh). What cannot run here is said at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "test_images: $*" >&2
  exit 1
}
[ "$(id -u)" = 0 ] || fail "podman's roots need root here"
for program in podman buildah runc; do
  command -v "$program" > /dev/null || fail "apt-get install --no-install-recommends podman buildah runc"
done

work=$(mktemp -d "$PWD/build/images.XXXXXX")
started=()
finish() {
  for name in "${started[@]}"; do podman rm -f -t 0 "$name" > /dev/null 2>&1 || true; done
  rm -rf --one-file-system "$work"
}
trap finish EXIT

# Settings that work inside another container as well: no network of their own, no systemd.
cat > "$work/containers.conf" <<'CONF'
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
netns = "host"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
CONF
export CONTAINERS_CONF=$work/containers.conf

# import [--with-build-tools]: prints the image that tools/debian_base.sh's root is known by.
import() {
  local tar image
  tar=$(tools/debian_base.sh "$@")
  image=localhost/remora-debian:$(basename "$tar" .tar)
  podman image exists "$image" || podman import -q "$tar" "$image" > /dev/null
  echo "$image"
}
base=$(import)
build=$(import --with-build-tools)

# The compiler cache of this machine, where there is one: the images are built from the same sources.
cache=$(ccache --get-config cache_dir 2> /dev/null || true)
mount_cache=()
[ -z "$cache" ] || mount_cache=(--volume "$cache:/root/.cache/ccache")

build_image() {
  echo "== image $1"
  podman build --format docker -q -f docker/Dockerfile --target "$1" -t "$2" "${mount_cache[@]}" --pull-never \
    --build-arg BUILD_BASE="$build" --build-arg CPU_BASE="$base" --build-arg CUDA_BASE="$base" \
    --build-arg JOBS="${JOBS:-2}" --build-arg REVISION="$(git describe --always --dirty 2> /dev/null || echo unknown)" . \
    > "$work/$1.log" 2>&1 || { tail -n 40 "$work/$1.log" >&2; exit 1; }
  podman image inspect "$2" --format '{{.Config.User}} {{.Size}} bytes {{index .Config.Labels "org.opencontainers.image.title"}}'
}

# start NAME IMAGE ARGUMENT...: a worker, read-only, as nobody, with a folder for its socket.
start() {
  local name=$1 image=$2
  shift 2
  mkdir -p "$work/$name"
  chown 65532:65532 "$work/$name"
  started+=("remora-test-$name")
  podman run -d --name "remora-test-$name" --read-only --read-only-tmpfs=false --cap-drop all \
    --security-opt no-new-privileges --volume "$work/$name:/run/remora" "$image" "$@" > /dev/null \
    2> >(grep -v "systemd connection" >&2)  # the health check's timer is systemd's; below it is run by hand
  local waited=0
  until podman exec "remora-test-$name" remora ping --health > /dev/null 2>&1; do
    [ "$(podman inspect --format '{{.State.Running}}' "remora-test-$name")" = true ] && [ $((waited += 1)) -lt 120 ] \
      || { podman logs "remora-test-$name" >&2; fail "$name does not serve"; }
    sleep 0.25
  done
}

drain() {
  podman kill --signal TERM "remora-test-$1" > /dev/null
  local code
  code=$(timeout 30 podman wait "remora-test-$1") || fail "$1 has not ended 30 s after SIGTERM"
  podman logs "remora-test-$1" 2>&1 | grep -q "draining after SIGTERM" || fail "$1 did not say that it drains"
  [ "$code" = 0 ] || fail "$1 ended with $code after SIGTERM, not 0"
  echo "$1 drained after SIGTERM and exited with 0"
}

build_image worker-cpu remora-test-worker:cpu
build_image worker-cuda remora-test-worker:cuda
build_image client remora-test-client

echo "== the CPU worker, read-only, as nobody"
start cpu remora-test-worker:cpu
[ "$(stat -c %u:%g:%a "$work/cpu/remora.sock")" = 65532:65532:600 ] || fail "the socket is not nobody's alone"
podman healthcheck run remora-test-cpu > /dev/null || fail "the image's HEALTHCHECK fails"
podman exec remora-test-cpu remora ping --count 20
if podman exec remora-test-cpu remorad --listen unix:/forbidden.sock > /dev/null 2>&1; then
  fail "the root file system can be written to"
fi

echo "== digits, trained from this machine"
digits=build/static/bin/digits
[ -x "$digits" ] || digits=build/release/bin/digits
[ -x "$digits" ] || fail "neither the static nor the release build of digits is there"
REMORA_DEVICE="remote+unix://$work/cpu/remora.sock/cpu" "$digits"

echo "== digits, trained from the client's container, as deploy/compose/compose.yaml does"
podman run --rm --read-only --read-only-tmpfs=false --cap-drop all --volume "$work/cpu:/run/remora" \
  --env REMORA_DEVICE=remote+unix:///run/remora/remora.sock/cpu remora-test-client
drain cpu

echo "== the CUDA worker without a GPU"
start cuda remora-test-worker:cuda
podman logs remora-test-cuda 2>&1 | grep "not serving cuda:0: " || fail "the worker does not say why there is no GPU"
REMORA_DEVICE="remote+unix://$work/cuda/remora.sock/cpu" "$digits" > /dev/null
echo "it serves the CPU: the digits train on it"
drain cuda

echo "test_images: done. Not run here, for want of what it needs:"
echo "  - the bases that the Dockerfile names (debian:12-slim, nvidia/cuda): debootstrap's Debian 12 stood in for both"
echo "  - the CUDA image with a GPU: no GPU, and no NVIDIA container toolkit"
echo "  - compose files and Kubernetes manifests: only checked by tests/deploy, not started"
