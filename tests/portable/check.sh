#!/bin/bash
# What the preset `static` promises of the programs in BIN_DIR. Each check is a test of ctest (label portable).
#   check.sh needs BIN_DIR             nothing but glibc is needed, nothing newer than glibc 2.36
#   check.sh size BIN_DIR              bin/remora, stripped, is small enough to carry to a machine
#   check.sh empty-root BIN_DIR VECTORS_DIR
#                                      bin/remora works where there is only glibc
# Exit code 77: cannot be checked here, the reason is on stdout.
set -euo pipefail

max_glibc=2.36
max_bytes=45000000
# glibc's own files: every distribution has them.
glibc_files=(ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1)

fail() {
  echo "portable: $*" >&2
  exit 1
}

programs() {
  local found=0 file
  for file in "$1"/*; do
    if [ -f "$file" ] && readelf -h "$file" > /dev/null 2>&1; then
      echo "$file"
      found=1
    fi
  done
  [ "$found" = 1 ] || fail "no programs in $1"
}

check_needs() {
  local bin=$1 file library version count=0
  while read -r file; do
    count=$((count + 1))
    while read -r library; do
      printf '%s\n' "${glibc_files[@]}" | grep -qxF -- "$library" \
        || fail "$file needs $library, which is not of glibc; only these may be needed: ${glibc_files[*]}"
    done < <(readelf -dW "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
    while read -r version; do
      [[ "$version" == GLIBC_* ]] || fail "$file needs symbols of version $version; only GLIBC_* may be needed"
      [ "$(printf '%s\n' "${version#GLIBC_}" "$max_glibc" | sort -V | tail -n 1)" = "$max_glibc" ] \
        || fail "$file needs $version; the newest allowed is GLIBC_$max_glibc"
    done < <(readelf -VW "$file" | sed -n '/\.gnu\.version_r/,$p' | grep -o 'Name: [A-Za-z0-9_.]*' | sed 's/Name: //' \
      | sort -u)
  done < <(programs "$bin")
  [ "$count" -gt 1 ] || fail "only $count program in $bin"
  echo "portable: $count programs need glibc <= $max_glibc and nothing else"
}

check_size() {
  local stripped bytes
  stripped=$(mktemp)
  trap 'rm -f "$stripped"' RETURN
  strip -o "$stripped" "$1/remora"
  bytes=$(stat -c %s "$stripped")
  echo "portable: remora is $bytes bytes stripped, limit $max_bytes"
  [ "$bytes" -lt "$max_bytes" ] || fail "remora is $bytes bytes stripped; fewer than $max_bytes are allowed"
}

# Runs in a mount namespace of its own.
in_empty_root() {
  local root=$1 socket=/tmp/remora.sock worker line code enter
  mount -t proc proc "$root/proc" 2> /dev/null || mount --rbind /proc "$root/proc"
  enter=("$(command -v env)" -i "$(command -v chroot)" "$root")
  run() { "${enter[@]}" "$@"; }
  run /remora --version
  [[ "$(run /remorad --version)" == "remorad "* ]] || fail "called remorad, it is not the worker"
  code=0
  run /remora self-test --device cuda 2>&1 || code=$?
  [ "$code" = 1 ] || fail "self-test of a device that is not there ended with $code, not 1"
  run /remora self-test
  run /remora devices
  run /remora opinfo --cases /vectors/opinfo --known /vectors/known_failures.txt --min-passed 300 --device cpu > /dev/null
  # Its first line comes when it listens.
  exec 3< <(exec "${enter[@]}" /remora worker --listen "unix:$socket" 2> "$root/tmp/worker.log")
  worker=$!
  read -r line <&3 || fail "the worker ended: $(cat "$root/tmp/worker.log")"
  [ "$line" = "listening on unix:$socket" ] || fail "the worker said '$line'"
  run /remora ping "unix:$socket" --health
  run /remora ping "unix:$socket" --count 10
  kill -TERM "$worker"
  code=0
  wait "$worker" || code=$?
  [ "$code" = 0 ] || fail "the worker's exit code after SIGTERM is $code, not 0"
  echo "portable: remora works in a root with glibc alone"
}

check_empty_root() {
  local bin=$1 vectors=$2 file unshare=(unshare --mount)
  [ "$(id -u)" = 0 ] || unshare=(unshare --mount --map-root-user)
  if ! "${unshare[@]}" true 2> /dev/null; then
    echo "portable: not checked: no mount namespace may be made here (unshare)"
    exit 77
  fi
  root=$(mktemp -d)  # of the whole script: the trap needs it
  trap 'rm -rf "$root"' EXIT
  mkdir -p "$root"/{proc,tmp,vectors}
  cp "$bin/remora" "$root/remora"
  ln -s remora "$root/remorad"
  cp -r "$vectors/." "$root/vectors/"
  while read -r file; do
    mkdir -p "$root$(dirname "$file")"
    cp -L "$file" "$root$file"
  done < <(ldd "$bin/remora" | grep -o '/[^ ]*')
  [ "$(find "$root" -name '*.so*' | wc -l)" -le ${#glibc_files[@]} ] || fail "more than glibc was copied"
  "${unshare[@]}" bash "$0" in-empty-root "$root"
}

case "${1:-}" in
  needs) check_needs "$2" ;;
  size) check_size "$2" ;;
  empty-root) check_empty_root "$2" "$3" ;;
  in-empty-root) in_empty_root "$2" ;;
  *) fail "usage: check.sh needs|size|empty-root BIN_DIR [VECTORS_DIR]" ;;
esac
