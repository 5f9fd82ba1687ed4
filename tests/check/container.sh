#!/usr/bin/env bash
# What users install works on a Debian with nothing else on it, in a root of its own: the image of the Dockerfile, the Debian
# packages and the wheel, all from build folder $1. With --full, Dockerfile and action.yml build from the sources there too, and so
# does the example for GitLab, whose steps are the same (ten minutes of a core each). Needs root, mmdebstrap and Debian's mirror.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
full=${2-}
skip() {
  echo "$*"
  exit 77
}
[ "$(id -u)" = 0 ] || skip 'not root: no chroot'
for tool in mmdebstrap unshare; do command -v $tool >/dev/null || skip "no $tool"; done
[ -e "$build/runtime/libcudart.so.13" ] || skip 'no runtime in the build folder'
grep -q '"b_sanitize", "value": "none"' <(meson introspect --buildoptions "$build") || skip 'a build with sanitizers'
# shellcheck disable=SC2016 # names of apt
mirror=$(apt-get indextargets --format '$(SITE) $(CODENAME)' 2>/dev/null | grep -m 1 ' bookworm$' | cut -d ' ' -f 1)
[ -n "$mirror" ] || skip 'no sources of packages for bookworm'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0
complain() {
  echo "$*"
  [ ! -s "$work/log" ] || tail -n 15 "$work/log"
  faults=$((faults + 1))
}
mmdebstrap --quiet --variant=minbase bookworm "$work/base.tar" "$mirror" >"$work/log" 2>&1 || skip "no Debian from the mirror: $(tail -n 1 "$work/log")"

# fresh NAME: a root with that Debian and nothing else.
fresh() {
  mkdir "$work/$1"
  tar -C "$work/$1" --exclude=./dev/\* -xf "$work/base.tar" || skip 'the root cannot be unpacked'
  mknod -m 666 "$work/$1/dev/null" c 1 3 || skip 'no devices can be made here'
  mknod -m 666 "$work/$1/dev/urandom" c 1 9 || skip 'no devices can be made here'
  mkdir "$work/$1/work"
}

# inside NAME COMMAND...: a shell command in that root, which sees nothing of this environment; what it prints goes to the log.
inside() {
  local name=$1
  shift
  unshare --mount --pid --fork --mount-proc="$work/$name/proc" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    DEBIAN_FRONTEND=noninteractive chroot "$work/$name" /bin/bash -c "cd /work && $*" >"$work/log" 2>&1
}
fresh image
inside image true || skip "no root of its own can be entered: $(tail -n 1 "$work/log")"

# says NAME TEXT COMMAND...: the command succeeds there and prints the text.
says() {
  local name=$1 text=$2
  shift 2
  if ! inside "$name" "$*" || ! grep -q "$text" "$work/log"; then complain "$name: $*"; fi
}

# works NAME PROGRAM: the program counts, explains, runs a CUDA program, and finds the libraries that it loads.
works() {
  cp examples/tile.trace tests/data/programs/transpose "$work/$1/work/"
  says "$1" 992 "$2 check tile.trace"
  says "$1" '32 wavefronts' "$2 explain 'a[lane][0]' --type 'float[32][32]'"
  says "$1" '3968 .*plain' "$2 exec ./transpose"
  says "$1" 'loaded into' "$2 run --log stderr true"
}

# run_lines STAGE: the commands of RUN in a stage of the Dockerfile, one a line.
run_lines() {
  awk -v stage="$1" '{ while (sub(/\\$/, "")) { getline more; $0 = $0 more } } /^FROM/ { now++ }
    now == stage && sub(/^RUN /, "")' Dockerfile
}

# sources NAME: the project as it is in the repository, as /source.
sources() {
  mkdir "$work/$1/source" && git ls-files -z | xargs -0 cp --parents -t "$work/$1/source"
}

# ---- The image ----

if [ "$full" = --full ]; then
  fresh build && sources build
  while read -r line; do inside build "$line" || complain "Dockerfile: $line"; done < <(run_lines 1)
  cp -a "$work/build/installed/." "$work/image/"
  mkdir -p "$work/build/temp" && awk '/^      run: \|$/ { seen++; next } seen == 1 && /^        / { print; next } seen == 1 { exit }' action.yml |
    sed 's/sudo //' >"$work/build/work/step.sh"
  # shellcheck disable=SC2016 # of the inner shell
  inside build 'touch /temp/path && RUNNER_TEMP=/temp GITHUB_ACTION_PATH=/source GITHUB_PATH=/temp/path bash -e step.sh && "$(cat /temp/path)"/bankfold --version' ||
    complain 'the first step of action.yml'
  rm -rf "$work/build"
else
  DESTDIR=$work/installed meson install -C "$build" --quiet --no-rebuild >"$work/log" 2>&1 || complain 'meson install'
  cp -a "$work/installed/." "$work/image/"
fi
while read -r line; do inside image "$line" || complain "Dockerfile: $line"; done < <(run_lines 2)
works image "$(sed -n 's/^ENTRYPOINT \["\(.*\)"\]$/\1/p' Dockerfile)"
rm -rf "$work/image" "$work/installed"

# ---- Debian packages ----

if command -v dh >/dev/null; then
  fresh packages
  BANKFOLD_PACKAGES=$work/packages/work tests/check/package.sh "$build" >"$work/log" 2>&1 || complain 'the packages are not built'
  inside packages 'apt-get -qq update && apt-get install -y --no-install-recommends ./*.deb' || complain 'the packages do not install'
  works packages bankfold
  inside packages 'apt-get purge -y bankfold libbankfold0 libbankfold-dev && ! ls /usr/bin/bankfold* /usr/lib/*/bankfold' ||
    complain 'the packages leave something behind'
  rm -rf "$work/packages"
else
  echo 'no debhelper: packages are not tried'
fi

# ---- The wheel ----

fresh wheel
cp -r examples "$work/wheel/work/" && cp -r kernels "$work/wheel/work/"
BANKFOLD_BUILD=$build python3 python/backend.py "$work/wheel/work" >"$work/log" 2>&1 || complain 'the wheel is not built'
inside wheel 'apt-get -qq update && apt-get install -y --no-install-recommends python3 python3-pip' || complain 'no python3'
inside wheel 'pip install --break-system-packages --no-index ./*.whl' || complain 'the wheel does not install'
works wheel bankfold
for example in transpose swizzle; do
  inside wheel "python3 examples/python/$example.py" || complain "the example $example"
done
[ $faults -eq 0 ]
