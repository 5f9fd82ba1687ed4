#!/usr/bin/env bash
# The recipes of the README work with the program of build folder $1, and its traces parse. Where there is nvcc, commands behind "$ " of the README, the
# tutorial and the page about ncu print what stands there; "..." stands for any lines.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$root/examples" "$root/kernels" "$work"
cd "$work" || exit 2
PATH=$build:$PATH
faults=0
while read -r line; do
  bash -c "$line" >out 2>&1 || {
    echo "failed: $line"
    cat out
    faults=1
  }
done < <(sed -n 's/^    \(bankfold .*\)/\1/p' "$root/README.md")
sed -n 's/^    \(\(ld\|st\) .*\)/\1/p' "$root/README.md" | bankfold check - >out 2>&1 || {
  cat out
  faults=1
}

# Commands with their output, one file after another, as lines "$ COMMAND" and what is below them.
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
if command -v nvcc >/dev/null && [ -e "$build/runtime/libcudart.so.13" ]; then
  # nvcc takes a folder of its name in PATH for its own place.
  mkdir bin && ln -s "$build/bankfold" bin/ && ln -s "$root/tests" .
  PATH=$work/bin:${PATH#"$build:"} python3 - "$root/README.md" "$root/docs/tutorial.md" "$root/docs/ncu.md" <<'PYTHON' || faults=1
import re
import subprocess
import sys

faults = 0
for path in sys.argv[1:]:
    command, expected = None, []
    def check():
        global faults
        if command is None:
            return
        run = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        wanted = "\n".join(expected).strip("\n")
        pattern = re.escape(wanted).replace(re.escape("..."), "(.|\n)*")
        printed = run.stdout.strip("\n")
        if not re.fullmatch(pattern, printed):
            faults += 1
            print(f"{path}: $ {command}\nprints\n{printed}\nnot\n{wanted}")
    for line in open(path).read().split("\n"):
        if line.startswith("    $ "):
            check()
            command, expected = line[6:], []
        elif command is not None and (line.startswith("    ") or not line):
            expected.append(line[4:])
        else:
            check()
            command = None
    check()
sys.exit(faults != 0)
PYTHON
fi
exit $faults
