#!/usr/bin/env bash
# How long `sim --sample auto` takes for a program of a billion warp instructions whose blocks are alike (bench/alike.ptx, on
# the whole H200), and, on a tenth of it, how far it is from the full simulation: bench/sample_billion.sh BUILD-FOLDER
# Seconds are of processor time, so that other programs on the machine do not count; they are spread over all cores.
set -eu
cd "$(dirname "$0")/.."
program=$(readlink -f "$1")/bankfold
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TIMEFORMAT='%U %S %R'
# run BLOCKS [OPTION...]
run() {
  local blocks=$1
  shift
  printf 'buffer memory f32 1048576 random 0 1\nlaunch alike grid %d block 256 with memory u32:200\n' "$blocks" >"$work/alike.launch"
  { time "$program" sim bench/alike.ptx --launch "$work/alike.launch" --json "$@" >"$work/out.json"; } 2>"$work/time"
  python3 - "$work/out.json" "$work/time" "$*" <<'END'
import json, sys
total = json.load(open(sys.argv[1]))["total"]
user, system, real = map(float, open(sys.argv[2]).read().split())
print(json.dumps({"bench": "sample_billion", "options": sys.argv[3], "blocks": total["blocks"],
                  "simulated_blocks": total.get("simulated_blocks", total["blocks"]),
                  "warp_instructions": total["thread_instructions"] // 32, "cycles": total["cycles"],
                  "interval": [total.get("cycles_low", total["cycles"]), total.get("cycles_high", total["cycles"])],
                  "core_seconds": round(user + system, 1), "seconds": round(real, 1)}), flush=True)
END
}
run 11000
run 11000 --sample auto
run 110000 --sample auto
