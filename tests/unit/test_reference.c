/* The reference interpreter by itself: results worked out by hand or by the C compiler, threads
 * that meet, and what it says about kernels that go wrong. */
#include "../reference/ref.h"

#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 64 };

/* Runs a body that has the thread's number in %t, a word from memory in %a, and leaves a word in
 * %d. False with a message where it goes wrong. */
static bool run(const char *body, const uint32_t *input, uint32_t *output, char *message) {
  static const char frame[] =
      ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param "
      ".u64 out)\n"
      "{\n.reg .b32 %%a, %%b, %%c, %%d, %%t;\n.reg .b64 %%in, %%out, %%x, %%y;\n.reg .pred %%p, "
      "%%q;\n"
      ".reg .b16 %%h;\n.shared .b32 sh[64];\n"
      "ld.param.u64 %%in, [in];\nld.param.u64 %%out, [out];\nmov.u32 %%t, %%tid.x;\n"
      "mad.wide.u32 %%in, %%t, 4, %%in;\nmad.wide.u32 %%out, %%t, 4, %%out;\nld.global.b32 %%a, "
      "[%%in];\n"
      "%s\nst.global.b32 [%%out], %%d;\nret;\n}\n";
  char text[4096];
  bf_ptx_module *module;
  bf_diagnostic diagnostic;
  uint64_t parameters[] = {(uint64_t)(uintptr_t)input, (uint64_t)(uintptr_t)output};
  ref_range range[] = {{parameters[0], THREADS * 4}, {parameters[1], THREADS * 4}};
  snprintf(text, sizeof text, frame, body);
  assert_int_equal(bf_ptx_parse("test", text, strlen(text), &module, &diagnostic), BF_OK);
  ref_launch launch = {.module = module,
                       .kernel = "k",
                       .grid = {1, 1, 1},
                       .block = {THREADS, 1, 1},
                       .parameters = parameters,
                       .parameter_bytes = sizeof parameters,
                       .range = range,
                       .ranges = 2};
  bool fine = ref_run(&launch, message);
  bf_ptx_free(module);
  return fine;
}

/* The word that a body makes of one input. */
static uint32_t of(const char *body, uint32_t input) {
  uint32_t in[THREADS], out[THREADS];
  char message[REF_MESSAGE_BYTES];
  for (unsigned i = 0; i < THREADS; i++)
    in[i] = input;
  assert_true(run(body, in, out, message));
  return out[0];
}

static void test_integers(void **state) {
  (void)state;
  assert_int_equal(of("add.sat.s32 %d, %a, 1;", 0x7fffffff), 0x7fffffff);
  assert_int_equal(of("mul.hi.s32 %d, %a, %a;", 0x80000000), 0x40000000);
  assert_int_equal(of("mul.hi.u32 %d, %a, %a;", 0xffffffff), 0xfffffffe);
  assert_int_equal(of("mul24.hi.u32 %d, %a, %a;", 0xffffff), 0xfffffe00);
  assert_int_equal(of("shl.b32 %d, %a, 32;", 1), 0);
  assert_int_equal(of("shr.s32 %d, %a, 99;", 0x80000000), 0xffffffff);
  assert_int_equal(of("shf.l.wrap.b32 %d, %a, 1, 33;", 0x80000000), 3);
  assert_int_equal(of("bfe.s32 %d, %a, 28, 8;", 0x80000000), 0xfffffff8);
  assert_int_equal(of("bfi.b32 %d, %a, 0, 4, 8;", 0xfff), 0xff0);
  assert_int_equal(of("bfind.s32 %d, %a;", 0xfffffff0), 3);
  assert_int_equal(of("bfind.u32 %d, %a;", 0), 0xffffffff);
  assert_int_equal(of("prmt.b32 %d, %a, 0x44332211, 0x9f04;", 0x80000000), 0x00000011);
  assert_int_equal(of("lop3.b32 %d, %a, 0xcccccccc, 0xaaaaaaaa, 0xca;", 0xf0f0f0f0), 0xcacacaca);
  assert_int_equal(of("fns.b32 %d, %a, 0, 3;", 0xaaaaaaaa), 5);
  assert_int_equal(of("dp4a.s32.s32 %d, %a, 0x01010101, 10;", 0xff02fe01), 10);
  assert_int_equal(of("add.cc.u32 %b, %a, 1;\naddc.u32 %d, 5, 0;", 0xffffffff), 6);
  assert_int_equal(of("sub.cc.u32 %b, 0, %a;\nsubc.u32 %d, 5, 0;", 1), 4);
  assert_int_equal(of("vabsdiff4.u32.u32.u32.add %d, %a, 0, 7;", 0x01020304), 17);
}

