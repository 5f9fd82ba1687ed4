/* The functions that cuGetProcAddress knows, without their types. */
#include "procs.h"

#define X(name) extern __attribute__((visibility("default"))) char code_##name[] __asm__(#name);
#include "names.def"
#undef X

const dr_proc dr_proc_table[] = {
#define P(name, version, symbol) {#name, version, false, code_##symbol},
#define T(name, version, symbol) {#name, version, true, code_##symbol},
#include "procs.def"
#undef P
#undef T
};
const size_t dr_procs = sizeof dr_proc_table / sizeof *dr_proc_table;
