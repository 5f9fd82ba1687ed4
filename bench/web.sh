#!/usr/bin/env bash
# How fast the explorer is: its download, its first picture from a cold start, answers while typing, a trace of 100,000
# accesses, and the emulator against the native plain build on one core (bench/bench_emu). Prints a JSON line each.
#   bench/web.sh BUILD          after web/build.sh BUILD and ninja -C BUILD bench/bench_emu
set -eu
cd "$(dirname "$0")/.."
build=$1
for name in chromium chromium-browser google-chrome; do browser=$(command -v $name) && break; done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clang --target=wasm32-wasi -std=gnu11 -O2 -msimd128 -D_GNU_SOURCE -D_WASI_EMULATED_MMAN -D_WASI_EMULATED_GETPID \
  -D_WASI_EMULATED_PROCESS_CLOCKS -Iinclude -Isrc -I. -isystem web/system -w bench/bench_emu.c "$build/web/libbankfold.a" \
  -o "$work/bench_emu.wasm" -Wl,--gc-sections,--stack-first,-z,stack-size=8388608 -lwasi-emulated-mman -lwasi-emulated-getpid \
  -lwasi-emulated-process-clocks -lc++abi -lm
node bench/web.mjs "${browser:-}" "$build" "$work/bench_emu.wasm"
