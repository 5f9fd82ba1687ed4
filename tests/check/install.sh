#!/usr/bin/env bash
# What meson install puts in place is enough to build and run a program with pkg-config: tests the
# build folder $1 with a program linked to the shared and to the static library.
set -eu
build=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
DESTDIR=$root meson install -C "$build" --quiet --no-rebuild

cat >"$root/program.c" <<'END'
#include <bankfold.h>
#include <stdio.h>
int main(void) {
  bf_machine *machine;
  bf_diagnostic diagnostic;
  if (bf_machine_load("hopper", NULL, &machine, &diagnostic) != BF_OK) {
    puts(diagnostic.message);
    return 1;
  }
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_hash *hash;
  if (bf_version_number() != BF_VERSION_NUMBER)
    return 1;
  if (bf_hash_parse("fixed", &geometry, &hash, &diagnostic) != BF_OK)
    return 1;
  bf_access access = {BF_OP_LD, 4, 0xffffffff, 1, 0, NULL, {0}};
  for (unsigned lane = 0; lane < 32; lane++)
    access.address[lane] = lane * 128;
  bf_count count;
  if (bf_memory_count(machine, hash, &access, &count, &diagnostic) != BF_OK)
    return 1;
  printf("%s %s %u\n", bf_version(), bf_machine_name(machine), count.wavefronts_load);
  bf_hash_free(hash);
  bf_machine_free(machine);
  return 0;
}
END
prefix=$(find "$root" -name bankfold.pc -printf '%h\n')
library=$(dirname "$prefix")
export PKG_CONFIG_PATH=$prefix PKG_CONFIG_SYSROOT_DIR=$root
version=$(pkg-config --modversion bankfold)
# shellcheck disable=SC2046 # flags are words
gcc -std=c11 "$root/program.c" $(pkg-config --cflags --libs bankfold) -o "$root/program"
test "$(LD_LIBRARY_PATH=$library "$root/program")" = "$version hopper 1"
readelf -d "$root/program" | grep -q 'NEEDED.*\[libbankfold\.so\.[0-9]*\]'
rm "$library"/libbankfold.so*
# shellcheck disable=SC2046
gcc -std=c11 "$root/program.c" $(pkg-config --static --cflags --libs bankfold) -o "$root/program"
test "$("$root/program")" = "$version hopper 1"

find "$root" -path '*/bin/bankfold' -exec {} --version \; | grep -qx "bankfold $version"
for command in $(find "$root" -path '*/bin/bankfold' -exec {} help --json \; |
  sed -n 's/^      "name": "\(.*\)",/\1/p'); do
  test -n "$(find "$root" -name "bankfold-$command.1")"
done
for file in bankfold.1 bankfold.bash _bankfold bankfold.fish bankfold.h; do
  test -n "$(find "$root" -name "$file")"
done
# exec finds its libraries where they were installed.
find "$root" -path '*/bin/bankfold' -exec {} exec --quiet "$here/../data/programs/transpose" \; |
  grep -qx 'plain: 0 wrong'
# So does run.
find "$root" -path '*/bin/bankfold' -exec {} run env \; |
  grep -q '^LD_PRELOAD=.*/libbankfold-inject\.so'
# The wrappers of compilers, and the links that nvcc is given.
for name in bankfold-nvcc bankfold-ptxas; do
  test "$(readlink -f "$(find "$root" -path "*/bin/$name")")" = "$(find "$root" -path '*/bin/bankfold')"
done
for name in cicc assembler/ptxas; do
  test "$(readlink -f "$(find "$root" -path "*/bankfold/nvcc/$name")")" = \
    "$(find "$root" -path '*/bin/bankfold')"
done