static void test_floats(void **state) {
  (void)state;
  assert_int_equal(of("add.rn.f32 %d, %a, 0f33800000;", 0x3f800000), 0x3f800000);
  assert_int_equal(of("add.rp.f32 %d, %a, 0f33800000;", 0x3f800000), 0x3f800001);
  assert_int_equal(of("mul.rn.ftz.f32 %d, %a, 0f3F000000;", 0x00800000), 0);
  assert_int_equal(of("mul.rn.f32 %d, %a, 0f3F000000;", 0x00800000), 0x00400000);
  assert_int_equal(of("add.rn.f32 %d, %a, %a;", 0x7f800001), 0x7fffffff);
  assert_int_equal(of("min.f32 %d, %a, 0f3F800000;", 0x7fc00000), 0x3f800000);
  assert_int_equal(of("max.NaN.f32 %d, %a, 0f3F800000;", 0x7fc00000), 0x7fffffff);
  assert_int_equal(of("min.f32 %d, %a, 0f00000000;", 0x80000000), 0x80000000);
  assert_int_equal(of("fma.rn.f16x2 %d, %a, %a, %a;", 0x3c004000), 0x40004600);
  assert_int_equal(of("fma.rn.relu.bf16x2 %d, %a, 0x3f803f80, 0;", 0xbf803f80), 0x00003f80);
  assert_int_equal(of("set.ltu.u32.f32 %d, %a, 0f3F800000;", 0x7fc00000), 0xffffffff);
  assert_int_equal(of("testp.subnormal.f32 %p, %a;\nselp.b32 %d, 1, 2, %p;", 1), 1);
}

static void test_conversions(void **state) {
  (void)state;
  assert_int_equal(of("cvt.rni.s32.f32 %d, %a;", 0x40200000), 2); /* 2.5 */
  assert_int_equal(of("cvt.rpi.s32.f32 %d, %a;", 0x40200000), 3);
  assert_int_equal(of("cvt.rzi.u32.f32 %d, %a;", 0xbf800000), 0);
  assert_int_equal(of("cvt.rzi.s32.f32 %d, %a;", 0x7f800000), 0x7fffffff);
  assert_int_equal(of("cvt.rn.f16.f32 %h, %a;\nmov.b32 %d, {%h, 0};", 0x477ff000), 0x7c00);
  assert_int_equal(of("cvt.rz.f16.f32 %h, %a;\nmov.b32 %d, {%h, 0};", 0x477ff000), 0x7bff);
  assert_int_equal(of("cvt.rn.f16.f32 %h, %a;\nmov.b32 %d, {%h, 0};", 0x33000001), 1);
  assert_int_equal(of("cvt.rn.bf16x2.f32 %d, %a, %a;", 0x3f808000), 0x3f803f80);
  assert_int_equal(of("cvt.rna.tf32.f32 %d, %a;", 0x3f801000), 0x3f802000);
  assert_int_equal(of("cvt.rn.satfinite.e4m3x2.f32 %h, %a, %a;\nmov.b32 %d, {%h, 0};", 0x43ff0000),
                   0x7e7e);
  assert_int_equal(of("cvt.rn.satfinite.e5m2x2.f32 %h, %a, %a;\nmov.b32 %d, {%h, 0};", 0x7f800000),
                   0x7b7b);
  assert_int_equal(of("cvt.s32.s8 %d, %a;", 0x1280), 0xffffff80);
  assert_int_equal(of("cvt.sat.u8.s32 %d, %a;", 0xffffffff), 0);
  assert_int_equal(of("cvt.pack.sat.s16.s32 %d, %a, 1;", 0x12345), 0x7fff0001);
}

