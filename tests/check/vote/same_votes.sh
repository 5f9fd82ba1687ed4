# Sourced: same_votes PROGRAM...: hist and hough of `bankfold` are the same with --device gpu, for
# which PROGRAM is called, and on the CPU. Needs $work, $build and complain.
# shellcheck shell=bash
same_votes() {
  local images=examples/images line
  while read -r line; do
    # shellcheck disable=SC2086 # words
    "$build/bankfold" $line --json | grep -v '"device"' >"$work/cpu.json"
    # shellcheck disable=SC2086 # words
    "$@" $line --json --device gpu >"$work/gpu.json" || complain "$line --device gpu fails"
    grep -q '"device": "gpu"' "$work/gpu.json" || complain "$line: the device is not the GPU"
    grep -v -e '"device"' -e '"gpu"' "$work/gpu.json" | cmp -s - "$work/cpu.json" ||
      complain "$line: the GPU finds something else"
  done <<END
hist $images/natural.png
hist $images/natural.png --mask $images/mask.png --bins 100 --range 3:200
hist $images/natural.png --weights $images/lines.png --roi 3,5,101,57
hist $images/colour.ppm
hist $images/colour.ppm --channel grey
hist $images/gradient.png --bins 65536 --range 0:65536
hough $images/lines.png
hough $images/lines.png --form cartesian
hough $images/lines.png --weighted --theta 30:140 --rho-step 0.7
hough $images/mask.png --edges given
hough $images/constant.pgm
END
}
