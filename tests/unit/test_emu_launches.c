/* Launch descriptions, from the files to the last launch: who executes launches, and what the
 * callbacks are told. */
#include "emu/launches.h"

#include "emu.h"

#include <string.h>

static bf_ptx_module *ptx;

static int load_ptx(void **state) {
  (void)state;
  static const char path[] = "kernels/transpose/transpose.ptx";
  bf_text text = {0};
  int error = bf_read_file(path, 1 << 24, &text, NULL);
  if (!error)
    error = bf_ptx_parse(path, text.data, text.size, &ptx, NULL);
  bf_text_free(&text);
  return error;
}

static int free_ptx(void **state) {
  (void)state;
  bf_ptx_free(ptx);
  return 0;
}

enum { MOST = 4 };

/* What the callbacks have seen. */
typedef struct seen {
  unsigned executed, before, after;
  char hash[MOST][16]; /* "-": none */
  uint64_t warp_instructions;
} seen;

static int note_before(void *context, bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  seen *own = context;
  (void)diagnostic;
  assert_string_equal(bf_emu_kernel_name(launch->kernel), "transpose32");
  assert_int_equal(own->before++, own->after);
  return BF_OK;
}

static int note_after(void *context, const bf_emu_launch *launch, const bf_emu_result *result,
                      double seconds, bf_diagnostic *diagnostic) {
  seen *own = context;
  (void)launch, (void)diagnostic;
  assert_true(seconds >= 0);
  own->after++;
  own->warp_instructions += result->warp_instructions;
  return BF_OK;
}

/* Executes nothing: says that it took 7 instructions. */
static int pretend(void *context, bf_emu *emu, const bf_emu_launch *launch, const char *hash,
                   bf_emu_result *result, bf_diagnostic *diagnostic) {
  seen *own = context;
  assert_non_null(emu);
  assert_int_equal(launch->workers, 3);
  assert_true(launch->check_races && !launch->check_uninitialised);
  assert_true(own->executed < MOST);
  snprintf(own->hash[own->executed++], sizeof own->hash[0], "%s", hash ? hash : "-");
  *result = (bf_emu_result){.warp_instructions = 7};
  return own->executed < 3 ? BF_OK : bf_fail(diagnostic, BF_UNSUPPORTED, "enough");
}

/* The callback gets every launch with its hash; its errors get the place of the launch. */
static void a_callback_executes_launches(void **state) {
  (void)state;
  seen own = {0};
  bf_diagnostic diagnostic = {0};
  bf_launches launches = {.file = ptx->file,
                          .module = ptx,
                          .description = "tests/golden/hashes.launch",
                          .workers = 3,
                          .check_races = true,
                          .before = note_before,
                          .execute = pretend,
                          .after = note_after,
                          .context = &own};
  assert_int_equal(bf_launches_run(&launches, &diagnostic), BF_UNSUPPORTED);
  assert_string_equal(diagnostic.message, "enough");
  assert_string_equal(diagnostic.file, "tests/golden/hashes.launch");
  assert_int_equal(diagnostic.line, 5);
  assert_int_equal(own.executed, 3);
  assert_string_equal(own.hash[0], "fixed");
  assert_string_equal(own.hash[1], "-");
  assert_string_equal(own.hash[2], "none");
  assert_int_equal(own.before, 3);
  assert_int_equal(own.after, 2);
  assert_int_equal(own.warp_instructions, 14);
}

/* Without callbacks the emulator executes them, whatever hash they ask for. */
static void the_emulator_executes_launches(void **state) {
  (void)state;
  seen own = {0};
  bf_launches launches = {.file = ptx->file,
                          .module = ptx,
                          .description = "tests/golden/hashes.launch",
                          .workers = 1,
                          .after = note_after,
                          .context = &own};
  assert_int_equal(bf_launches_run(&launches, NULL), BF_OK);
  assert_int_equal(own.after, 3);
  assert_int_equal(own.warp_instructions % 3, 0);
  assert_true(own.warp_instructions > 3 * 64 * 8);
  launches.after = NULL;
  assert_int_equal(bf_launches_run(&launches, NULL), BF_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_callback_executes_launches),
      cmocka_unit_test(the_emulator_executes_launches),
  };
  return cmocka_run_group_tests(tests, load_ptx, free_ptx);
}
