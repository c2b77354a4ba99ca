#!/bin/bash
# Runs every fuzz target of build/fuzz for some seconds, from a seed corpus made by the build; as many at once as there
# are processors. What a run finds is kept: new inputs in build/fuzz/corpus, failing ones in build/fuzz/artifacts.
#   tools/fuzz.sh [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
build=build/fuzz
mkdir -p $build/artifacts
$build/bin/fuzz_seed_corpus $build/seeds

# No input may make a reader allocate more than a small multiple of its size: inputs have at most 64 KiB, and deflate
# packs at most 1 to 1032.
run_target() {
  local target=$1 name=${1##*/fuzz_}
  mkdir -p $build/corpus/"$name"
  if "$target" -max_total_time="$2" -max_len=65536 -malloc_limit_mb=256 -rss_limit_mb=1024 -timeout=10 \
      -print_final_stats=1 -artifact_prefix=$build/artifacts/"$name"- $build/corpus/"$name" $build/seeds/"$name" \
      > $build/"$name".log 2>&1; then
    echo "fuzz $name: clean, $(sed -n 's/.*number_of_executed_units: *//p' $build/"$name".log) inputs"
  else
    tail -n 40 $build/"$name".log >&2
    echo "fuzz $name: failed; the input is in $build/artifacts" >&2
    return 1
  fi
}
export -f run_target
export build

find $build/bin -name 'fuzz_*' ! -name fuzz_seed_corpus | sort \
  | xargs -r -P "$(nproc)" -I TARGET bash -c 'run_target TARGET '"$seconds"
