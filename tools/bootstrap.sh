#!/bin/bash
# Installs the Debian packages of tools/packages.txt that are missing: with apt-get as root or through sudo without a
# password, else it prints the command to run and fails. Does nothing, quickly, when all are there.
#   tools/bootstrap.sh           what the build and the tests need
#   tools/bootstrap.sh --lint    the clang tools as well
#   tools/bootstrap.sh --images  what tests packages and images as well
set -euo pipefail
cd "$(dirname "$0")/.."

sections=" build "
for argument in "$@"; do
  case "$argument" in
    --lint | --images) sections+="${argument#--} " ;;
    *) echo "usage: tools/bootstrap.sh [--lint] [--images]" >&2; exit 2 ;;
  esac
done

wanted=()
section=build
while read -r line; do
  case "$line" in
    '' | '#'*) ;;
    *:) section=${line%:} ;;
    *) [[ "$sections" != *" $section "* ]] || wanted+=("$line") ;;
  esac
done < tools/packages.txt

if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
  echo "bootstrap: no apt here; make sure that you have the equivalents of: ${wanted[*]}" >&2
  exit 0
fi

missing=()
installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${wanted[@]}" 2> /dev/null | sed -n 's/^installed //p' || true)
for package in "${wanted[@]}"; do
  grep -qxF -- "$package" <<< "$installed" || missing+=("$package")
done
# Newer releases turn pkg-config into pkgconf; what counts is the program.
if [ "${#missing[@]}" = 1 ] && [ "${missing[0]}" = pkg-config ] && command -v pkg-config > /dev/null; then
  missing=()
fi
[ "${#missing[@]}" = 0 ] && exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
  if command -v sudo > /dev/null && sudo -n true 2> /dev/null; then
    as_root=(sudo -n)
  else
    echo "bootstrap: packages are missing. Run this, then try again:" >&2
    echo "  su -c 'apt-get update && apt-get install -y --no-install-recommends ${missing[*]}'" >&2
    exit 1
  fi
fi

echo "bootstrap: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
run_apt() {
  if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 "$@" > "$log" 2>&1; then
    tail -n 30 "$log" >&2
    echo "bootstrap: apt-get $1 failed (above)" >&2
    exit 1
  fi
}
run_apt update
run_apt install -y --no-install-recommends "${missing[@]}"
