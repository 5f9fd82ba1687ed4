#!/usr/bin/env bash
# C sources are formatted as .clang-format says. Versions of clang-format differ; the one that
# CONTRIBUTING.md names decides.
set -u
cd "$(dirname "$0")/../.." || exit 2
command -v clang-format >/dev/null || { echo 'no clang-format' && exit 77; }
wanted=$(sed -n 's/.*clang-format \([0-9]*\).*/\1/p' CONTRIBUTING.md | head -n 1)
clang-format --version | grep -q "version $wanted\." || { echo "clang-format is not version $wanted" && exit 77; }
find include src cli runtime lead stand_ins inject kernels reproduce gpu tests bench tools \
  \( -name '*.[ch]' -o -path 'kernels/*.cu' -o -path 'reproduce/*.cu' \) -print0 |
  xargs -0 clang-format --dry-run --Werror
