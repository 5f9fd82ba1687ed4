#!/usr/bin/env bash
# hist and hough of build folder $1 with --device gpu, through a library that has the functions of
# gpu/vote/bankfold_vote_host.h and no GPU: results, where the library is looked for, and messages.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
[ -e "$build/tests/libfake-gpu.so" ] || { echo "no $build/tests/libfake-gpu.so" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0
complain() {
  echo "$*"
  faults=$((faults + 1))
}
# shellcheck source=tests/check/vote/same_votes.sh
source tests/check/vote/same_votes.sh
library=libbankfold-vote-cuda.so
cp "$build/tests/libfake-gpu.so" "$work/$library"
image=examples/images/natural.png lines=examples/images/lines.png

export BANKFOLD_VOTE_CUDA=$work/$library FAKE_GPU_LOG=$work/log
same_votes "$build/bankfold"
for call in open close histogram_u64 histogram_f64 hough_vote; do
  grep -qx "$call" "$work/log" || complain "$call was not called"
done
[ "$(grep -cx open "$work/log")" = "$(grep -cx close "$work/log")" ] || complain 'a GPU stays open'

# refused MESSAGE COMMAND...: status 2 and a message with these words.
refused() {
  local words=$1 said
  shift
  said=$("$@" 2>&1)
  [ $? = 2 ] || complain "$*: the status is not 2"
  case $said in *"$words"*) ;; *) complain "$*: says $said" ;; esac
}
for command in "hist $image" "hough $lines"; do
  for case in 'old=is of version 0.0' 'none=no GPU that CUDA can use' 'fails=it is hot'; do
    # shellcheck disable=SC2086 # words
    FAKE_GPU=${case%%=*} refused "${case#*=}" "$build/bankfold" $command --device gpu
  done
done
"$build/bankfold" hist "$image" --device gpu | head -n 1 | grep -q '; on a GPU$' || complain 'hist does not name the GPU'
"$build/bankfold" hough "$lines" --device gpu | head -n 1 | grep -q '; on a GPU$' || complain 'hough does not name the GPU'

# Elsewhere: named but missing, in this folder, something else, beside the program, nowhere.
BANKFOLD_VOTE_CUDA=$work/none.so refused 'cannot load' "$build/bankfold" hist "$image" --device gpu
BANKFOLD_VOTE_CUDA=README.md refused 'cannot load ./README.md' "$build/bankfold" hist "$image" --device gpu
echo 'int nothing;' | "${CC:-cc}" -fPIC -shared -xc - -o "$work/other.so" || exit 1
BANKFOLD_VOTE_CUDA=$work/other.so refused 'has no function bf_gpu_version' "$build/bankfold" hist "$image" --device gpu
unset BANKFOLD_VOTE_CUDA
mkdir "$work/beside"
cp "$build/bankfold" "$work/beside"
refused 'BANKFOLD_VOTE_CUDA does not name it' "$work/beside/bankfold" hist "$image" --device gpu
cp "$work/$library" "$work/beside"
"$work/beside/bankfold" hist "$image" --device gpu >/dev/null || complain 'the library beside the program is not found'
exit $((faults > 0))
