#!/usr/bin/env bash
# Makes what a release is made of, in a folder: the source archive, the static program with the libraries that it loads, the
# Debian packages and, where python/ is there, the wheel.
#
#   tools/release.sh FOLDER [BUILD]     BUILD: a build folder to take, else one is made
set -eu
cd "$(dirname "$0")/.."
[ $# -ge 1 ] || { echo "usage: $0 FOLDER [BUILD]" && exit 2; }
mkdir -p "$1"
out=$(readlink -f "$1")
build=${2-}
version=$(awk '/define BF_VERSION_(MAJOR|MINOR|PATCH) / { printf "%s%s", dot, $3; dot = "." }' include/bankfold.h)
grep -q "^## $version" CHANGELOG.md || { echo "CHANGELOG.md says nothing about $version" && exit 1; }
grep -q "($version" debian/changelog || { echo "debian/changelog says nothing about $version" && exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "$build" ]; then
  build=$work/build
  meson setup "$build" >"$work/log" || { cat "$work/log" && exit 1; }
  ninja -C "$build"
fi
build=$(readlink -f "$build")

echo "source: bankfold-$version.tar.gz"
git archive --prefix="bankfold-$version/" -o "$out/bankfold-$version.tar.gz" HEAD

# The static program finds its libraries in ../lib/bankfold, wherever the archive is unpacked.
machine=$(uname -m)
echo "program: bankfold-$version-linux-$machine.tar.gz"
ninja -C "$build" bankfold-static >/dev/null
tree=$work/bankfold-$version
DESTDIR=$work/installed meson install -C "$build" --quiet --no-rebuild
mkdir -p "$tree/bin" "$tree/lib"
cp "$build/bankfold-static" "$tree/bin/bankfold"
for name in bankfold-nvcc bankfold-ptxas; do ln -s bankfold "$tree/bin/$name"; done
cp -r "$(dirname "$(find "$work/installed" -name libbankfold-inject.so)")" "$tree/lib/bankfold"
find "$tree/lib/bankfold" -type l -delete
mkdir -p "$tree/lib/bankfold/nvcc/assembler"
ln -s ../../../bin/bankfold "$tree/lib/bankfold/nvcc/cicc"
ln -s ../../../../bin/bankfold "$tree/lib/bankfold/nvcc/assembler/ptxas"
cp -r "$(find "$work/installed" -type d -path '*/share')" "$tree/share"
cp LICENSE NOTICE README.md "$tree/"
tar -C "$work" -czf "$out/bankfold-$version-linux-$machine.tar.gz" "bankfold-$version"

if command -v dh >/dev/null; then
  echo "Debian: bankfold_${version}_*.deb"
  mkdir "$work/source" && cp -r debian README.md "$work/source/"
  (cd "$work/source" && BANKFOLD_BUILD=$build DEB_BUILD_OPTIONS='nocheck noautodbgsym' dpkg-buildpackage -b -d -us -uc \
    >"$work/log" 2>&1) || { tail -n 30 "$work/log" && exit 1; }
  cp "$work"/*.deb "$out/"
  if command -v lintian >/dev/null; then
    lintian --fail-on error "$out"/*.deb || exit 1
  fi
else
  echo 'no debhelper: no Debian packages'
fi

if [ -e python/pyproject.toml ]; then
  echo 'Python: a wheel'
  python3 -m pip wheel --no-build-isolation --no-deps -w "$out" ./python >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
fi
(cd "$out" && find . -name '*.tar.gz' -o -name '*.deb' -o -name '*.whl' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
ls -l "$out"
