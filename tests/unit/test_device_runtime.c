/* Kernels that launch kernels (src/emu/child.h): what is handed over, and what the kernel is told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "emu/child.h"

/* Launches child<<<{2,3,4}, 32, 16, stream 4>>>(7); leaves the errors of the launch, of a launch
 * from no buffer, and the last error of the device in out. */
static const char text[] =
    ".version 8.5\n.target sm_90\n.address_size 64\n"
    ".extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 f,\n"
    "  .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);\n"
    ".extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 s);\n"
    ".extern .func (.param .b32 r) __cudaCDP2GetLastError();\n"
    ".visible .entry child(.param .u32 x)\n{\nret;\n}\n"
    ".visible .entry k(.param .u64 out)\n{\n"
    ".reg .b64 %rd<4>;\n.reg .b32 %r<4>;\n"
    "ld.param.u64 %rd0, [out];\nmov.u64 %rd1, child;\n"
    "{\n.param .b64 f;\n.param .align 4 .b8 g[12];\n.param .align 4 .b8 b[12];\n.param .b32 s;\n"
    ".param .b64 r;\n"
    "st.param.b64 [f], %rd1;\n"
    "st.param.b32 [g], 2;\nst.param.b32 [g+4], 3;\nst.param.b32 [g+8], 4;\n"
    "st.param.b32 [b], 32;\nst.param.b32 [b+4], 1;\nst.param.b32 [b+8], 1;\n"
    "st.param.b32 [s], 16;\n"
    "call (r), __cudaCDP2GetParameterBufferV2, (f, g, b, s);\nld.param.b64 %rd2, [r];\n}\n"
    "mov.u32 %r0, 7;\nst.u32 [%rd2], %r0;\n"
    "{\n.param .b64 p;\n.param .b64 s;\n.param .b32 r;\nst.param.b64 [p], %rd2;\n"
    "st.param.b64 [s], 4;\ncall (r), __cudaCDP2LaunchDeviceV2, (p, s);\n"
    "ld.param.b32 %r1, [r];\n}\n"
    "{\n.param .b64 p;\n.param .b64 s;\n.param .b32 r;\nst.param.b64 [p], %rd0;\n"
    "st.param.b64 [s], 4;\ncall (r), __cudaCDP2LaunchDeviceV2, (p, s);\n"
    "ld.param.b32 %r2, [r];\n}\n"
    "{\n.param .b32 r;\ncall (r), __cudaCDP2GetLastError, ();\nld.param.b32 %r3, [r];\n}\n"
    "st.global.u32 [%rd0], %r1;\nst.global.u32 [%rd0+4], %r2;\nst.global.u32 [%rd0+8], %r3;\n"
    "ret;\n}\n";

/* What was handed over. */
typedef struct taken {
  unsigned count;
  char name[16];
  bf_emu_child child;
  uint32_t parameter;
} taken;

static int take(void *context, const bf_emu_child *child) {
  taken *all = context;
  all->count++;
  all->child = *child;
  snprintf(all->name, sizeof all->name, "%s", child->function->name);
  memcpy(&all->parameter, child->parameters, sizeof all->parameter);
  return 0;
}

static const char *error_text(int error, bool is_name) {
  (void)error;
  return is_name ? "name" : "text";
}

static int answer(void *context, bf_emu_question question, const bf_ptx_function *function,
                  const uint64_t given[2], uint64_t *value) {
  (void)context, (void)function;
  *value = question + given[0];
  return 0;
}

/* Runs the kernel with a parent, or NULL, and copies what it leaves. */
static void run(const bf_emu_parent *parent, uint32_t out[3]) {
  bf_ptx_module *ptx;
  bf_emu *emu;
  bf_emu_module *loaded;
  bf_emu_result result;
  bf_emu_launch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .workers = 1};
  bf_diagnostic diagnostic = {0};
  uint64_t address;
  assert_int_equal(bf_ptx_parse("test", text, strlen(text), &ptx, &diagnostic), BF_OK);
  assert_int_equal(bf_emu_create(&emu, &diagnostic), BF_OK);
  assert_null(bf_emu_set_parent(emu, parent));
  assert_int_equal(bf_emu_load(emu, ptx, &loaded, &diagnostic), BF_OK);
  if (bf_emu_kernel_get(loaded, "k", &launch.kernel, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  assert_int_equal(bf_emu_alloc(emu, 12, 0, &address, &diagnostic), BF_OK);
  uint64_t before = bf_emu_used_bytes(emu);
  launch.parameters = &address;
  launch.parameter_bytes = sizeof address;
  assert_int_equal(bf_emu_run(emu, &launch, &result, &diagnostic), BF_OK);
  assert_int_equal(result.fault.kind, BF_EMU_NO_FAULT);
  assert_int_equal(bf_emu_used_bytes(emu), before); /* buffers are given back */
  memcpy(out, (void *)(uintptr_t)address, 12);
  bf_emu_free(emu);
  bf_ptx_free(ptx);
}

static void test_handed_over(void **state) {
  (void)state;
  taken all = {0};
  bf_emu_parent parent = {take, error_text, answer, &all};
  uint32_t out[3];
  run(&parent, out);
  assert_int_equal(all.count, 1);
  assert_string_equal(all.name, "child");
  assert_int_equal(all.child.kind, BF_EMU_CHILD_KERNEL);
  assert_int_equal(all.child.grid[0] * 100 + all.child.grid[1] * 10 + all.child.grid[2], 234);
  assert_int_equal(all.child.block[0], 32);
  assert_int_equal(all.child.dynamic_shared_bytes, 16);
  assert_int_equal(all.child.stream, 4);
  assert_int_equal(all.child.parameter_bytes, 4);
  assert_int_equal(all.parameter, 7);
  assert_int_equal(out[0], 0);
  assert_int_equal(out[1], 1); /* cudaErrorInvalidValue: no buffer */
  assert_int_equal(out[2], 1);
}

/* Without a parent the kernel is told that launches are not supported. */
static void test_without_parent(void **state) {
  (void)state;
  uint32_t out[3];
  run(NULL, out);
  assert_int_equal(out[0], 801);
}

static void test_names(void **state) {
  (void)state;
  assert_true(bf_emu_provides("cudaLaunchDeviceV2_ptsz"));
  assert_true(bf_emu_provides("__cudaCDP2StreamDestroy"));
  assert_false(bf_emu_provides("cudaDeviceSynchronize"));
  assert_false(bf_emu_provides("LaunchDevice"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_handed_over),
      cmocka_unit_test(test_without_parent),
      cmocka_unit_test(test_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
