#!/bin/bash
# Formats every C++ file of the tree, tracked or not; with --check it only says which are not as clang-format has them.
set -euo pipefail
cd "$(dirname "$0")/.."

tool=clang-format-14
command -v "$tool" > /dev/null || tool=clang-format
arguments=(-i)
[ "${1:-}" = --check ] && arguments=(--dry-run -Werror)
git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cpp' \
  | while IFS= read -r -d '' file; do
      [ -f "$file" ] && printf '%s\0' "$file"
    done \
  | xargs -0 -r -n 32 -P "$(nproc)" "$tool" "${arguments[@]}"
