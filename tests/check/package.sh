#!/usr/bin/env bash
# The Debian packages: built from build folder $1 as it is, without faults that lintian calls errors, and what they hold runs from a
# scratch root. Skipped without debhelper. $BANKFOLD_PACKAGES names a folder that gets them.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
root=$PWD
for tool in dh dpkg-buildpackage; do
  command -v $tool >/dev/null || { echo "no $tool" && exit 77; }
done
grep -qs 'b_sanitize.*none' <(meson introspect --buildoptions "$build" | tr '{' '\n' | grep '"b_sanitize"') || { echo 'a build with sanitizers' && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0
complain() {
  echo "$*"
  faults=$((faults + 1))
}

mkdir "$work/source" && cp -r debian "$work/source/" && cp README.md "$work/source/"
cd "$work/source" || exit 2
# What is packed is large: time counts here, not size.
BANKFOLD_BUILD=$build BANKFOLD_PACKING=-Znone DEB_BUILD_OPTIONS='nocheck noautodbgsym nostrip' \
  dpkg-buildpackage -b -d -us -uc >../log 2>&1 || { tail -n 30 ../log && exit 1; }
cd "$work" || exit 2
for package in bankfold libbankfold0 libbankfold-dev; do
  dpkg-deb -x "$work/${package}"_*.deb "$work/root" || complain "no package $package"
done
[ -z "${BANKFOLD_PACKAGES-}" ] || cp "$work"/*.deb "$BANKFOLD_PACKAGES/"

# What was installed runs.
program=$work/root/usr/bin/bankfold
"$program" --version | grep -q '^bankfold [0-9]' || complain 'the program does not run'
[ "$("$program" explain 'a[lane][0]' --type 'float[32][32]' --json | grep -c '"wavefronts": 32')" -eq 1 ] ||
  complain 'explain says something else'
"$program" exec "$root/tests/data/programs/transpose" 2>&1 | grep -q '3968 .*plain' || complain 'exec does not find its runtime'
"$program" run --log stderr true 2>&1 | grep -q 'loaded into' || complain 'run does not find its library'
for file in share/man/man1/bankfold.1.gz share/doc/bankfold/docs/index.md share/doc/bankfold/examples/tile.trace \
  share/bankfold/ncu/BankfoldSharedMemory.py share/bash-completion/completions/bankfold.bash include/bankfold.h; do
  [ -e "$work/root/usr/$file" ] || [ -e "$work/root/usr/$file.gz" ] || complain "no /usr/$file"
done
# The package without large files stands for all; tools/release.sh has lintian look at all of them.
if command -v lintian >/dev/null; then
  lintian libbankfold-dev_*.deb libbankfold0_*.deb >lintian.log 2>&1
  grep '^E: ' lintian.log | grep -v 'uses-no-compression\|unstripped' && complain 'lintian finds errors'
fi
[ $faults -eq 0 ]
