#!/usr/bin/env bash
# What Nsight Compute prints of the kernels of tests/data/ncu/causes.cu, on each page that `bankfold ncu` reads; the same of
# the program that `bankfold run --binary` makes of it; and our rule inside a report. Needs a GPU, nvcc, ncu and a build.
#
#   tests/gpu/ncu_pages.sh BUILD FOLDER     FOLDER keeps what is printed
set -u
cd "$(dirname "$0")/../.." || exit 2
[ $# -eq 2 ] || { echo "usage: $0 BUILD FOLDER" && exit 2; }
bankfold=$(readlink -f "$1")/bankfold
mkdir -p "$2" && out=$(readlink -f "$2")
[ -x "$bankfold" ] || { echo "no $bankfold" && exit 2; }
for tool in nvcc ncu; do
  command -v $tool >/dev/null || { echo "no $tool" && exit 77; }
done
ncu --version >"$out/version.txt"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader >>"$out/version.txt"
nvcc -arch=sm_90 -lineinfo -o "$out/causes" tests/data/ncu/causes.cu || exit 1
nvcc -arch=sm_90 -lineinfo -ptx -o "$out/causes.ptx" tests/data/ncu/causes.cu || exit 1

# What a metric is called differs: those that this ncu has.
ncu --query-metrics --query-metrics-mode all 2>/dev/null |
  grep -oE '^[a-z_0-9]*(mem_shared|bank_conflicts|wavefronts_shared|lsu_wavefronts)[a-z_0-9.]*' |
  sort -u >"$out/metrics.txt"
wc -l "$out/metrics.txt"

pages() { # pages REPORT NAME: every page of a report
  ncu --import "$1" --csv --page raw >"$out/$2.raw.csv" 2>"$out/$2.raw.err"
  ncu --import "$1" --csv --page details >"$out/$2.details.csv" 2>&1
  ncu --import "$1" --csv --page source --print-source sass >"$out/$2.sass.csv" 2>&1
  ncu --import "$1" --csv --page source --print-source cuda >"$out/$2.cuda.csv" 2>&1
  ncu --import "$1" --csv --page source --print-source cuda,sass >"$out/$2.both.csv" 2>&1
  ncu --import "$1" --csv --page source --print-source ptx >"$out/$2.ptx.csv" 2>&1
  ncu --import "$1" --csv --page source >"$out/$2.source.csv" 2>&1
}

sass=smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared
l1=l1tex__data_pipe_lsu_wavefronts_mem_shared
conflicts=l1tex__data_bank_conflicts_pipe_lsu
names=$conflicts.sum,${conflicts}_mem_shared.sum,$l1.sum,l1tex__data_pipe_lsu_wavefronts.sum,$sass.sum,${sass}_ideal.sum
for kind in ld st atom; do
  names=$names,${conflicts}_mem_shared_op_$kind.sum,${l1}_op_$kind.sum,${sass}_op_$kind.sum
done
names=$names,smsp__inst_executed_op_shared.sum,smsp__sass_inst_executed_op_shared.sum
echo "== some metrics, as printed while profiling"
ncu --csv --page raw --metrics "$names" "$out/causes" >"$out/live.raw.csv" 2>"$out/live.err"
echo "status $?"
echo "== sections of source counters and memory"
ncu -f --set full --import-source yes --metrics "group:memory__shared_table,$names" -o "$out/causes" "$out/causes" >"$out/full.log" 2>&1
echo "status $?"
pages "$out/causes.ncu-rep" causes
echo "== sources only, a small report"
ncu -f --section SourceCounters --import-source yes -o "$out/small" "$out/causes" >"$out/small.log" 2>&1
echo "status $?"
pages "$out/small.ncu-rep" small

echo "== a program with hashed kernels under ncu"
"$bankfold" run --hash fixed --log stderr --binary "$out/hashed" "$out/causes" 2>&1
"$out/hashed"
echo "status $?"
ncu --csv --page raw --metrics "$names" "$out/hashed" >"$out/hashed.raw.csv" 2>"$out/hashed.err"
echo "status $?"
ncu -f --section SourceCounters --import-source yes -o "$out/hashed" "$out/hashed" >"$out/hashed.log" 2>&1
pages "$out/hashed.ncu-rep" hashed

echo "== NVIDIA's python module"
tool=$(readlink -f "$(command -v ncu)")
for folder in "$(dirname "$tool")/extras/python" "$(dirname "$tool")/../extras/python" /opt/nvidia/nsight-compute/*/extras/python /usr/local/cuda*/nsight-compute*/extras/python; do
  [ -e "$folder/ncu_report.py" ] && echo "$folder" && modules=$folder
done
PYTHONPATH=${modules:-} python3 - "$out/small.ncu-rep" <<'PYTHON' 2>&1 | tee "$out/python.txt"
import sys
import ncu_report
context = ncu_report.load_report(sys.argv[1])
for r in range(context.num_ranges()):
    for a in range(context.range_by_idx(r).num_actions()):
        action = context.range_by_idx(r).action_by_idx(a)
        print(action.name())
        for name in action.metric_names():
            metric = action.metric_by_name(name)
            if "shared" in name:
                ids = metric.correlation_ids() if metric.num_instances() else None
                print(" ", name, metric.value(), metric.num_instances(),
                      [ids.value(i) for i in range(min(2, metric.num_instances()))] if ids else "")
print(sorted(n for n in dir(action) if not n.startswith("_")))
PYTHON

echo "== our rule in a report"
BANKFOLD=$bankfold ncu -f --section-folder "$PWD/tools/ncu" --section BankfoldSharedMemory \
  --import-source yes --rule BankfoldSharedMemory --page details "$out/causes" >"$out/rule.txt" 2>&1
echo "status $?"
grep -n -i -A12 'bankfold\|error' "$out/rule.txt" | head -80
ls -l "$out"
