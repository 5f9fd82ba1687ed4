#!/usr/bin/env bash
# docs/api.md: its programs compile against what build folder $1 installs, as C11 and as C++17, and print what the page
# shows; its table lists every function of the library and no other.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
faults=0
complain() {
  echo "$*"
  faults=$((faults + 1))
}
DESTDIR=$root/installed meson install -C "$build" --quiet --no-rebuild || exit 1
PKG_CONFIG_PATH=$(find "$root/installed" -name bankfold.pc -printf '%h')
[ -n "$PKG_CONFIG_PATH" ] || exit 1
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR=$root/installed
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
export LD_LIBRARY_PATH
read -ra flags < <(pkg-config --cflags --libs bankfold)

# A line "`NAME`:" of the page names the indented block behind it; a block that starts with "$ ./NAME" is what NAME prints.
python3 tests/check/api/programs.py "$root"

programs=0
for source in "$root"/*.c; do
  name=$(basename "$source" .c)
  programs=$((programs + 1))
  for compiler in 'gcc -std=c11' 'g++ -std=c++17 -xc++' 'clang -std=c11' 'clang++ -std=c++17 -xc++'; do
    command -v "${compiler%% *}" >/dev/null || continue
    # shellcheck disable=SC2086 # words
    $compiler -Wall -Wextra -Werror "$source" -xnone "${flags[@]}" -o "$root/$name" || {
      complain "$name.c: $compiler refuses it"
      continue
    }
    "$root/$name" >"$root/out" || complain "$name ($compiler) fails"
    diff -u "$root/$name.txt" "$root/out" || complain "$name ($compiler) prints something else"
  done
done
[ $programs = 4 ] || complain "$programs programs in docs/api.md"

# shellcheck disable=SC2016 # backquotes of the page
functions() { grep -o '`bf_[a-z0-9_]*`' docs/api.md | tr -d '`'; }
while read -r name; do
  functions | grep -qx "$name" || complain "docs/api.md does not list $name"
done < <(sed 's/@.*//' tests/data/symbols.txt)
while read -r name; do
  grep -qw "$name" include/bankfold.h || complain "docs/api.md lists $name, which bankfold.h does not have"
done < <(functions | sort -u)
exit $((faults != 0))
