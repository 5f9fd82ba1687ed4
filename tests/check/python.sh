#!/usr/bin/env bash
# The Python package of build folder $1: its declarations are those of the header, the wheel is built without a network and
# installs with pip or without, and what is installed passes its tests and runs the examples, with the output of docs/python.md.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
root=$PWD
python=/usr/bin/python3
[ -x $python ] || python=$(command -v python3) || { echo 'no python3' && exit 77; }
$python -c 'import sys; sys.exit(sys.version_info < (3, 8))' || { echo 'python3 is older than 3.8' && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export BANKFOLD_BUILD=$build PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
unset BANKFOLD_LIBRARY PYTHONPATH
faults=0
complain() {
  echo "$*"
  faults=$((faults + 1))
}

$python python/declarations.py --check || faults=$((faults + 1))
if $python -m mypy --version >/dev/null 2>&1; then
  (cd python && $python -m mypy --strict --ignore-missing-imports --cache-dir "$work/mypy" -p bankfold) || complain 'types do not fit'
else
  echo 'no mypy: types are not checked'
fi

$python python/backend.py "$work/wheel" >/dev/null || complain 'the wheel is not built'
wheel=$(echo "$work"/wheel/*.whl)

# Built again by pip, which gives the same bytes, and installed; without pip the wheel is a zip file.
if $python -m pip --version >/dev/null 2>&1; then
  $python -m pip install --quiet --no-index --no-deps --no-compile --target "$work/installed" "$wheel" ||
    complain 'pip refuses the wheel'
  $python -m pip wheel --quiet --no-index --no-deps --wheel-dir "$work/built" ./python || complain 'pip cannot build the wheel'
  cmp "$wheel" "$work/built/$(basename "$wheel")" || complain 'pip builds another wheel'
  PYTHONPATH=$work/installed "$work/installed/bin/bankfold" --version | grep -qx "$("$build/bankfold" --version)" ||
    complain 'the script bankfold does not run'
else
  echo 'no pip: the wheel is unpacked'
  $python - "$wheel" "$work/installed" <<'END' || complain 'the wheel cannot be unpacked'
import os, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    for info in wheel.infolist():
        os.chmod(wheel.extract(info, sys.argv[2]), info.external_attr >> 16 & 0o777 or 0o644)
END
fi

# Tests, examples and the page see what was installed, and neither the sources nor the build folder.
export PYTHONPATH=$work/installed BANKFOLD_ROOT=$root
unset BANKFOLD_BUILD
cp -r python/tests "$work/tests"
cd "$work" || exit 2
case $($python -c 'import bankfold; print(bankfold.__file__)') in
"$work"/installed/*) ;;
*) complain 'another package than the installed one is tested' ;;
esac
$python -W error -m unittest -q || complain 'tests fail'
# Nothing of the environment is needed.
env -i PYTHONPATH="$PYTHONPATH" "$python" -c 'import bankfold; assert bankfold.check("ld 4 ffffffff stride:32").total.conflicts == 31' ||
  complain 'something of the environment is needed'
[ "$(installed/bankfold/native/bin/bankfold exec --quiet "$root/tests/data/programs/transpose")" ] ||
  complain 'bankfold exec of the wheel does not find its libraries'
$python -m bankfold --version | grep -qx "$("$build/bankfold" --version)" || complain 'python -m bankfold'
echo '.version 8.0' >empty.ptx
printf '#!/bin/sh\necho real "$@"\n' >ptxas && chmod +x ptxas
[ "$(BANKFOLD_PTXAS=$work/ptxas installed/bankfold/native/bin/bankfold-ptxas --version)" = 'real --version' ] ||
  complain 'bankfold-ptxas of the wheel is no ptxas'
$python "$root/tests/check/python/page.py" "$root" || faults=$((faults + 1))
exit $((faults != 0))
