/* What is said to remove conflicts of a tile, by who moves it: threads alone, tensor copies, bulk
 * copies, wgmma. */
#include "tune/remedy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A column of a tile of 32 rows of 32 floats: 32 wavefronts, 31 conflicts. */
static bf_access column(void) {
  bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .mask = UINT32_MAX, .count = 1};
  for (uint32_t lane = 0; lane < 32; lane++)
    access.address[lane] = 128 * lane;
  return access;
}

/* The remedy of a kernel that reads a column of a tile, of which the hardware moves what; where
 * beside is not 0, it does so twice, and so many times a column of the tile behind it. */
static bf_remedy remedy_beside(bf_operand_kind kind, bf_operand what, unsigned beside) {
  bf_machine *machine;
  bf_diagnostic diagnostic;
  bf_remedy remedy;
  bf_access access = column();
  bf_workload *workload;
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, &diagnostic), BF_OK);
  assert_int_equal(bf_workload_create(&workload), BF_OK);
  access.count = beside ? 2 : 1;
  uint64_t accesses = access.count + beside;
  assert_int_equal(bf_workload_add(workload, &access), BF_OK);
  for (uint32_t lane = 0; lane < 32; lane++)
    access.address[lane] += 4096;
  access.count = beside;
  if (beside)
    assert_int_equal(bf_workload_add(workload, &access), BF_OK);
  bf_costs_line line = {.line = 1};
  line.operand[kind] = (bf_operand_sum){.what = what, .times = what.bytes ? 1 : 0};
  uint64_t products = kind == BF_OPERAND_B ? 1 : 0;
  bf_costs_kernel kernel = {.name = "k",
                            .launches = 1,
                            .accesses = accesses + products,
                            .wavefronts = 32 * accesses,
                            .ideal = accesses,
                            .conflicts = 31 * accesses,
                            .line = &line,
                            .lines = 1,
                            .access = workload};
  assert_int_equal(
      bf_remedy_find(machine, "none", BF_LOCK_PLAIN, &kernel, 60, &remedy, &diagnostic), BF_OK);
  bf_workload_free(workload);
  bf_machine_free(machine);
  return remedy;
}

static bf_remedy remedy_with(bf_operand_kind kind, bf_operand what) {
  return remedy_beside(kind, what, 0);
}

static void tiles_of_threads_are_padded(void **state) {
  (void)state;
  bf_remedy remedy = remedy_with(BF_OPERAND_LOADED, (bf_operand){.bytes = 0});
  assert_true(remedy.exists);
  assert_string_equal(remedy.hash, "pad:32+1");
  /* So is one beside what is copied. */
  remedy = remedy_with(
      BF_OPERAND_LOADED,
      (bf_operand){
          .rows = 32, .columns = 32, .bytes = 4096, .type = "f32", .first = 4096, .end = 8192});
  assert_string_equal(remedy.hash, "pad:32+1");
  assert_non_null(strstr(remedy.code, "arrays that no copy moves"));
}

/* Two tiles, of which a copy moves the first: the fix is counted with the second alone, or with the
 * first alone, whichever leaves less. */
static void arrays_beside_are_fixed_alone(void **state) {
  (void)state;
  for (int is_bulk = 0; is_bulk < 2; is_bulk++)
    for (unsigned times = 1; times < 4; times += 2) {
      bf_operand box = {.rows = is_bulk ? 1 : 32, .bytes = 4096, .first = 0, .end = 4096};
      strcpy(box.type, is_bulk ? "" : "f32");
      bf_remedy remedy = remedy_beside(BF_OPERAND_LOADED, box, times);
      bool is_swizzle = !is_bulk && times == 1;
      assert_true(remedy.exists);
      assert_int_equal(remedy.before, 31 * (2 + times));
      assert_string_equal(remedy.hash, is_swizzle ? "tma:128" : "pad:32+1");
      assert_int_equal(remedy.after, is_swizzle ? 2 * 3 + 31 * times : 2 * 31);
      assert_int_equal(strstr(remedy.code, "arrays that no copy moves") == NULL, is_swizzle);
    }
}

/* A tensor copy cannot pad; its swizzle leaves four rows of a column in each bank. */
static void tiles_of_tensor_copies_are_swizzled(void **state) {
  (void)state;
  bf_operand box = {
      .rows = 32, .columns = 32, .bytes = 4096, .type = "f32", .first = 0, .end = 4096};
  for (int stores = 0; stores < 2; stores++) {
    bf_remedy remedy = remedy_with(stores ? BF_OPERAND_STORED : BF_OPERAND_LOADED, box);
    assert_true(remedy.exists);
    assert_string_equal(remedy.name, "swizzle");
    assert_string_equal(remedy.hash, "tma:128");
    assert_int_equal(remedy.after, 3);
    assert_non_null(strstr(remedy.code, "CU_TENSOR_MAP_SWIZZLE_128B"));
    assert_non_null(strstr(remedy.code, "address >> 3 & 0x70"));
  }
  box.swizzle_bytes = 128; /* the copies have one, and this is what is left */
  assert_false(remedy_with(BF_OPERAND_LOADED, box).exists);
  box.swizzle_bytes = 0;
  box.rows = 16; /* rows of 256 bytes, which no swizzle takes */
  assert_false(remedy_with(BF_OPERAND_LOADED, box).exists);
}

static void other_tiles_are_left(void **state) {
  (void)state;
  bf_operand bytes = {.rows = 1, .columns = 4096, .bytes = 4096, .first = 0, .end = 4096};
  bf_remedy remedy = remedy_with(BF_OPERAND_LOADED, bytes);
  assert_false(remedy.exists);
  assert_non_null(strstr(remedy.reason, "bulk copies"));
  bf_operand matrix = {
      .rows = 64, .columns = 32, .bytes = 4096, .type = "f16", .first = 0, .end = 4096};
  remedy = remedy_with(BF_OPERAND_B, matrix);
  assert_false(remedy.exists);
  assert_non_null(strstr(remedy.reason, "bankfold layout"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tiles_of_threads_are_padded),
      cmocka_unit_test(arrays_beside_are_fixed_alone),
      cmocka_unit_test(tiles_of_tensor_copies_are_swizzled),
      cmocka_unit_test(other_tiles_are_left),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
