#!/bin/bash
# Installs the packages that `make deb` has built into a bare Debian 12, uses them, and removes them again; as root.
#   tools/test_deb.sh [FOLDER]      the folder with the .deb files; build/package without it
# The roots are made once by debootstrap (tools/debian_base.sh) and copied for each run.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=$(cd "${1:-build/package}" && pwd)

# What lintian may say: there are no manual pages, and the packages come from no archive.
allowed_tags='no-manual-page|initial-upload-closes-no-bugs|bogus-mail-host-in-debian-changelog|bad-distribution-in-changes-file'

fail() {
  echo "test_deb: $*" >&2
  exit 1
}

[ "$(id -u)" = 0 ] || fail "chroot needs root"
for name in dev worker tools; do
  compgen -G "$packages/remora-${name}_*.deb" > /dev/null || fail "no remora-$name in $packages; make deb builds it"
done

if command -v lintian > /dev/null; then
  echo "== lintian"
  lintian --no-tag-display-limit --allow-root "$packages"/remora-*.deb > "$packages/lintian.log" 2>&1 || true
  if grep -E '^[EW]:' "$packages/lintian.log" | grep -vE "^[EW]: [a-z-]+: ($allowed_tags)( |\$)"; then
    fail "lintian complains (above)"
  fi
else
  echo "== lintian: not installed, not run"
fi

base=$(tools/debian_base.sh)
build=$(tools/debian_base.sh --with-build-tools)
work=$(mktemp -d "$PWD/build/debian/test.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT

# in_root ROOT SCRIPT: runs the script in the root, with /proc and the names of the network.
in_root() {
  cp /etc/resolv.conf /etc/hosts "$1/etc/"
  unshare --mount --pid --fork bash -c 'mount -t proc proc "$1/proc" && exec env -i HOME=/root \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \
    chroot "$1" bash -euo pipefail -c "$2"' in_root "$1" "$2"
}

echo "== worker and tools in a bare root"
mkdir "$work/run" && tar -xf "$base" -C "$work/run"
mkdir "$work/run/debs" && cp "$packages"/remora-{worker,tools}_*.deb "$work/run/debs/"
in_root "$work/run" '
  apt-get update -q > /debs/log 2>&1
  apt-get install -y -q --no-install-recommends /debs/*.deb >> /debs/log 2>&1 || { cat /debs/log; exit 1; }
  rm -f /usr/sbin/policy-rc.d
  getent passwd remora
  [ "$(getent passwd remora | cut -d: -f7)" = /usr/sbin/nologin ]
  remorad --version
  # As systemd would start it: as that user, with its file of options.
  install -d -o remora -g remora /run/remora
  mkfifo /debs/lines
  setpriv --reuid remora --regid remora --clear-groups remorad --config /etc/remora/remorad.toml > /debs/lines 2> /debs/worker.log &
  worker=$!
  read -r line < /debs/lines || { cat /debs/worker.log; exit 1; }
  echo "$line"
  [ "$(stat -c "%U %a" /run/remora/remora.sock)" = "remora 600" ]
  remora ping unix:/run/remora/remora.sock --health
  remora ping unix:/run/remora/remora.sock --count 5
  kill -TERM $worker && wait $worker
  rmdir /run/remora  # as systemd does with the runtime folder of a service that ended
  ls /lib/systemd/system/remorad.service /usr/share/doc/remora-worker/copyright > /dev/null
  [ "$(cat /var/lib/dpkg/info/remora-worker.conffiles)" = /etc/remora/remorad.toml ]

  echo "== a changed configuration outlives an upgrade and a removal, and goes with a purge"
  echo "# changed" >> /etc/remora/remorad.toml
  apt-get install -y -q --reinstall /debs/remora-worker_*.deb >> /debs/log 2>&1
  grep -q "^# changed" /etc/remora/remorad.toml
  apt-get remove -y -q remora-worker remora-tools >> /debs/log 2>&1
  for program in remorad remora; do
    [ ! -e /usr/bin/$program ] || { echo "test_deb: /usr/bin/$program is still there" >&2; exit 1; }
  done
  [ ! -e /lib/systemd/system/remorad.service ]
  grep -q "^# changed" /etc/remora/remorad.toml
  apt-get purge -y -q remora-worker >> /debs/log 2>&1
  [ ! -e /etc/remora/remorad.toml ]
  if getent passwd remora; then echo "test_deb: the user remora is still there" >&2; exit 1; fi
  left=$(find / -xdev \( -path /proc -o -path /debs -o -path /var/log -o -path /var/cache -o -path /var/lib/apt \) -prune \
    -o -name "*remora*" -print)
  [ -z "$left" ] || { echo "test_deb: left behind: $left" >&2; exit 1; }
'

echo "== dev in a root with build tools"
mkdir "$work/build" && tar -xf "$build" -C "$work/build"
mkdir "$work/build/debs" && cp "$packages"/remora-dev_*.deb "$work/build/debs/"
cp -r tests/consumer "$work/build/consumer"
in_root "$work/build" '
  apt-get install -y -q --no-install-recommends /debs/*.deb > /debs/log 2>&1 || { cat /debs/log; exit 1; }
  cd /consumer
  cmake -S . -B by-cmake -G Ninja > /debs/log 2>&1 && cmake --build by-cmake >> /debs/log 2>&1 || { cat /debs/log; exit 1; }
  by-cmake/consumer cpu
  g++ -std=c++20 -I. consumer.cpp client/tensor.cpp -o by-pkg-config $(pkg-config --cflags --libs remora)
  ./by-pkg-config cpu
  apt-get remove -y -q remora-dev >> /debs/log 2>&1
  [ ! -e /usr/include/remora ]
  if pkg-config --exists remora; then echo "test_deb: pkg-config still finds remora" >&2; exit 1; fi
'
echo "test_deb: installed, used and removed"
