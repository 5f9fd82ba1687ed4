#!/usr/bin/env bash
# The steps of action.yml and of the example for GitLab do what they say: they pass, and fail, where they must. What they would
# install or build is there: build folder $1.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
python3 -c 'import yaml' 2>/dev/null || python=no
command -v python3 >/dev/null || { echo 'no python3' && exit 77; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0

# step FILE NUMBER: the script of a step of action.yml, which is indented below "run: |".
step() {
  awk -v number="$2" '/^      run: \|$/ { seen++; next } seen == number && /^        / { sub(/^        /, ""); print; next }
    seen == number && NF { exit }' "$1"
}

# look STATUS VARIABLE=VALUE...: runs the second step; it must end with that status and write SARIF that is JSON.
look() {
  local expected=$1 status
  shift
  step "$root/action.yml" 2 >"$work/step.sh"
  [ -s "$work/step.sh" ] || { echo 'no second step in action.yml' && faults=$((faults + 1)); }
  (cd "$work" && env PATH="$build:$PATH" BANKFOLD_SARIF=found.sarif BANKFOLD_MAX_CONFLICTS= BANKFOLD_MAX_WAVEFRONTS= \
    BANKFOLD_BASELINE= "$@" bash -e step.sh >out 2>err)
  status=$?
  if [ $status -ne "$expected" ] || ! python3 -m json.tool "$work/found.sarif" >/dev/null; then
    echo "the action with $*: status $status, not $expected"
    cat "$work/out" "$work/err"
    faults=$((faults + 1))
  fi
}

look 0 BANKFOLD_COMMAND="check $root/examples/tile.trace"
look 0 BANKFOLD_COMMAND="check $root/examples/tile.trace --hash fixed" BANKFOLD_MAX_CONFLICTS=0
look 1 BANKFOLD_COMMAND="check $root/examples/tile.trace" BANKFOLD_MAX_CONFLICTS=0
grep -q '^::warning file=.*tile.trace,line=34' "$work/err" || { echo 'no annotation' && faults=$((faults + 1)); }
look 1 BANKFOLD_COMMAND="exec $root/tests/data/programs/transpose" BANKFOLD_MAX_WAVEFRONTS=10
"$build/bankfold" check examples/tile.trace --save-baseline "$work/base" >/dev/null
look 0 BANKFOLD_COMMAND="check $root/examples/tile.trace" BANKFOLD_BASELINE=base

# The first step builds nothing where bankfold is in PATH.
step action.yml 1 >"$work/first.sh"
env PATH="$build:$PATH" bash -e "$work/first.sh" || { echo 'the first step fails' && faults=$((faults + 1)); }

# GitLab: the script, with a trace that has conflicts and one that has none.
command=$(sed -n 's,^    - bankfold/build/bankfold ,,p' examples/ci/gitlab-ci.yml)
mkdir "$work/gitlab" && cd "$work/gitlab" || exit 2
for wanted in 1 0; do
  cp "$root/examples/tile.trace" kernel.trace
  [ $wanted -eq 1 ] || echo 'ld 4 ffffffff stride:1+0' >kernel.trace
  # shellcheck disable=SC2086 # words of the example
  "$build/bankfold" $command >out 2>&1
  status=$?
  if [ $status -ne $wanted ] || [ ! -s bankfold.sarif ]; then
    echo "GitLab's script: status $status, not $wanted"
    faults=$((faults + 1))
  fi
done
if [ "${python-}" != no ]; then
  python3 -c 'import sys, yaml; [yaml.safe_load(open(f)) for f in sys.argv[1:]]' "$root/action.yml" "$root/examples/ci/gitlab-ci.yml" ||
    faults=$((faults + 1))
fi
[ $faults -eq 0 ]