/* Every conversion to binary32 is that of the processor, in all four roundings. */
static void test_encoding(void **state) {
  static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  uint64_t bits = 1;
  (void)state;
  for (unsigned i = 0; i < 20000; i++) {
    bits = bits * 6364136223846793005 + 1442695040888963407;
    uint64_t wide = i % 2 ? bits : (bits & 0x800fffffffffffff) | (uint64_t)(870 + i % 300) << 52;
    volatile double x;
    memcpy((void *)&x, &wide, 8);
    if (isnan(x))
      continue;
    ref_rounding rounding = i / 2 % 4;
    fesetround(modes[rounding]);
    volatile float y = (float)x;
    fesetround(FE_TONEAREST);
    uint32_t expected;
    memcpy(&expected, (const void *)&y, 4);
    assert_int_equal(ref_float_encode(BF_PTX_F32, ref_float_decode(BF_PTX_F64, wide), rounding),
                     expected);
  }
}

static void test_meetings(void **state) {
  uint32_t in[THREADS], out[THREADS];
  char message[REF_MESSAGE_BYTES];
  (void)state;
  for (unsigned i = 0; i < THREADS; i++)
    in[i] = i * i;
  assert_true(
      run("shl.b32 %b, %t, 2;\nmov.u32 %c, sh;\nadd.u32 %b, %b, %c;\nst.shared.u32 [%b], %a;\n"
          "bar.sync 0;\nsub.u32 %b, 63, %t;\nshl.b32 %b, %b, 2;\nadd.u32 %b, %b, %c;\n"
          "ld.shared.u32 %d, [%b];",
          in, out, message));
  assert_int_equal(out[10], 53 * 53);
  assert_true(run("shfl.sync.up.b32 %d|%p, %a, 3, 0, -1;", in, out, message));
  assert_int_equal(out[2], 4);
  assert_int_equal(out[40], 37 * 37);
  assert_true(run("setp.lt.u32 %p, %t, 20;\nvote.sync.ballot.b32 %d, %p, -1;", in, out, message));
  assert_int_equal(out[0], 0xfffff);
  assert_int_equal(out[32], 0);
  assert_true(run("and.b32 %b, %t, 1;\nsetp.eq.u32 %p, %b, 0;\n@%p bra even;\n"
                  "redux.sync.add.u32 %d, %t, 0xaaaaaaaa;\nbra done;\neven:\n"
                  "redux.sync.add.u32 %d, %t, 0x55555555;\ndone:",
                  in, out, message));
  assert_int_equal(out[0], 240);
  assert_int_equal(out[1], 256);
}

static void test_faults(void **state) {
  uint32_t in[THREADS] = {0}, out[THREADS];
  char message[REF_MESSAGE_BYTES];
  (void)state;
  assert_false(run("ld.global.b32 %d, [%in+4096];", in, out, message));
  assert_non_null(strstr(message, "where there is nothing"));
  assert_false(run("ld.global.b32 %d, [%in+1];", in, out, message));
  assert_non_null(strstr(message, "misaligned"));
  assert_false(
      run("setp.lt.u32 %p, %t, 20;\n@%p bra there;\nbar.sync 1, 64;\nthere:\nbar.sync 2, 64;", in,
          out, message));
  assert_non_null(strstr(message, "wait for each other"));
  assert_false(run("trap;", in, out, message));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_integers),    cmocka_unit_test(test_floats),
      cmocka_unit_test(test_conversions), cmocka_unit_test(test_encoding),
      cmocka_unit_test(test_meetings),    cmocka_unit_test(test_faults),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
