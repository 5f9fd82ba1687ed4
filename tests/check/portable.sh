#!/usr/bin/env bash
# The library needs POSIX and what the BSDs and macOS have besides, no glibc and no x86: it is compiled so with another libc
# (musl), as if for another processor, without vectors; and the programs of docs/api.md, linked with it, print what stands there.
# What only Linux has, and who needs it, is listed here and in docs/install.md.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
command -v musl-gcc >/dev/null || { echo 'no musl-gcc (Debian: musl-tools)' && exit 77; }
[ -z "${SANITIZED-}" ] || { echo 'a build with sanitizers' && exit 77; }
demangler=$(gcc -print-file-name=libsupc++.a)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0
complain() {
  echo "$*"
  faults=$((faults + 1))
}

# memfd_create, prctl and /proc, to start programs; locks of open files, for sweeps by several processes.
linux='src/process/process.c src/process/traced.c src/process/find.c src/sim/sweep_file.c'
compiler=musl-gcc
command -v ccache >/dev/null && compiler='ccache musl-gcc'
flags='-std=c11 -D_XOPEN_SOURCE=700 -D_DEFAULT_SOURCE -U__x86_64__ -O0 -pthread -DBF_OPEN_ZSTD -DBF_EMU_ISA=plain -DBF_VOTE_ISA=plain
  -fwrapv -fno-strict-aliasing -ffp-contract=off -Wno-psabi -Werror=implicit-function-declaration -include tests/check/portable/bsd.h
  -Iinclude -Isrc -I.'
mkdir "$work/objects"
{
  find src -name '*.c' ! -name '*_avx*.c' ! -name '*_gfni.c' ! -path 'src/image/*' ! -path 'src/imaging/*'
  echo "$build/embedded_machines.c" "$build/embedded_gpus.c" "$build/embedded_ncu.c" | tr ' ' '\n'
} | grep -vxF -e "$(echo "$linux" | tr ' ' '\n')" | sort >"$work/sources"
# shellcheck disable=SC2016 # of the inner shell
xargs -P "$(nproc)" -I FILE sh -c '
  object=$1/objects/$(echo "$2" | tr / _).o
  '"$compiler $(echo "$flags" | tr '\n' ' ')"' -c "$2" -o "$object" 2>"$object.log" || { echo "$2"; grep -m 3 "error" "$object.log"; }' \
  sh "$work" FILE <"$work/sources" >"$work/failed"
[ ! -s "$work/failed" ] || { cat "$work/failed" && complain 'these files need more than POSIX and the BSDs have'; }

# What needs Linux must say so: those files do not compile here.
for file in $linux; do
  case $file in
  */process.c | */sweep_file.c)
    # shellcheck disable=SC2086 # words
    ! musl-gcc $flags -fsyntax-only "$file" 2>/dev/null || complain "$file compiles: it need not be left out" ;;
  *) grep -q /proc/ "$file" || complain "$file does not need /proc: it need not be left out" ;;
  esac
done

ar rcs "$work/libbankfold.a" "$work"/objects/*.o || complain 'no library'
python3 tests/check/api/programs.py "$work"
programs=0
for source in "$work"/*.c; do
  name=$(basename "$source" .c)
  programs=$((programs + 1))
  musl-gcc -std=c11 -Iinclude "$source" "$work/libbankfold.a" "$demangler" "$(gcc -print-file-name=libgcc_eh.a)" -static -pthread -lm -o "$work/$name" 2>"$work/log" || {
    complain "$name.c is not linked: $(grep -m 3 'undefined' "$work/log")"
    continue
  }
  "$work/$name" >"$work/out" || complain "$name fails"
  diff -u "$work/$name.txt" "$work/out" || complain "$name prints something else"
done
[ $programs = 4 ] || complain "$programs programs in docs/api.md"
[ $faults -eq 0 ]
