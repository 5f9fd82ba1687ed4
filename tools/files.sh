#!/bin/sh
# The files that meson.build finds when it configures, one to a line, from the root of the project: what belongs to a
# folder is part of what is built from it.
cd "$(dirname "$0")/.." || exit 2
find machines kernels reproduce examples/rgpu src cli runtime lead inject tests/unit tests/check tests/fuzz tests/reference \
  bench -name '*.machine' -o -name '*.gpu' -o -name '*.ptx' -o -name '*.df' -o -name '*.c' | LC_ALL=C sort
