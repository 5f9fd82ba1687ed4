# Sourced by ./run and ./test: finds out which tools are missing, installs them where it may, and
# configures build folders. Packages are named as Debian and Ubuntu name them.
# shellcheck shell=bash

missing='' # what is needed
wanted=''  # what some checks need, which are skipped without it

has() { command -v "$1" >/dev/null 2>&1; }

# need PACKAGE CHECK...: PACKAGE is missing unless the command CHECK succeeds.
need() {
  local package=$1
  shift
  "$@" >/dev/null 2>&1 || missing="$missing $package"
}

# want PACKAGE CHECK...: the same for what ./test can do without.
want() {
  local package=$1
  shift
  "$@" >/dev/null 2>&1 || wanted="$wanted $package"
}

need_to_build() {
  need gcc has gcc
  need libc6-dev test -e /usr/include/stdio.h
  need meson has meson
  need ninja-build has ninja
  need pkg-config has pkg-config
  need libzstd-dev pkg-config --exists libzstd
  need libpng-dev pkg-config --exists libpng
  need g++ has_demangler
}

# libsupc++.a (src/ptx/demangle.c) comes with g++, in libstdc++-NN-dev.
has_demangler() { test -e "$(gcc -print-file-name=libsupc++.a)"; }

need_to_test() {
  need_to_build
  need g++ has g++
  need clang has clang
  need clang-format has clang-format
  need libclang-rt-dev clang_has_sanitizers
  need libcmocka-dev pkg-config --exists cmocka
  need python3 has python3
  need iverilog has iverilog
  want verilator has verilator
  want yosys has yosys
  want qflow-tech-osu018 test -e /usr/share/qflow/tech/osu018/osu018_stdcells.lib
  want qflow-tech-osu035 test -e /usr/share/qflow/tech/osu035/osu035_stdcells.lib
  want qflow-tech-osu050 test -e /usr/share/qflow/tech/osu050/osu05_stdcells.lib
  want opensta has sta
  want openmpi-bin has mpirun
  want libopenmpi-dev mpi_has_header
  want debhelper has dh
  want lintian has lintian
  want musl-tools has musl-gcc
  need z3 has z3
  need zstd has zstd
  need man-db has man
  # For the explorer (web/build.sh, tests/check/web.sh).
  want lld has wasm-ld
  want wasi-libc test -e /usr/lib/wasm32-wasi/libc.a
  want libc++abi-14-dev-wasm32 test -e /usr/lib/wasm32-wasi/libc++abi.a
  want libclang-rt-14-dev-wasm32 clang_has_wasm
  want nodejs has node
  want chromium has chromium
  want mypy has mypy # types of the Python package
  want libopencv-imgproc-dev test -e /usr/include/opencv4/opencv2/imgproc.hpp # votes beside OpenCV's
}

# The runtime libraries of clang's sanitizers come in a package of their own.
clang_has_sanitizers() {
  local runtime
  runtime=$(clang -print-file-name=libclang_rt.asan-x86_64.a 2>/dev/null) && test -e "$runtime" && return
  local program status
  program=$(mktemp)
  echo 'int main(void) { return 0; }' | clang -fsanitize=address -x c - -o "$program"
  status=$?
  rm -f "$program"
  return $status
}

# Debian's package of mpirun has mpicxx, but not its headers.
mpi_has_header() { echo '#include <mpi.h>' | mpicxx -fsyntax-only -xc++ /dev/stdin; }

# As does what it needs for WebAssembly.
clang_has_wasm() { test -e "$(clang --target=wasm32-wasi -print-libgcc-file-name)"; }

# apt PACKAGE...: installs packages; what it prints where that fails.
apt() {
  local log status=0
  log=$(mktemp)
  # A list of packages that cannot be refreshed may still be good enough.
  # shellcheck disable=SC2086 # as_root is empty or two words
  { $as_root apt-get update -q; $as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "$@"; } >"$log" 2>&1 || status=1
  [ $status = 0 ] || tail -n 20 "$log" >&2
  rm -f "$log"
  return $status
}

# Installs what is missing, or says how and exits with status 2.
install_missing() {
  [ -n "$missing$wanted" ] || return 0
  local as_root='' packages more
  read -ra packages <<<"$missing"
  read -ra more <<<"$wanted"
  if ! has apt-get; then
    echo "Missing, by their Debian names: ${packages[*]} ${more[*]}. Please install them." >&2
    [ -z "$missing" ] && return 0
    exit 2
  elif [ "$(id -u)" != 0 ]; then
    as_root='sudo -n'
    if ! has sudo || ! sudo -n true 2>/dev/null; then
      echo "Some tools are missing. Please run:" >&2
      echo "  sudo apt-get update && sudo apt-get install -y ${packages[*]} ${more[*]}" >&2
      [ -z "$missing" ] && return 0
      exit 2
    fi
  fi
  echo "Installing: ${packages[*]} ${more[*]}"
  if [ -n "$missing" ] && ! apt "${packages[@]}"; then
    echo "Could not install: ${packages[*]}" >&2
    exit 2
  fi
  if [ -n "$wanted" ] && ! apt "${more[@]}"; then
    echo "Could not install: ${more[*]}. Checks that need them are skipped." >&2
  fi
}

# What meson.build finds when it configures: files by pattern, and libraries that only tests need. A
# change in this list needs a new configuration.
found_files() {
  pkg-config --modversion cmocka 2>/dev/null
  tools/files.sh
}

# how_far LOG: how many of how many steps a build has done that prints to LOG.
how_far() { tail -c 4000 "$1" 2>/dev/null | sed -n 's/^\[\([0-9]*\)\/\([0-9]*\)\].*/\1 \2/p' | tail -n 1; }

# compile FOLDER TARGET...: builds with ninja, which prints to FOLDER/log; in a terminal, a line says how far it is and how
# long it will take if it goes on like this.
compile() {
  local log=$1/log begin=$SECONDS now of process
  ninja -C "$@" >"$log" 2>&1 &
  process=$!
  while [ -t 2 ] && kill -0 $process 2>/dev/null; do
    read -r now of < <(how_far "$log")
    [ "${now:-0}" = 0 ] || printf '\r\033[K%s of %s steps, about %s s left' "$now" "$of" \
      $(((SECONDS - begin) * (of - now) / now)) >&2
    sleep 0.5
  done
  [ ! -t 2 ] || printf '\r\033[K' >&2
  wait $process
}

# configure FOLDER OPTION...: a build folder with these options. Starts afresh where the options
# changed, and looks for files again where files came or went. Objects come from ccache where it is installed;
# meson itself looks for it only where CC is not set.
configure() {
  local folder=$1 how='' options
  shift
  options="${CC-} $*"
  [ -z "${CC-}" ] || ! has ccache || local -x CC="ccache $CC"
  if [ "$(cat "$folder/options" 2>/dev/null)" != "$options" ]; then
    rm -rf "$folder"
  elif [ "$(cat "$folder/found" 2>/dev/null)" = "$(found_files)" ]; then
    return 0
  else
    how=--reconfigure
  fi
  # shellcheck disable=SC2086 # how is empty or one word
  meson setup $how "$folder" -Dwerror=true "$@" >"$folder.log" 2>&1 || {
    cat "$folder.log" >&2
    rm -f "$folder.log"
    return 1
  }
  rm -f "$folder.log"
  found_files >"$folder/found"
  echo "$options" >"$folder/options"
}
