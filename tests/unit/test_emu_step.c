/* Stepping: a launch executed warp by warp, instruction by instruction, in any order computes what
 * bf_emu_run computes and executes as many instructions. */
#include "emu.h"

#include "emu/step.h"
#include "random.h"

#include <string.h>

static const char core[] = "tests/data/emu/core.ptx";

/* "mix": lanes of every block go apart, vote, exchange and count; odd warps leave before the second
 * barrier, by falling off the end. "meet": halves of a warp come to one exchange by different ways.
 * "beside": halves of warps 0 and 1 vote, while the others and warp 2 wait at a barrier and warp 3
 * ends. "stuck": warp 0 waits for a warp that has ended. */
static const char program[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry mix(.param .u64 out, .param .u32 number)\n{\n"
    "  .reg .b32 %r<20>;\n  .reg .b64 %d<5>;\n  .reg .pred %p<5>;\n"
    "  .shared .align 4 .b8 sum[4];\n"
    "  ld.param.u64 %d0, [out];\n"
    "  mov.u32 %r0, %tid.x;\n  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n"
    "  mad.lo.s32 %r3, %r1, %r2, %r0;\n"
    "  mul.wide.u32 %d1, %r3, 4;\n  add.s64 %d2, %d0, %d1;\n"
    "  and.b32 %r4, %r0, 3;\n"
    "  setp.eq.s32 %p0, %r4, 0;\n"
    "  mov.u32 %r10, 0;\n"
    "  @%p0 bra even;\n"
    "loop:\n"
    "  add.s32 %r10, %r10, %r0;\n"
    "  sub.s32 %r4, %r4, 1;\n"
    "  setp.gt.s32 %p1, %r4, 0;\n"
    "  @%p1 bra loop;\n"
    "  bra.uni both;\n"
    "even:\n"
    "  mul.lo.s32 %r10, %r0, 7;\n"
    "both:\n"
    "  vote.sync.ballot.b32 %r11, %p0, -1;\n"
    "  shfl.sync.bfly.b32 %r12, %r10, 5, 31, -1;\n"
    "  add.s32 %r12, %r12, %r11;\n"
    "  mov.u32 %r13, sum;\n"
    "  red.shared.add.u32 [%r13], %r12;\n"
    "  bar.sync 0;\n"
    "  ld.shared.u32 %r14, [%r13];\n"
    "  add.s32 %r14, %r14, %r12;\n"
    "  st.global.u32 [%d2], %r14;\n"
    "  red.global.add.u32 [%d0+4096], %r14;\n"
    "  shr.u32 %r15, %r0, 5;\n  and.b32 %r15, %r15, 1;\n"
    "  setp.eq.s32 %p2, %r15, 1;\n"
    "  @%p2 bra end;\n"
    "  bar.sync 0;\n"
    "  st.global.u32 [%d2], %r12;\n"
    "end:\n}\n"
    ".visible .entry meet(.param .u64 out, .param .u32 number)\n{\n"
    "  .reg .b32 %r<9>;\n  .reg .b64 %d<5>;\n  .reg .pred %p<2>;\n"
    "  ld.param.u64 %d0, [out];\n"
    "  mov.u32 %r0, %tid.x;\n"
    "  mul.wide.u32 %d1, %r0, 4;\n  add.s64 %d2, %d0, %d1;\n"
    "  setp.lt.u32 %p0, %r0, 40;\n"
    "  @%p0 bra few;\n"
    "  add.s32 %r1, %r0, 100;\n"
    "  bra.uni both;\n"
    "few:\n"
    "  add.s32 %r1, %r0, 200;\n"
    "  add.s32 %r1, %r1, 1;\n"
    "both:\n"
    "  shfl.sync.down.b32 %r2, %r1, 1, 31, -1;\n"
    "  st.global.u32 [%d2], %r2;\n"
    "  ret;\n}\n"
    ".visible .entry beside(.param .u64 out, .param .u32 number)\n{\n"
    "  .reg .b32 %r<9>;\n  .reg .b64 %d<5>;\n  .reg .pred %p<3>;\n"
    "  ld.param.u64 %d0, [out];\n"
    "  mov.u32 %r0, %tid.x;\n"
    "  mul.wide.u32 %d1, %r0, 4;\n  add.s64 %d2, %d0, %d1;\n"
    "  setp.ge.u32 %p0, %r0, 96;\n"
    "  @%p0 exit;\n"
    "  mov.u32 %r1, 7;\n"
    "  and.b32 %r2, %r0, 80;\n"
    "  setp.eq.u32 %p1, %r2, 0;\n"
    "  @%p1 bra low;\n"
    "  setp.lt.u32 %p1, %r0, 64;\n"
    "  bar.sync 0;\n"
    "  bra done;\n"
    "low:\n"
    "  vote.sync.ballot.b32 %r1, %p1, -1;\n"
    "done:\n"
    "  st.global.u32 [%d2], %r1;\n"
    "  ret;\n}\n"
    ".visible .entry stuck(.param .u64 out, .param .u32 number)\n{\n"
    "  .reg .b32 %r<9>;\n  .reg .pred %p<2>;\n"
    "  mov.u32 %r0, %tid.x;\n"
    "  setp.ge.u32 %p0, %r0, 32;\n"
    "  @%p0 exit;\n"
    "  bar.sync 3, 64;\n"
    "  ret;\n}\n";

typedef struct step_case {
  const char *kernel;
  unsigned grid, block, ints; /* ints: of the buffer */
  int32_t number;
  bool same_counts;    /* how often a lane polls depends on the order */
  bool has_more_steps; /* lanes that wait for others, or call through pointers, come again */
} step_case;

/* Peeks, twice: nothing may happen in between, but for what no lane can see. */
static bf_emu_turn peek_twice(bf_emu_warp *warp, bf_emu_next *next) {
  bf_emu_next again = {0};
  bf_emu_turn turn = bf_emu_warp_peek(warp, next);
  assert_int_equal(bf_emu_warp_peek(warp, &again), turn);
  if (turn == BF_EMU_TURN_READY) {
    assert_int_equal(again.instruction, next->instruction);
    assert_int_equal(again.active, next->active);
    assert_true(next->active != 0);
  }
  return turn;
}

/* Steps all blocks of a launch, which are all in flight, in random order; returns the steps. */
static uint64_t step_all(const bf_emu_launch *launch, bf_emu_stepper *stepper, uint64_t seed) {
  enum { BLOCKS = 16 };
  test_random random = {seed};
  bf_emu_block *block[BLOCKS] = {NULL};
  unsigned blocks = launch->grid[0], places = launch->workers, alive = 0;
  uint64_t steps = 0, idle = 0;
  uint32_t instructions = bf_emu_kernel_instructions(launch->kernel);
  assert_true(blocks <= BLOCKS);
  for (unsigned i = 0; i < blocks; i++) {
    block[i] = bf_emu_stepper_begin(stepper, i % places, i);
    assert_non_null(block[i]);
    assert_true(bf_emu_block_bytes(block[i]) > 0);
    alive += bf_emu_block_warps(block[i]);
  }
  bool ended[BLOCKS][32] = {{false}};
  while (alive && !bf_emu_stepper_stopped(stepper)) {
    unsigned b = (unsigned)random_below(&random, blocks);
    unsigned w = (unsigned)random_below(&random, bf_emu_block_warps(block[b]));
    bf_emu_next next;
    bf_emu_turn turn = peek_twice(bf_emu_block_warp(block[b], w), &next);
    if (turn == BF_EMU_TURN_READY) {
      assert_true(next.instruction < instructions);
      bf_emu_warp_step(bf_emu_block_warp(block[b], w));
      steps++;
      idle = 0;
    } else if (turn == BF_EMU_TURN_ENDED) {
      alive -= !ended[b][w];
      ended[b][w] = true;
    }
    if (++idle > 100000)
      break; /* nobody can go on */
  }
  for (unsigned i = 0; i < blocks; i++)
    bf_emu_stepper_end(stepper, i % places, block[i]);
  return steps;
}

static bf_emu_result step_launch(bed *at, const bf_emu_launch *launch, unsigned places,
                                 uint64_t seed, uint64_t *steps) {
  bf_emu_stepper *stepper;
  bf_emu_launch own = *launch;
  own.workers = places < own.grid[0] ? places : own.grid[0];
  bf_emu_result result;
  assert_int_equal(bf_emu_stepper_create(at->emu, &own, &stepper, NULL), BF_OK);
  *steps = step_all(&own, stepper, seed);
  assert_int_equal(bf_emu_stepper_result(stepper, &result, NULL), BF_OK);
  bf_emu_stepper_free(stepper);
  return result;
}

typedef struct step_parameters {
  uint64_t out;
  int32_t number;
  int32_t unused;
} step_parameters;

/* Runs a case and steps it in several orders. */
static void check_case(bed *at, const step_case *one) {
  size_t bytes = one->ints * sizeof(int32_t);
  step_parameters parameters = {bed_alloc(at, bytes, 0), one->number, 0};
  uint8_t *expected = malloc(bytes), *memory = (uint8_t *)(uintptr_t)parameters.out;
  assert_non_null(expected);
  bf_emu_launch launch =
      bed_launch(at, one->kernel, one->grid, one->block, &parameters, sizeof parameters);
  launch.workers = 1;
  bf_emu_result plain = bed_run_well(at, &launch);
  memcpy(expected, memory, bytes);
  for (uint64_t seed = 1; seed <= 6; seed++) {
    uint64_t steps;
    memset(memory, 0, bytes);
    bf_emu_result stepped = step_launch(at, &launch, (unsigned)seed % 3 + 1, seed, &steps);
    assert_int_equal(stepped.fault.kind, BF_EMU_NO_FAULT);
    if (memcmp(expected, memory, bytes) != 0)
      fail_msg("%s: other results with seed %d", one->kernel, (int)seed);
    if (!one->same_counts)
      continue;
    assert_int_equal(stepped.warp_instructions, plain.warp_instructions);
    assert_int_equal(stepped.thread_instructions, plain.thread_instructions);
    if (!one->has_more_steps && steps != plain.warp_instructions)
      fail_msg("%s: %d steps, %d instructions", one->kernel, (int)steps,
               (int)plain.warp_instructions);
  }
  free(expected);
}

static void orders_do_not_matter(void **state) {
  (void)state;
  static const step_case cases[] = {
      {"ways", 3, 48, 144, 0, true, false},
      {"either", 1, 32, 64, 0, true, false},
      {"recursion", 1, 70, 70, 0, true, false},
      {"pointers", 2, 40, 40, 0, true, true},
      {"named_barriers", 1, 128, 64, 0, true, false},
      {"counted", 1, 100, 100, 0, true, false},
      {"early_exit", 2, 96, 96, 0, true, false},
      {"local_array", 2, 40, 40, 25, true, false},
      {"diverged_shuffle", 1, 32, 32, 0, true, false},
      {"many_blocks", 16, 32, 2, 0, true, false},
      {"ping_pong", 1, 64, 1, 20, false, false},
  };
  bed at;
  bed_open(&at, core, NULL);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    check_case(&at, &cases[i]);
  bed_close(&at);
}

static void votes_exchanges_and_meetings(void **state) {
  (void)state;
  static const step_case cases[] = {{"mix", 4, 160, 1100, 0, true, false},
                                    {"mix", 2, 33, 1100, 0, true, true},
                                    {"meet", 1, 64, 64, 0, true, true},
                                    {"beside", 2, 128, 128, 0, true, true}};
  bed at;
  bed_open_text(&at, "step.ptx", program, strlen(program), NULL);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    check_case(&at, &cases[i]);
  bed_close(&at);
}

/* Locks inside a warp and flags between blocks: everybody gets on in the end. */
static void those_who_wait_get_on(void **state) {
  (void)state;
  bed at;
  bed_open(&at, core, NULL);
  uint64_t steps, lock[2] = {bed_alloc(&at, 4, 0), bed_alloc(&at, 4, 0)};
  bf_emu_launch launch = bed_launch(&at, "spin_lock", 2, 64, lock, sizeof lock);
  bf_emu_result result = step_launch(&at, &launch, 2, 7, &steps);
  assert_int_equal(result.fault.kind, BF_EMU_NO_FAULT);
  assert_int_equal(*(int32_t *)(uintptr_t)lock[1], 128);
  uint64_t chain[2] = {bed_alloc(&at, 64, 0), bed_alloc(&at, 64, 0)};
  launch = bed_launch(&at, "chain", 16, 32, chain, sizeof chain);
  result = step_launch(&at, &launch, 4, 8, &steps);
  assert_int_equal(result.fault.kind, BF_EMU_NO_FAULT);
  for (int i = 0; i < 16; i++)
    assert_int_equal(((int32_t *)(uintptr_t)chain[1])[i], i + 1);
  bed_close(&at);
}

/* Blocks given back serve those that begin later, at the same place. */
static void blocks_are_used_again(void **state) {
  (void)state;
  bed at;
  bed_open(&at, core, NULL);
  step_parameters parameters = {bed_alloc(&at, 4 * 480, 0), 0, 0};
  bf_emu_launch launch = bed_launch(&at, "ways", 10, 48, &parameters, sizeof parameters);
  launch.workers = 1;
  bf_emu_stepper *stepper;
  assert_int_equal(bf_emu_stepper_create(at.emu, &launch, &stepper, NULL), BF_OK);
  bf_emu_block *first = NULL;
  for (unsigned i = 0; i < 10; i++) {
    bf_emu_block *block = bf_emu_stepper_begin(stepper, 0, i);
    if (i == 0)
      first = block;
    assert_ptr_equal(block, first);
    bf_emu_next next;
    for (unsigned w = 0; w < bf_emu_block_warps(block); w++)
      while (bf_emu_warp_peek(bf_emu_block_warp(block, w), &next) == BF_EMU_TURN_READY)
        bf_emu_warp_step(bf_emu_block_warp(block, w));
    bf_emu_stepper_end(stepper, 0, block);
  }
  bf_emu_stepper_free(stepper);
  const int32_t *out = (const int32_t *)(uintptr_t)parameters.out;
  for (unsigned i = 48; i < 480; i++)
    assert_int_equal(out[i], out[i % 48]);
  assert_int_equal(out[1], (10 + 0) * 1000 + 32);
  bed_close(&at);
}

static void faults_stop_the_stepper(void **state) {
  (void)state;
  bed at;
  bed_open(&at, core, NULL);
  step_parameters parameters = {bed_alloc(&at, 256, 0), 40, 0};
  bf_emu_launch launch = bed_launch(&at, "out_of_bounds", 2, 64, &parameters, sizeof parameters);
  uint64_t steps;
  bf_emu_result result = step_launch(&at, &launch, 2, 3, &steps);
  assert_int_equal(result.fault.kind, BF_EMU_OUT_OF_BOUNDS);
  assert_int_equal(result.fault.thread[0], 24);
  assert_true(result.fault.line > 0);
  bf_emu_stepper *stepper;
  launch.block[1] = 64;
  bf_diagnostic diagnostic = {0};
  assert_int_equal(bf_emu_stepper_create(at.emu, &launch, &stepper, &diagnostic), BF_BAD_INPUT);
  assert_null(stepper);
  bed_close(&at);
}

/* A warp that waits for ever says for what. */
static void waiting_is_explained(void **state) {
  (void)state;
  bed at;
  bed_open_text(&at, "step.ptx", program, strlen(program), NULL);
  step_parameters parameters = {0};
  bf_emu_launch launch = bed_launch(&at, "stuck", 1, 64, &parameters, sizeof parameters);
  launch.workers = 1;
  bf_emu_stepper *stepper;
  assert_int_equal(bf_emu_stepper_create(at.emu, &launch, &stepper, NULL), BF_OK);
  bf_emu_block *block = bf_emu_stepper_begin(stepper, 0, 0);
  bf_emu_next next;
  for (unsigned w = 0; w < 2; w++) {
    bf_emu_warp *warp = bf_emu_block_warp(block, w);
    while (peek_twice(warp, &next) == BF_EMU_TURN_READY)
      bf_emu_warp_step(warp);
  }
  bf_emu_wait first = bf_emu_warp_wait(bf_emu_block_warp(block, 0));
  assert_int_equal(first.kind, BF_EMU_WAIT_BARRIER);
  assert_int_equal(first.barrier, 3);
  assert_true(first.line > 0);
  assert_int_equal(bf_emu_warp_wait(bf_emu_block_warp(block, 1)).kind, BF_EMU_WAIT_ENDED);
  bf_emu_stepper_end(stepper, 0, block);
  bf_emu_stepper_free(stepper);
  bed_close(&at);
}

/* Every number stands for one instruction, of the kernel or of a function that it calls. */
static void instructions_are_numbered(void **state) {
  (void)state;
  bed at;
  bed_open(&at, core, NULL);
  const bf_emu_kernel *kernel;
  assert_int_equal(bf_emu_kernel_get(at.module, "recursion", &kernel, NULL), BF_OK);
  uint32_t count = bf_emu_kernel_instructions(kernel);
  uint32_t registers = bf_emu_kernel_registers(kernel), functions = 1;
  const bf_ptx_function *last = bf_emu_kernel_instruction(kernel, 0).function;
  assert_string_equal(last->name, "recursion");
  for (uint32_t i = 0; i < count; i++) {
    bf_emu_instruction found = bf_emu_kernel_instruction(kernel, i);
    assert_non_null(found.instruction);
    assert_true(found.register_base + found.function->registers <= registers);
    if (found.function != last) {
      assert_int_equal(found.register_base, last->registers);
      functions++;
    }
    last = found.function;
  }
  assert_int_equal(functions, 2);
  bed_close(&at);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(orders_do_not_matter),      cmocka_unit_test(votes_exchanges_and_meetings),
      cmocka_unit_test(those_who_wait_get_on),     cmocka_unit_test(blocks_are_used_again),
      cmocka_unit_test(faults_stop_the_stepper),   cmocka_unit_test(waiting_is_explained),
      cmocka_unit_test(instructions_are_numbered),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
