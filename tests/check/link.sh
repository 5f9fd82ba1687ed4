#!/usr/bin/env bash
# What `bankfold ptx link` of build folder $1 links and refuses is what NVIDIA's device linker links and refuses, and
# ptxas takes what it makes. Skipped without ptxas and nvlink.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
for folder in "" /usr/local/cuda/bin; do
  [ -x "$(command -v nvlink)" ] || PATH=$PATH:$folder
done
{ command -v nvlink >/dev/null && command -v ptxas >/dev/null; } || { echo 'no nvlink or no ptxas' && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0 cases=0

# part NUMBER TEXT: PTX of a part, and its machine code.
part() {
  printf '.version 8.5\n.target sm_90\n.address_size 64\n%b\n' "$2" >"$work/$1.ptx"
  ptxas -arch=sm_90 -c "$work/$1.ptx" -o "$work/$1.cubin" || faults=$((faults + 1))
}

# agree WHAT FIRST SECOND: both linkers link two parts, or both refuse them.
agree() {
  local theirs=0 ours=0
  cases=$((cases + 1))
  part 1 "$2"
  part 2 "$3"
  nvlink -arch=sm_90 "$work/1.cubin" "$work/2.cubin" -o "$work/linked.cubin" >"$work/said" 2>&1 || theirs=1
  "$build/bankfold" ptx link "$work/1.ptx" "$work/2.ptx" --output "$work/linked.ptx" 2>"$work/error" || ours=1
  if [ $theirs != $ours ]; then
    echo "$1: nvlink $theirs, bankfold $ours"
    cat "$work/said" "$work/error"
    faults=$((faults + 1))
  elif [ $ours = 0 ] && ! ptxas -arch=sm_90 "$work/linked.ptx" -o "$work/linked.cubin"; then
    echo "$1: ptxas refuses what was linked"
    faults=$((faults + 1))
  fi
}

use='.visible .entry k() { .param .b32 q; call f, (q); ret; }'
agree 'two strong variables' '.visible .global .u32 x = 1;' '.visible .global .u32 x = 2;'
agree 'strong and weak' '.visible .global .u32 x = 1;' '.weak .global .u32 x = 2;'
agree 'weak of different sizes' '.weak .global .u32 x = 1;' '.weak .global .u64 x = 2;'
agree 'common of different sizes' '.common .global .u32 x[4];' '.common .global .u32 x[8];'
agree 'common and strong of another size' '.common .global .u32 x[4];' '.visible .global .u32 x[8];'
agree 'extern of another size' '.extern .global .u32 x[4];' '.visible .global .u32 x[8];'
agree 'extern of open size' '.extern .global .u32 x[];\n.visible .global .u64 w = x;' '.visible .global .u32 x[8];'
agree 'extern of another type' '.extern .global .f32 x;\n.visible .global .u64 w = x;' '.visible .global .u32 x;'
agree 'extern in another memory' '.extern .const .u32 x;\n.visible .global .u64 w = x;' '.visible .global .u32 x;'
agree 'missing variable' '.extern .global .u32 x;\n.visible .global .u64 w = x;' '.visible .global .u32 y;'
agree 'missing function' ".extern .func f(.param .b32 a);\n$use" '.visible .global .u32 y;'
agree 'two strong functions' '.visible .func f(.param .b32 a) { ret; }' '.visible .func f(.param .b32 a) { ret; }'
agree 'strong and weak function' '.visible .func f(.param .b32 a) { ret; }' '.weak .func f(.param .b32 a) { ret; }'
agree 'weak functions that differ' '.weak .func f(.param .b32 a) { ret; }' '.weak .func f(.param .b64 a) { ret; }'
agree 'other parameters' ".extern .func f(.param .b32 a);\n$use" '.visible .func f(.param .b64 a) { ret; }'
agree 'function and variable' ".extern .func f(.param .b32 a);\n$use" '.visible .global .u32 f;'
agree 'function of another part' ".extern .func f(.param .b32 a);\n$use" '.visible .func f(.param .b32 a) { ret; }'
agree 'two kernels' '.visible .entry k() { ret; }' '.visible .entry k() { ret; }'
agree 'weak kernels' '.weak .entry k() { ret; }' '.weak .entry k() { ret; }'
agree 'weak kernels that differ' '.weak .entry k(.param .b32 a) { ret; }' '.weak .entry k(.param .b64 a) { ret; }'
agree 'private names' '.global .u32 x = 1;\n.visible .global .u64 w = x;' '.global .u64 x = 1;\n.visible .global .u64 v = x;'
agree 'addresses in a ring' '.extern .global .u64 b;\n.visible .global .u64 a = b;' \
  '.extern .global .u64 a;\n.visible .global .u64 b = a;'
agree 'pointer to a function' '.extern .func f();\n.visible .global .u64 p = f;' '.visible .func f() { ret; }'
echo "$cases cases, $faults faults"
[ $faults = 0 ]
