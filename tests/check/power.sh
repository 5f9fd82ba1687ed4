#!/usr/bin/env bash
# The power of hash units: each gate takes some away, and words of benchmarks change fewer nets than random ones.
set -eu
program=$(readlink -f "$1")/bankfold
if ! command -v yosys >/dev/null || [ ! -e /usr/share/qflow/tech/osu018/osu018_stdcells.lib ]; then
  echo "yosys and qflow-tech-osu018 are needed"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$program" reproduce power --output "$work" >/dev/null
python3 - "$work/power/power.csv" <<'EOF'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
units = {}
for row in rows:
    units.setdefault(row["unit"], []).append(float(row["W"]))
assert len(units) == 4 and all(len(w) == 4 for w in units.values()), units
for unit, watts in units.items():
    assert watts[0] > watts[1] > watts[2] > watts[3] > 0, (unit, watts)
print("gates and real words take power away from all four units")
EOF
