#!/usr/bin/env bash
# CUDA programs of tests/programs, built by nvcc and run by exec of build folder $1, print what they
# must and end as they must, on the emulator and on the simulator. Skipped without nvcc. A program may say in comments at its top:
#   // flags: for nvcc (default -cudart shared -arch=sm_90)
#   // with: more source files
#   // module: NAME of a file in tests/programs/modules; NAME.ptx and NAME.fatbin are beside the program when it runs
#   // status: its exit status (default 0)
#   // only: exec, where it shows a limit of the emulator (tests/gpu/programs.py leaves it out)
#   // needs: libraries and headers of the toolkit without which it is left out
#   // says: a pattern that standard error must hold; there may be several
#   // table: a pattern that the table must hold, which is there when no profile is asked for
#   // exec: options for exec; else it is run without and with --gpu h200, and where a fix is proposed for a kernel, once
#   more with the hashes of the fixes: conflicts must be as the fixes promise
# Further arguments name the programs to run; all are without. CUDART=static builds them all as nvcc does by default, with
# the CUDA runtime inside; else some of them are built so too.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
shift
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo 'no nvcc' && exit 77; }
[ -e "$build/runtime/libcudart.so.13" ] || { echo "no $build/runtime/libcudart.so.13" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0
nvcc=${NVCC:-nvcc} # or what stands for it
cudart=${CUDART:-shared}

complain() {
  echo "$*"
  faults=$((faults + 1))
}

# said PROGRAM WORD: what the comment "// WORD: ..." of a program says.
said() { sed -n "s,^// $2: ,,p" "tests/programs/$1.cu"; }

# is_possible PROGRAM: the toolkit has the libraries and headers that it needs.
toolkit=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")
is_possible() {
  local library
  for library in $(said "$1" needs); do
    [ -n "$(find "$toolkit"/lib64/ "$toolkit"/targets/*/{lib,include}/ -name "$library" 2>/dev/null)" ] && continue
    echo "$1: left out, no $library"
    return 1
  done
}

# compile PROGRAM FLAG...
compile() {
  local program=$1 flags more module form
  shift
  read -ra flags <<<"$* $(said "$program" flags)"
  read -ra more <<<"$(said "$program" with)"
  case "${flags[*]}" in
  *arch*) ;;
  *) flags+=(-arch=sm_90) ;;
  esac
  for module in $(said "$program" module); do
    for form in ptx fatbin; do
      "$nvcc" -lineinfo -arch=sm_90 -$form "tests/programs/modules/$module.cu" -o "$work/$module.$form" ||
        complain "$program: nvcc fails for $module"
    done
  done
  "$nvcc" "${flags[@]}" -o "$work/$program" "tests/programs/$program.cu" \
    "${more[@]/#/tests/programs/}" 2>"$work/nvcc" || {
    complain "$program: nvcc fails"
    cat "$work/nvcc"
    return 1
  }
}

# run PROGRAM OPTION...
run() {
  local status wanted pattern options line
  read -ra options <<<"${*:2} $(said "$1" exec)"
  timeout 120 "$build/bankfold" exec "${options[@]}" "$work/$1" >"$work/out" 2>"$work/err"
  status=$?
  wanted=$(said "$1" status)
  pattern=$(said "$1" says)
  [[ " ${options[*]} " == *' --profile '* ]] || pattern=${pattern:-$(said "$1" table)}
  if [ $status != "${wanted:-0}" ]; then
    complain "$1: status $status, not ${wanted:-0}"
    cat "$work/err"
  fi
  diff "tests/programs/$1.out" "$work/out" || complain "$1: another output"
  while read -r line; do
    if [ -n "$line" ] && ! grep -Eq "$line" "$work/err"; then
      complain "$1: standard error does not say '$line'"
      cat "$work/err"
    fi
  done <<<"$pattern"
}

# keeps_promises PROGRAM: fixes are proposed for what the table counts (in first.json), and leave what they say.
keeps_promises() {
  tests/programs/promises.py hashes "$work/first.json" >"$work/hashes" || return
  [ -s "$work/hashes" ] || return
  "$build/bankfold" exec --hash-file "$work/hashes" --profile "$work/second.json" "$work/$1" >/dev/null 2>&1
  tests/programs/promises.py compare "$work/first.json" "$work/second.json" || complain "$1: a fix does not do what it says"
  promises=$((promises + $(wc -l <"$work/hashes")))
}

promises=0
all=$#
if [ $# = 0 ]; then
  # The same programs with the library for CUDA 12, and with a path inside that leads elsewhere.
  for program in templates managed streams; do
    compile $program -cudart none -L"$build/runtime" -l:libcudart.so.12 && run $program
  done
  # With the runtime inside, at fixed addresses and not.
  for program in managed several; do compile $program -cudart static && run $program; done
  compile streams -cudart static -Xcompiler -no-pie -Xlinker -no-pie && run streams
  compile templates -cudart shared -Xlinker -rpath,/usr/local/cuda/lib64,--disable-new-dtags &&
    run templates
  # Rewritten kernels get whole rows of dynamic shared memory; the limit that a program sets is that of what it asks for.
  echo '* fixed' >"$work/fixed.hashes"
  compile dynamic_shared -cudart shared && run dynamic_shared --rewrite "$work/fixed.hashes"
  # So are kernels of linked parts, with the functions of other parts that they call.
  compile separate -cudart shared && run separate --profile "$work/first.json" --rewrite "$work/fixed.hashes"
  grep -q '"conflicts": *[1-9]' "$work/first.json" && complain 'separate: conflicts are left when it is rewritten'
  # A launch that is not run again counts as if it had been: all but the time is the same with --every-launch.
  # One thread: how long blocks wait for each other is then always the same.
  compile repeated -cudart shared
  run repeated --threads 1 --profile "$work/first.json"
  run repeated --threads 1 --every-launch --profile "$work/second.json"
  diff <(grep -v seconds "$work/first.json") <(grep -v seconds "$work/second.json") ||
    complain 'repeated: other counts where all launches run'
  # The example of a program that chooses its hash.
  "$nvcc" -cudart shared -arch=sm_90 -lineinfo -Iinclude examples/hashed.cu -o "$work/hashed"
  "$build/bankfold" exec --gpu gtx580 "$work/hashed" >/dev/null 2>"$work/err"
  grep -q 'transpose, hash fixed' "$work/err" || complain 'examples/hashed.cu fails'
fi
[ $# -gt 0 ] || for file in tests/programs/*.cu; do set -- "$@" "$(basename "$file" .cu)"; done
for program; do
  is_possible "$program" || continue
  compile "$program" -cudart "$cudart" || continue
  [ -z "$(said "$program" exec)" ] || {
    run "$program"
    continue
  }
  run "$program" --profile "$work/first.json"
  run "$program" --gpu h200
  keeps_promises "$program"
done
[ "$all" != 0 ] || [ $promises -gt 0 ] || complain 'no fix was proposed for any kernel'
echo "$# programs, $promises fixes, $faults faults"
[ $faults = 0 ]
