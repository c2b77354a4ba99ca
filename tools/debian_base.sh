#!/bin/bash
# Makes a bare Debian 12 for the tests of packages and images and prints the path of its tar file. It is made once, by
# debootstrap (as root), from the mirror that this machine uses, and kept in build/debian/.
#   tools/debian_base.sh [--with-build-tools]     the second kind has the packages of tools/packages.txt, and is made
#                                                 again when they change
set -euo pipefail
cd "$(dirname "$0")/.."

suite=bookworm
mirror=${REMORA_DEBIAN_MIRROR:-http://deb.debian.org/debian}
mapfile -t packages < <(sed -e '/^lint:/,$d' -e '/^#/d' -e '/^$/d' tools/packages.txt)
kind=base
name=base
if [ "${1:-}" = --with-build-tools ]; then
  kind=build
  name=build-$(printf '%s\n' "${packages[@]}" | sha256sum | cut -c 1-12)
fi
out=$PWD/build/debian
tar=$out/$name.tar
mkdir -p "$out"
if [ -f "$tar" ]; then
  echo "$tar"
  exit 0
fi
[ "$(id -u)" = 0 ] || { echo "debian_base: debootstrap needs root" >&2; exit 1; }
command -v debootstrap > /dev/null || { echo "debian_base: apt-get install debootstrap" >&2; exit 1; }

root=$(mktemp -d "$out/root.XXXXXX")
chmod 755 "$root"  # it becomes / of the roots
trap 'rm -rf --one-file-system "$root"' EXIT
if [ "$kind" = base ]; then
  debootstrap --variant=minbase "$suite" "$root" "$mirror" > "$out/base.log" 2>&1 \
    || { tail -n 20 "$out/base.log" >&2; exit 1; }
  # How this machine reaches its mirror: proxies, names, options of apt.
  for file in /etc/apt/apt.conf.d/*proxy* /etc/apt/apt.conf.d/99*; do
    [ -f "$file" ] && cp "$file" "$root/etc/apt/apt.conf.d/"
  done
  printf 'deb %s %s main\n' "$mirror" "$suite" > "$root/etc/apt/sources.list"
else
  tar -xf "$(tools/debian_base.sh)" -C "$root"
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  chroot "$root" sh -c 'apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" \
    && apt-get clean' sh "${packages[@]}" > "$out/build.log" 2>&1 || { tail -n 20 "$out/build.log" >&2; exit 1; }
fi
tar -C "$root" --one-file-system --exclude=./var/cache/apt/archives/*.deb -cf "$tar.part" .
rm -f "$out/$kind"-*.tar
mv "$tar.part" "$tar"
echo "$tar"
