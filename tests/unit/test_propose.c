/* Hashes that are proposed: workloads whose best hash is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tune/propose.h"

enum { LANES = 32, ROW_BYTES = 128 };

static bf_machine *load(const char *name) {
  bf_diagnostic diagnostic;
  bf_machine *machine;
  if (bf_machine_load(name, NULL, &machine, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  return machine;
}

static bf_workload *make(void) {
  bf_workload *workload;
  assert_int_equal(bf_workload_create(&workload), BF_OK);
  return workload;
}

/* Lane i accesses width bytes at first + i * stride bytes, count times. */
static void add(bf_workload *to, bf_op op, unsigned width, unsigned first, unsigned stride,
                uint64_t count) {
  bf_access access = {.op = op, .width_bytes = width, .mask = UINT32_MAX, .count = count};
  for (unsigned lane = 0; lane < LANES; lane++)
    access.address[lane] = first + lane * stride;
  assert_int_equal(bf_workload_add(to, &access), BF_OK);
}

/* Proposes and frees the workloads. */
static bf_proposal propose(bf_workload *written, bf_workload *merged, unsigned granule) {
  bf_machine *machine = load("hopper");
  bf_propose_options options = {
      .machine = machine, .written = written, .merged = merged, .granule_bytes = granule};
  bf_diagnostic diagnostic;
  bf_proposal proposal;
  if (bf_propose(&options, &proposal, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  bf_workload_free(written);
  bf_workload_free(merged);
  bf_machine_free(machine);
  return proposal;
}

/* The best candidate that keeps the merging, or does not. */
static const bf_candidate *find(const bf_proposal *proposal, bool keeps_merging) {
  for (unsigned i = 0; i < proposal->candidates; i++)
    if (proposal->candidate[i].keeps_merging == keeps_merging)
      return &proposal->candidate[i];
  fail_msg("no candidate");
  return NULL;
}

/* ---- Tests ---- */

/* A tile of 32x32 words is written by rows and read by columns. */
static void tile_loses_all_conflicts(void **state) {
  (void)state;
  bf_workload *tile = make();
  for (unsigned i = 0; i < LANES; i++) {
    add(tile, BF_OP_ST, 4, i * ROW_BYTES, 4, 2);
    add(tile, BF_OP_LD, 4, i * 4, ROW_BYTES, 2);
  }
  bf_proposal proposal = propose(tile, NULL, 4);
  assert_int_equal(proposal.candidates, 1);
  const bf_candidate *best = &proposal.candidate[0];
  assert_true(bf_hash_is_row_preserving(best->hash));
  assert_int_equal(best->predicted.before.wavefronts, 64 + 64 * 32);
  assert_int_equal(best->predicted.after.wavefronts, 128);
  unsigned instructions = bf_hash_get_cost(best->hash).instructions;
  assert_int_equal(best->predicted.after.instructions, 128 * instructions);
  assert_true(bf_judge_gain(&best->predicted) == 64 * 31 - 0.25 * 128 * instructions);
  assert_string_equal(proposal.reason, "");
  bf_proposal_clear(&proposal);
}

static void no_conflicts_no_hash(void **state) {
  (void)state;
  bf_workload *rows = make();
  add(rows, BF_OP_LD, 4, 0, 4, 100);
  bf_proposal proposal = propose(rows, NULL, 4);
  assert_int_equal(proposal.candidates, 0);
  assert_int_equal(proposal.wavefronts_before, 100);
  assert_string_equal(proposal.reason, "there are no conflicts to remove");
  proposal = propose(make(), NULL, 4);
  assert_string_equal(proposal.reason, "no access to shared memory was seen");
}

/* Few conflicts among many accesses: the instructions of the hash would cost more. */
static void small_gain_is_left(void **state) {
  (void)state;
  bf_workload *mixed = make();
  add(mixed, BF_OP_LD, 4, 0, 4, 1000);
  add(mixed, BF_OP_LD, 4, 0, 8, 10);
  bf_proposal proposal = propose(mixed, NULL, 4);
  assert_true(proposal.candidates > 0);
  assert_true(bf_judge_gain(&proposal.candidate[0].predicted) < 0);
  assert_int_equal(proposal.conflicts_before, 10);
  assert_string_equal(proposal.reason,
                      "the best hash saves 10 of 1020 wavefronts, less than it costs");
  bf_proposal_clear(&proposal);
}

/* Two warps sum rows of 32 floats, a row a thread: 32 scalar loads each, of which ptxas makes 8 of
 * 16 bytes. */
static void add_row_sums(bf_workload *written, bf_workload *merged) {
  for (unsigned warp = 0; warp < 2; warp++)
    for (unsigned byte = 0; byte < ROW_BYTES; byte += 4) {
      add(written, BF_OP_LD, 4, warp * LANES * ROW_BYTES + byte, ROW_BYTES, 1);
      if (byte % 16 == 0)
        add(merged, BF_OP_LD, 16, warp * LANES * ROW_BYTES + byte, ROW_BYTES, 1);
    }
}

/* Either granule leaves 64 of 512 wavefronts; the one that keeps the merging hashes a quarter of
 * the addresses. */
static void merging_is_kept(void **state) {
  (void)state;
  bf_workload *written = make(), *merged = make();
  add_row_sums(written, merged);
  bf_proposal proposal = propose(written, merged, 4);
  assert_int_equal(proposal.wavefronts_before, 512);
  assert_true(proposal.candidate[0].keeps_merging);
  assert_int_equal(proposal.candidate[0].granule_bytes, 16);
  assert_int_equal(proposal.candidate[0].predicted.after.wavefronts, 64);
  assert_int_equal(bf_hash_granule_words(proposal.candidate[0].hash), 4);
  assert_int_equal(find(&proposal, false)->granule_bytes, 4);
  assert_int_equal(find(&proposal, false)->predicted.after.wavefronts, 64);
  bf_proposal_clear(&proposal);
}

/* With columns of the same tile beside them, a granule of 16 bytes leaves conflicts 4 ways. */
static void merging_is_broken_for_columns(void **state) {
  (void)state;
  bf_workload *written = make(), *merged = make();
  add_row_sums(written, merged);
  for (unsigned i = 0; i < LANES; i++) {
    add(written, BF_OP_LD, 4, 4 * i, ROW_BYTES, 10);
    add(merged, BF_OP_LD, 4, 4 * i, ROW_BYTES, 10);
  }
  bf_proposal proposal = propose(written, merged, 4);
  assert_false(proposal.candidate[0].keeps_merging);
  assert_int_equal(proposal.candidate[0].predicted.after.wavefronts, 64 + 320);
  assert_int_equal(find(&proposal, true)->predicted.after.wavefronts, 64 + 4 * 320);
  bf_proposal_clear(&proposal);
}

/* For an FFT, no hash of one term removes the last 128 conflicts, and no other is worth its
 * instructions: 10 per access for the exact one, 4 for two terms. */
static void few_instructions_win(void **state) {
  (void)state;
  bf_machine *machine = load("hopper");
  bf_workload *fft;
  bf_diagnostic diagnostic;
  if (bf_workload_read("examples/fft512.trace", machine, &fft, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  bf_proposal proposal = propose(fft, NULL, 4);
  for (unsigned i = 1; i < proposal.candidates; i++)
    assert_true(bf_judge_gain(&proposal.candidate[i].predicted) <=
                bf_judge_gain(&proposal.candidate[i - 1].predicted));
  assert_true(bf_hash_is_row_preserving(proposal.candidate[0].hash));
  assert_int_equal(proposal.candidate[0].predicted.after.wavefronts,
                   proposal.wavefronts_before - proposal.conflicts_before + 128);
  assert_int_equal(bf_hash_get_cost(proposal.candidate[0].hash).instructions, 2);
  bf_proposal_clear(&proposal);
  bf_machine_free(machine);
}

/* The widest access of the PTX stays whole even where no launch made it. */
static void granule_of_the_kernel_holds(void **state) {
  (void)state;
  bf_workload *columns = make();
  add(columns, BF_OP_LD, 4, 0, ROW_BYTES, 1000);
  bf_proposal proposal = propose(columns, NULL, 16);
  assert_int_equal(proposal.candidates, 1);
  assert_int_equal(bf_hash_granule_words(proposal.candidate[0].hash), 4);
  assert_int_equal(proposal.candidate[0].predicted.after.wavefronts, 4000);
  bf_proposal_clear(&proposal);
}

/* A hash must hold wherever shared memory starts: behind the reserved kilobyte too. */
static void hash_holds_at_both_places(void **state) {
  (void)state;
  bf_workload *strides = make();
  for (unsigned i = 0; i < 8; i++)
    add(strides, BF_OP_LD, 4, 4 * i + 640, 3 * ROW_BYTES, 50);
  bf_proposal proposal = propose(strides, NULL, 4);
  assert_int_equal(proposal.candidates, 1);
  bf_machine *machine = load("hopper");
  uint64_t worst = 0;
  for (unsigned base = 0; base <= 1024; base += 1024) {
    uint64_t wavefronts = 0;
    for (unsigned i = 0; i < 8; i++) {
      bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .mask = UINT32_MAX, .count = 1};
      bf_count count;
      for (unsigned lane = 0; lane < LANES; lane++)
        access.address[lane] = base + 4 * i + 640 + lane * 3 * ROW_BYTES;
      assert_int_equal(bf_memory_count(machine, proposal.candidate[0].hash, &access, &count, NULL),
                       BF_OK);
      wavefronts += 50 * count.wavefronts_load;
    }
    worst = wavefronts > worst ? wavefronts : worst;
  }
  assert_int_equal(proposal.candidate[0].predicted.after.wavefronts, worst);
  assert_int_equal(worst, 400);
  bf_machine_free(machine);
  bf_proposal_clear(&proposal);
}

/* A tile at the end of all memory that a block can have cannot lie a kilobyte further. */
static void full_memory_is_not_moved(void **state) {
  enum { MEMORY_BYTES = 227 * 1024, TILE_BYTES = 32 * ROW_BYTES };
  (void)state;
  bf_workload *tile = make();
  for (unsigned i = 0; i < LANES; i++) {
    add(tile, BF_OP_ST, 4, MEMORY_BYTES - TILE_BYTES + i * ROW_BYTES, 4, 2);
    add(tile, BF_OP_LD, 4, MEMORY_BYTES - TILE_BYTES + i * 4, ROW_BYTES, 2);
  }
  bf_proposal proposal = propose(tile, NULL, 4);
  assert_int_equal(proposal.candidates, 1);
  assert_int_equal(proposal.candidate[0].predicted.after.wavefronts, 128);
  bf_proposal_clear(&proposal);
}

/* What is proposed for an array depends on its own accesses alone. */
static void arrays_are_looked_at_alone(void **state) {
  (void)state;
  bf_machine *machine;
  bf_workload *workload;
  bf_proposal proposal;
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  assert_int_equal(bf_workload_create(&workload), BF_OK);
  for (unsigned column = 0; column < 32; column++) {
    bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .mask = UINT32_MAX, .count = 1};
    for (unsigned lane = 0; lane < 32; lane++)
      access.address[lane] = 4 * column + 128 * lane;
    access.site = "columns";
    assert_int_equal(bf_workload_add(workload, &access), BF_OK);
    for (unsigned lane = 0; lane < 32; lane++)
      access.address[lane] = 4096 + 128 * column + 4 * lane;
    access.site = "rows";
    assert_int_equal(bf_workload_add(workload, &access), BF_OK);
  }
  bf_propose_options options = {.machine = machine, .written = workload};
  assert_int_equal(bf_propose_array(&options, "columns", &proposal, NULL), BF_OK);
  assert_int_equal(proposal.wavefronts_before, 1024);
  assert_int_equal(proposal.candidate[0].predicted.after.wavefronts, 32);
  bf_proposal_clear(&proposal);
  assert_int_equal(bf_propose_array(&options, "rows", &proposal, NULL), BF_OK);
  assert_int_equal(proposal.candidates, 0);
  assert_int_equal(proposal.wavefronts_before, 32);
  bf_proposal_clear(&proposal);
  bf_workload_free(workload);
  bf_machine_free(machine);
}

static void other_banks_are_refused(void **state) {
  (void)state;
  bf_machine *machine = load("tesla");
  bf_workload *empty = make();
  bf_propose_options options = {.machine = machine, .written = empty};
  bf_diagnostic diagnostic;
  bf_proposal proposal;
  assert_int_equal(bf_propose(&options, &proposal, &diagnostic), BF_UNSUPPORTED);
  assert_string_equal(diagnostic.message,
                      "kernels are rewritten for 32 banks of 4 bytes; machine 'tesla' has 16 of 4");
  bf_workload_free(empty);
  bf_machine_free(machine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tile_loses_all_conflicts),
      cmocka_unit_test(no_conflicts_no_hash),
      cmocka_unit_test(small_gain_is_left),
      cmocka_unit_test(merging_is_kept),
      cmocka_unit_test(merging_is_broken_for_columns),
      cmocka_unit_test(granule_of_the_kernel_holds),
      cmocka_unit_test(few_instructions_win),
      cmocka_unit_test(hash_holds_at_both_places),
      cmocka_unit_test(full_memory_is_not_moved),
      cmocka_unit_test(other_banks_are_refused),
      cmocka_unit_test(arrays_are_looked_at_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
