#!/bin/bash
# Installs a build to a prefix of its own and uses it as somebody else would: through CMake's find_package, and once
# more through pkg-config alone. Then nothing of the checkout or the build folder is looked at.
#   install_test.sh BUILD_DIR COMPILER
set -euo pipefail
build=$1
compiler=$2
here=$(cd "$(dirname "$0")" && pwd)

work=$(mktemp -d)
worker=
finish() {
  [ -z "$worker" ] || kill "$worker" 2> /dev/null || true
  rm -rf "$work"
}
trap finish EXIT
prefix=$work/prefix

cmake --install "$build" --prefix "$prefix" > "$work/install.log" || { cat "$work/install.log"; exit 1; }
cp -r "$here" "$work/source"
cd "$work"

if grep -rl -e "$build" -e "$(cd "$here/../.." && pwd)" "$prefix"/lib*/cmake "$prefix"/lib*/pkgconfig "$prefix/include"; then
  echo "install: these installed files name the checkout or the build folder" >&2
  exit 1
fi
found=$(find "$prefix/include" -mindepth 1 -maxdepth 1 -printf '%f ')
[ "$found" = "remora " ] || { echo "install: include/ holds '$found', not the folder remora alone" >&2; exit 1; }

export PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name remora.pc)")

echo "== every installed header is found and compiles"
find "$prefix/include/remora" -name '*.h' -printf '#include <remora/%P>\n' | sort > headers.cpp
"$compiler" -std=c++20 -fsyntax-only -Wall -Wextra -Werror $(pkg-config --cflags remora) headers.cpp

echo "== find_package"
cmake -S source -B cmake-build -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_BUILD_TYPE=Debug > configure.log || { cat configure.log; exit 1; }
cmake --build cmake-build > build.log || { cat build.log; exit 1; }

echo "== pkg-config"
mkdir pkg-config-build
"$compiler" -std=c++20 -Isource source/consumer.cpp source/client/tensor.cpp -o pkg-config-build/consumer \
  $(pkg-config --cflags --libs remora)
export LD_LIBRARY_PATH=$prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

devices=(cpu)
if [ -x "$prefix/bin/remorad" ]; then
  mkfifo lines
  "$prefix/bin/remorad" --listen "unix:$work/socket" > lines 2> worker.log &
  worker=$!
  read -r line < lines || { cat worker.log; exit 1; }
  [ "$line" = "listening on unix:$work/socket" ]
  "$prefix/bin/remora" ping "unix:$work/socket" --health
  devices+=("remote+unix://$work/socket/cpu")
fi
for folder in cmake-build pkg-config-build; do "$folder/consumer" "${devices[@]}"; done
cmake-build/own_backends
