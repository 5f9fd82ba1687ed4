#!/usr/bin/env bash
# Writing hash units and reading libraries and netlists take every failed allocation for what it is:
# tests/check/rtl/memory.c, with the sanitizers where the compiler has them.
set -u
cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# What units of locks and other forms of code would need is not reached.
cat >"$work/unused.c" <<'END'
#include "memory/memory.h"
#include "emit/forms.h"
#include <stdlib.h>
#define UNUSED(name) int name(const bf_hash *hash, const bf_emit_options *options, bf_text *text, \
  bf_diagnostic *diagnostic) { (void)hash; (void)options; (void)text; (void)diagnostic; abort(); }
UNUSED(bf_emit_cuda) UNUSED(bf_emit_c) UNUSED(bf_emit_cute) UNUSED(bf_emit_triton)
int bf_machine_load(const char *name, const bf_overrides *overrides, bf_machine **machine,
                    bf_diagnostic *diagnostic) {
  (void)name, (void)overrides, (void)machine, (void)diagnostic;
  abort();
}
void bf_machine_free(bf_machine *machine) { (void)machine; }
uint32_t bf_locks_number(const bf_machine *machine, const bf_hash *hash, bf_lock_hash lock_hash,
                         unsigned locks, uint32_t word) {
  (void)machine, (void)hash, (void)lock_hash, (void)locks, (void)word;
  abort();
}
END
compile() {
  "${CC:-cc}" -std=gnu11 -g -D_GNU_SOURCE -Iinclude -Isrc "$@" \
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc tests/check/rtl/memory.c "$work/unused.c" \
    src/rtl/{module,vectors,picture,liberty,liberty_text,netlist,timing,power,tool,opensta}.c \
    src/emit/{emit,verilog}.c src/exchange/settings.c src/process/{find,process}.c src/gf2/*.c src/hash/{hash,parse,convert,cost}.c \
    src/base/{arena,text,markup,diagnostic,file,guess,temporary,zstd_open,thread}.c -lm -lzstd -pthread -o "$work/memory"
}
compile -fsanitize=address,undefined 2>"$work/log" || compile || exit 1
"$work/memory"
