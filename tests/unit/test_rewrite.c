/* The rewriter: golden texts of small kernels, what is refused and where, and that the rewritten
 * form does the same in the emulator. */
#include "apply/rewrite.h"
#include "emu.h"

#include <stdio.h>
#include <string.h>

#define HEAD ".version 8.5\n.target sm_90\n.address_size 64\n"

static const bf_geometry geometry = {5, 16, 4};

static bf_hash *hash_of(const char *text) {
  bf_hash *hash;
  bf_diagnostic diagnostic;
  if (bf_hash_parse(text, &geometry, &hash, &diagnostic) != BF_OK)
    fail_msg("%s: %s", text, diagnostic.message);
  return hash;
}

static bf_ptx_module *parse(const char *text) {
  bf_ptx_module *module;
  bf_diagnostic diagnostic;
  if (bf_ptx_parse("test", text, strlen(text), &module, &diagnostic) != BF_OK)
    fail_msg("%llu:%u: %s in\n%s", (unsigned long long)diagnostic.line, diagnostic.column,
             diagnostic.message, text);
  return module;
}

/* The same hash for every kernel. */
static const bf_hash *same(void *context, const bf_ptx_function *kernel) {
  (void)kernel;
  return context;
}

static void rewrite(const bf_ptx_module *module, const bf_hash *hash, bf_rewrite_result *result) {
  bf_diagnostic diagnostic;
  bf_rewrite_options options = {(void *)(uintptr_t)hash, same};
  if (bf_rewrite(module, &options, result, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
}

/* ---- Golden texts ---- */

/* Where expected first differs, both are shown. */
static void check_golden(const char *hash_text, const char *text, const char *expected) {
  bf_hash *hash = hash_of(hash_text);
  bf_ptx_module *module = parse(text);
  bf_rewrite_result result;
  rewrite(module, hash, &result);
  if (strcmp(result.text.data, expected) != 0)
    fail_msg("%s gives\n%s\nnot\n%s", hash_text, result.text.data, expected);
  bf_ptx_free(parse(result.text.data));
  bf_rewrite_free(&result);
  bf_ptx_free(module);
  bf_hash_free(hash);
}

/* [register+number] of 32 and 64 bits, guards, reuse until the register is written. */
static void golden_registers(void **state) {
  (void)state;
  check_golden("fixed",
               HEAD
               ".entry k(.param .u64 x)\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<2>;\n.reg .pred %p;\n"
               ".shared .b32 a[33];\nmov.u32 %r0, %tid.x;\nld.param.u64 %rd1, [x];\n"
               "ld.shared.u32 %r1, [%r0+4];\n@%p st.volatile.shared.u32 [%rd1+-8], %r1;\n"
               "atom.shared.add.u32 %r2, [%r0+4], %r1;\nadd.u32 %r0, %r0, 4;\n"
               "red.shared.add.u32 [%r0], %r1;\nret;\n}\n",
               HEAD ".entry k(\n\t.param .u64 x\n)\n{\n"
                    "\t.reg .b32 \t%bf_logical;\n\t.reg .b32 \t%bf_term;\n"
                    "\t.reg .b32 \t%bf_place<2>;\n\t.reg .b64 \t%bf_logical_wide;\n"
                    "\t.reg .b64 \t%bf_term_wide;\n\t.reg .b64 \t%bf_place_wide<1>;\n"
                    "\t.reg .b32 \t%r<4>;\n\t.reg .b64 \t%rd<2>;\n\t.reg .pred \t%p;\n"
                    "\t.shared .align 128 .b32 a[64];\n\tmov.u32 \t%r0, %tid.x;\n"
                    "\tld.param.u64 \t%rd1, [x];\n\tadd.s32 \t%bf_logical, %r0, 4;\n"
                    "\tshr.u32 \t%bf_term, %bf_logical, 5;\n"
                    "\tand.b32 \t%bf_term, %bf_term, 124;\n"
                    "\txor.b32 \t%bf_place0, %bf_logical, %bf_term;\n"
                    "\tld.shared.u32 \t%r1, [%bf_place0];\n"
                    "\tadd.s64 \t%bf_logical_wide, %rd1, -8;\n"
                    "\tshr.u64 \t%bf_term_wide, %bf_logical_wide, 5;\n"
                    "\tand.b64 \t%bf_term_wide, %bf_term_wide, 124;\n"
                    "\txor.b64 \t%bf_place_wide0, %bf_logical_wide, %bf_term_wide;\n"
                    "\t@%p st.volatile.shared.u32 \t[%bf_place_wide0], %r1;\n"
                    "\tatom.shared.add.u32 \t%r2, [%bf_place0], %r1;\n"
                    "\tadd.u32 \t%r0, %r0, 4;\n\tshr.u32 \t%bf_term, %r0, 5;\n"
                    "\tand.b32 \t%bf_term, %bf_term, 124;\n"
                    "\txor.b32 \t%bf_place1, %r0, %bf_term;\n"
                    "\tred.shared.add.u32 \t[%bf_place1], %r1;\n\tret;\n}\n");
}

/* Names of variables start rows: one hash serves the row, and XOR reaches its words. Two terms. A
 * jump into the middle forgets what was held. */
static void golden_names(void **state) {
  (void)state;
  check_golden("bits:0,1,2^5,3^6,4^7^9",
               HEAD ".extern .shared .align 16 .b8 open[];\n.entry k()\n{\n.reg .b32 %r<4>;\n"
                    ".reg .b32 %bf_x;\nld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [open+32];\n"
                    "st.shared.u8 [open+37], %r0;\nagain:\nst.shared.u32 [open+128], %r0;\n"
                    "bra again;\n}\n",
               HEAD ".extern .shared .align 128 .b8 open[];\n.entry k()\n{\n"
                    "\t.reg .b32 \t%bf1_logical;\n\t.reg .b32 \t%bf1_term;\n"
                    "\t.reg .b32 \t%bf1_place<3>;\n\t.reg .b32 \t%r<4>;\n\t.reg .b32 \t%bf_x;\n"
                    "\tmov.u32 \t%bf1_logical, open;\n\tshr.u32 \t%bf1_term, %bf1_logical, 3;\n"
                    "\tand.b32 \t%bf1_term, %bf1_term, 112;\n"
                    "\txor.b32 \t%bf1_place0, %bf1_logical, %bf1_term;\n"
                    "\tshr.u32 \t%bf1_term, %bf1_logical, 5;\n"
                    "\tand.b32 \t%bf1_term, %bf1_term, 64;\n"
                    "\txor.b32 \t%bf1_place0, %bf1_place0, %bf1_term;\n"
                    "\txor.b32 \t%bf1_place1, %bf1_place0, 32;\n"
                    "\tld.shared.v4.b32 \t{%r0, %r1, %r2, %r3}, [%bf1_place1];\n"
                    "\tst.shared.u8 \t[%bf1_place1+5], %r0;\nagain:\n"
                    "\tmov.u32 \t%bf1_logical, open+128;\n"
                    "\tshr.u32 \t%bf1_term, %bf1_logical, 3;\n"
                    "\tand.b32 \t%bf1_term, %bf1_term, 112;\n"
                    "\txor.b32 \t%bf1_place2, %bf1_logical, %bf1_term;\n"
                    "\tshr.u32 \t%bf1_term, %bf1_logical, 5;\n"
                    "\tand.b32 \t%bf1_term, %bf1_term, 64;\n"
                    "\txor.b32 \t%bf1_place2, %bf1_place2, %bf1_term;\n"
                    "\tst.shared.u32 \t[%bf1_place2], %r0;\n\tbra \tagain;\n}\n");
}

/* Generic addresses are hashed where they lead to shared memory. */
static void golden_generic(void **state) {
  (void)state;
  check_golden("fixed",
               HEAD
               ".entry k()\n{\n.reg .b32 %r<2>;\n.reg .b64 %rd<2>;\n.shared .b32 a[32];\n"
               "mov.u64 %rd0, a;\ncvta.shared.u64 %rd1, %rd0;\nld.u32 %r1, [%rd1+4];\nret;\n}\n",
               HEAD ".entry k()\n{\n\t.reg .pred \t%bf_is_shared;\n"
                    "\t.reg .b64 \t%bf_logical_wide;\n\t.reg .b64 \t%bf_inside_wide;\n"
                    "\t.reg .b64 \t%bf_term_wide;\n\t.reg .b64 \t%bf_place_wide<1>;\n"
                    "\t.reg .b32 \t%r<2>;\n\t.reg .b64 \t%rd<2>;\n"
                    "\t.shared .align 128 .b32 a[32];\n\tmov.u64 \t%rd0, a;\n"
                    "\tcvta.shared.u64 \t%rd1, %rd0;\n\tadd.s64 \t%bf_logical_wide, %rd1, 4;\n"
                    "\tisspacep.shared \t%bf_is_shared, %bf_logical_wide;\n"
                    "\tcvta.to.shared.u64 \t%bf_inside_wide, %bf_logical_wide;\n"
                    "\tshr.u64 \t%bf_term_wide, %bf_inside_wide, 5;\n"
                    "\tand.b64 \t%bf_term_wide, %bf_term_wide, 124;\n"
                    "\txor.b64 \t%bf_place_wide0, %bf_inside_wide, %bf_term_wide;\n"
                    "\tcvta.shared.u64 \t%bf_place_wide0, %bf_place_wide0;\n"
                    "\tselp.b64 \t%bf_place_wide0, %bf_place_wide0, %bf_logical_wide, "
                    "%bf_is_shared;\n"
                    "\tld.u32 \t%r1, [%bf_place_wide0];\n\tret;\n}\n");
}

/* ---- Refusals ---- */

static const struct {
  const char *text;     /* of a module */
  unsigned line;        /* behind the head, which has 3 */
  const char *obstacle; /* the first one */
} refusals[] = {
#define KERNEL(body)                                                                               \
  ".entry k()\n{\n.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p; .shared .b32 a[64];\n"         \
  "ld.shared.u32 %r1, [a];\n" body "\nret;\n}\n"
    {KERNEL("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 "
            "{%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%rd1], %r0;"),
     5, "wmma.load on shared memory"},
    {KERNEL("wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%rd1], "
            "{%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, %r0;"),
     5, "wmma.store on shared memory"},
    {KERNEL("cvta.shared.u64 %rd0, %rd1;\nwmma.load.a.sync.aligned.row.m16n16k16.f16 "
            "{%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%rd1], %r0;"),
     6, "wmma.load by a generic address"},
    {KERNEL("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%rd1], [%rd2], "
            "%r1, [%rd3];"),
     5, "cp.async.bulk on shared memory"},
    {KERNEL("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%rd1], "
            "[%rd2, {%r1}], [%rd3];"),
     5, "cp.async.bulk.tensor on shared memory"},
    {KERNEL("wgmma.fence.sync.aligned;"), 5,
     "wgmma reads matrices in shared memory by descriptors"},
    {KERNEL("tcgen05.fence::before_thread_sync;"), 5, "tcgen05 reads shared memory by descriptors"},
    {KERNEL("mapa.shared::cluster.u64 %rd1, %rd2, %r1;"), 5,
     "mapa: shared memory of other blocks of a cluster"},
    {KERNEL("getctarank.shared::cluster.u64 %r1, %rd2;"), 5,
     "getctarank: shared memory of other blocks of a cluster"},
    {KERNEL("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%rd1], %r1, [%rd2];"),
     5, "shared memory of other blocks of a cluster"},
    {KERNEL("ld.shared::cluster.u32 %r1, [%rd1];"), 5,
     "shared memory of other blocks of a cluster"},
    {KERNEL("mov.u32 %r1, %reserved_smem_offset_begin;"), 5,
     "the shared memory that the system reserves"},
    {KERNEL("mov.u32 %r1, %dynamic_smem_size;"), 5,
     "the size of shared memory, which padding changes"},
    {KERNEL("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%rd1], %rd2;"), 5,
     "an instruction on shared memory that is not understood"},
    {KERNEL("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r0];"), 5,
     "an access of unknown width"},
    {KERNEL("cvta.shared.u64 %rd0, %rd1;\nld.u32 %r1, [16];"), 6,
     "a generic access that names its address"},
    {KERNEL("mov.u64 %rd1, k;\ncall %rd1, ();"), 6, "a call through a register"},
    {".extern .func other();\n" KERNEL("call other, ();"), 6,
     "a call of other, which is not in the module"},
    {".extern .func free();\n" KERNEL("cvta.shared.u64 %rd0, %rd1;\ncall free, ();"), 7,
     "a call of free, which may be given shared memory"},
    {".visible .func f()\n{\n.reg .b32 %r;\nld.shared.u32 %r, [%r];\nret;\n}\n" KERNEL(
         "call f, ();"),
     1, "function f may be called from other modules"},
    {".func f()\n{\n.reg .b32 %r;\nld.shared.u32 %r, [%r];\nret;\n}\n" KERNEL(
         "call f, ();\nmov.u64 %rd1, f;"),
     1, "function f may be called through a pointer"},
    {".extern .shared .b32 e[32];\n" KERNEL("ld.shared.u32 %r1, [e];"), 1,
     "shared variable e is defined elsewhere"},
    {".weak .shared .b32 e[32];\n" KERNEL("ld.shared.u32 %r1, [e];"), 1,
     "shared variable e may be replaced by another module's"},
    {".shared .b8 e[49000];\n.shared .b8 f[10];\n" KERNEL(
         "ld.shared.u8 %r1, [e];\nld.shared.u8 %r1, [f];"),
     0, "49408 bytes of shared memory, padded to rows, are more than 49152"},
    {KERNEL("ld.shared.v2.u32 {%r1, %r2}, [a];"), 5,
     "an access of 8 bytes, of which the hash keeps 4 together"},
    {".entry k() .explicitcluster\n{\n.shared .b32 a;\n.reg .b32 %r;\nld.shared.u32 %r, [a];\n}\n",
     1, "a kernel of a cluster (.explicitcluster)"},
    {KERNEL("mbarrier.init.shared.b64 [%rd1], %r1;"), 5,
     "mbarrier objects that cannot be told from data"},
};

/* Every refused construct, with its line; the module stays as it was. */
static void refused(void **state) {
  (void)state;
  bf_hash *hash = hash_of("fixed");
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    char text[2048];
    bf_text plain = {0};
    bf_rewrite_result result;
    snprintf(text, sizeof text, "%s%s", HEAD, refusals[i].text);
    bf_ptx_module *module = parse(text);
    rewrite(module, hash, &result);
    if (result.kernels != 1 || result.kernel[0].obstacles == 0)
      fail_msg("nothing in the way of\n%s", text);
    bf_rewrite_obstacle found = result.kernel[0].obstacle[0];
    if (strcmp(found.text, refusals[i].obstacle) != 0 ||
        found.line != (refusals[i].line ? refusals[i].line + 3 : 0))
      fail_msg("line %llu: %s in\n%s", (unsigned long long)found.line, found.text, text);
    assert_false(result.kernel[0].is_rewritten || result.is_changed);
    bf_ptx_print(module, &plain);
    assert_string_equal(result.text.data, plain.data);
    bf_text_free(&plain);
    bf_rewrite_free(&result);
    bf_ptx_free(module);
  }
  bf_hash_free(hash);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(golden_registers),
      cmocka_unit_test(golden_names),
      cmocka_unit_test(golden_generic),
      cmocka_unit_test(refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
