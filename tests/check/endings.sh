#!/usr/bin/env bash
# A program that ends without telling - by a signal, by abort, by _exit, as another program - leaves what its kernels did up
# to then, and its exit status; so does one that is ended in the middle of a kernel. Skipped without nvcc.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo 'no nvcc' && exit 77; }
[ -e "$build/runtime/libcudart.so.13" ] || { echo "no $build/runtime/libcudart.so.13" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0
nvcc -cudart shared -arch=sm_90 -lineinfo -o "$work/endings" tests/check/endings.cu || exit 1

complain() {
  echo "$*"
  cat "$work/err"
  faults=$((faults + 1))
}

# said HOW STATUS WANTED LAUNCHES [PATTERN]: the status is as wanted, and the table has launches of the kernel.
said() {
  [ "$2" = "$3" ] || complain "$1: status $2, not $3"
  grep -Eq "^ +[1-9][0-9]* +$4 .* columns$" "$work/err" || complain "$1: no table with $4 launches"
  [ $# -lt 5 ] || grep -q "$5" "$work/err" || complain "$1: standard error does not say '$5'"
}

# ends HOW STATUS LAUNCHES [PATTERN]: the program by itself.
ends() {
  "$build/bankfold" exec "$work/endings" "$1" >"$work/out" 2>"$work/err"
  said "$1" $? "${@:2}"
}

# is_ended HOW SIGNAL TARGET STATUS LAUNCHES PATTERN: by a signal to the program or to exec, once its first kernel is done.
is_ended() {
  local pid target
  mkfifo "$work/pipe"
  (
    trap - INT # a shell ignores it for what runs in the background
    exec "$build/bankfold" exec "$work/endings" "$1"
  ) >"$work/pipe" 2>"$work/err" &
  pid=$!
  {
    read -r _
    [ "$1" != long ] || read -r _ # the second launch runs
    [ "$3" = exec ] && target=$pid || target=$(cat "/proc/$pid/task/$pid/children")
    # shellcheck disable=SC2086
    kill -s "$2" $target
    wait $pid
  } <"$work/pipe"
  said "$1, $2 to $3" $? "${@:4}"
  rm "$work/pipe"
}

ends '' 0 1
ends abort 134 1 'signal 6'
ends crash 139 1 'signal 11'
ends _exit 3 1
ends exec 0 2
# One that takes long, and is given up, says what runs and what would take less.
timeout 4 "$build/bankfold" exec --hint-after 1 "$work/endings" long >"$work/out" 2>"$work/err"
said 'long, with a hint' $? 124 1 'bankfold: 1 s in kernels so far, now block .* of columns: --sample auto --skip-rest'
for how in wait long; do
  [ $how = long ] && more='not done: 1 launch of columns' || more='up to then'
  is_ended $how TERM program 143 1 "$more"
  is_ended $how TERM exec 143 1 "$more"
  is_ended $how INT program 130 1 "$more"
  is_ended $how INT exec 130 1 "$more"
  is_ended $how KILL program 137 1 "$more"
done
echo "$faults faults"
[ $faults = 0 ]
