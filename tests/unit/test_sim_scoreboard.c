/* Multiprocessors with a scoreboard: the cycle of every instruction of small kernels, on a GPU
 * whose parameters are given. */
#include "sim_bed.h"

/* ---- One warp ---- */

/* Cycles at which a warp's instructions issue, with ret, as text. */
static void issue_cycles(const sim_bed *own, uint64_t block, unsigned warp, bf_text *text) {
  for (unsigned i = 0; i < own->events; i++)
    if (own->event[i].warp == warp && own->event[i].block == block)
      bf_text_addf(text, "%s%llu", text->size ? " " : "", (unsigned long long)own->event[i].issued);
}

typedef struct row {
  const char *changes, *lines, *cycles;
} row;

static void check_rows(const row *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    sim_bed own;
    sim_bed_make(&own, rows[i].lines, rows[i].changes);
    sim_bed_run(&own, "made", 1, 32);
    bf_text text = {0};
    issue_cycles(&own, 0, 0, &text);
    if (!text.data || strcmp(text.data, rows[i].cycles) != 0)
      fail_msg("%s\n%s\nissues at %s, not %s", rows[i].changes, rows[i].lines, text.data,
               rows[i].cycles);
    bf_text_free(&text);
    sim_bed_close(&own);
  }
}

#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof *(rows))

#define ADDS_IN_A_CHAIN                                                                            \
  "add.s32 %r1, %r0, 1;\nadd.s32 %r2, %r1, 1;\nadd.s32 %r3, %r2, 1;\nadd.s32 %r4, %r3, 1;\nret;"
#define ADDS_IN_A_ROW                                                                              \
  "add.s32 %r1, %r0, 1;\nadd.s32 %r2, %r0, 1;\nadd.s32 %r3, %r0, 1;\nadd.s32 %r4, %r0, 1;\nret;"

/* A chain takes the latency for each link; in a row a unit takes 32 / lanes cycles for each. */
static void latency_and_throughput(void **state) {
  (void)state;
  static const row rows[] = {
      {"int_cycles=6", ADDS_IN_A_CHAIN, "0 6 12 18 19"},
      {"int_cycles=1", ADDS_IN_A_CHAIN, "0 1 2 3 4"},
      {"int_cycles=1000", ADDS_IN_A_CHAIN, "0 1000 2000 3000 3001"},
      {"int_cycles=6 int_lanes=32", ADDS_IN_A_ROW, "0 1 2 3 4"},
      {"int_cycles=6 int_lanes=16", ADDS_IN_A_ROW, "0 2 4 6 7"},
      {"int_cycles=6 int_lanes=64", ADDS_IN_A_ROW, "0 1 2 3 4"},
      {"int_cycles=40 int_lanes=1", ADDS_IN_A_ROW, "0 32 64 96 97"},
      /* 24 lanes: every 4/3 cycles, in whole cycles. */
      {"int_lanes=24", ADDS_IN_A_ROW, "0 2 4 6 7"},
      {"issue_cycles=2 int_cycles=6 int_lanes=32", ADDS_IN_A_ROW, "0 2 4 6 8"},
      {"issue_cycles=3 int_cycles=2", ADDS_IN_A_CHAIN, "0 3 6 9 12"},
      {"launch_cycles=5000", ADDS_IN_A_ROW, "5000 5001 5002 5003 5004"},
      /* Several sets of units that all schedulers share. */
      {"int_lanes=8 units_per_sm=1", ADDS_IN_A_ROW, "0 4 8 12 13"},
      {"int_lanes=8 units_per_sm=3", ADDS_IN_A_ROW, "0 1 2 4 5"},
  };
  CHECK_ROWS(rows);
}

static void units(void **state) {
  (void)state;
  static const row rows[] = {
      {"float_cycles=9", "add.f32 %f1, %f0, %f0;\nadd.f32 %f2, %f1, %f0;\nret;", "0 9 10"},
      {"float_lanes=8", "add.f32 %f1, %f0, %f0;\nmul.f32 %f2, %f0, %f0;\nret;", "0 4 5"},
      {"double_cycles=11 double_lanes=16",
       "fma.rn.f64 %e1, %e0, %e0, %e0;\nadd.f64 %e2, %e1, %e0;\nadd.f64 %e3, %e0, %e0;\nret;",
       "0 11 13 14"},
      {"special_cycles=21 special_lanes=4",
       "sin.approx.f32 %f1, %f0;\nrcp.approx.f32 %f2, %f0;\nadd.f32 %f3, %f1, %f0;\nret;",
       "0 8 21 22"},
      {"convert_cycles=10 convert_lanes=16",
       "cvt.rn.f32.s32 %f1, %r0;\ncvt.rn.f32.s32 %f2, %r0;\nadd.f32 %f3, %f1, %f0;\nret;",
       "0 2 10 11"},
      {"mul_cycles=7 mul_lanes=16",
       "mul.lo.s32 %r1, %r0, 3;\nmul.lo.s32 %r2, %r0, 3;\nadd.s32 %r3, %r1, 1;\nret;", "0 2 7 8"},
      /* 64-bit products are three instructions, exact divisions division_instructions of them. */
      {"mul_cycles=6", "mul.lo.s64 %d1, %d2, 3;\nadd.s64 %d3, %d2, 1;\nadd.s64 %d4, %d1, 1;\nret;",
       "0 3 8 9"},
      {"division_instructions=8 int_cycles=6",
       "div.u32 %r1, %r0, 3;\nadd.s32 %r2, %r0, 1;\nadd.s32 %r3, %r1, 1;\nret;", "0 8 13 14"},
      {"division_instructions=5 int_cycles=6 issue_cycles=2",
       "rem.u32 %r1, %r0, 3;\nadd.s32 %r2, %r0, 1;\nadd.s32 %r3, %r1, 1;\nret;", "0 10 14 16"},
      {"division_instructions=10 float_cycles=4",
       "div.rn.f32 %f1, %f0, %f0;\nadd.f32 %f2, %f1, %f0;\nret;", "0 13 14"},
      {"special_cycles=20 special_lanes=32",
       "div.approx.f32 %f1, %f0, %f0;\nadd.f32 %f2, %f1, %f0;\nret;", "0 21 22"},
      /* Units work side by side. */
      {"int_lanes=8 float_lanes=8",
       "add.s32 %r1, %r0, 1;\nadd.f32 %f1, %f0, %f0;\nadd.s32 %r2, %r0, 1;\nret;", "0 1 4 5"},
      /* Moves are operands of others, or instructions. */
      {"moves=free", "mov.u32 %r1, %tid.x;\nadd.s32 %r2, %r1, 1;\nmov.u32 %r3, %r2;\nret;", "0 1"},
      {"moves=free int_cycles=6",
       "add.s32 %r2, %r1, 1;\nmov.u32 %r3, %r2;\nadd.s32 %r4, %r3, 1;\nret;", "0 6 7"},
      {"moves=issue int_cycles=6", "mov.u32 %r1, %tid.x;\nadd.s32 %r2, %r1, 1;\nret;", "0 1 7 8"},
  };
  CHECK_ROWS(rows);
}

static void dual_dispatch(void **state) {
  (void)state;
  static const row rows[] = {
      {"dispatch=2", "add.s32 %r1, %r0, 1;\nadd.f32 %f1, %f0, %f0;\nret;", "0 0 1"},
      {"dispatch=2 issue_cycles=2",
       "add.s32 %r1, %r0, 1;\nadd.f32 %f1, %f0, %f0;\nadd.s32 %r2, %r0, 1;\n"
       "add.f32 %f2, %f0, %f0;\nret;",
       "0 0 2 2 4"},
      /* Not the same unit, nor an instruction that needs the first, nor behind a branch. */
      {"dispatch=2", ADDS_IN_A_ROW, "0 1 2 3 4"},
      {"dispatch=2 int_cycles=6", "add.s32 %r1, %r0, 1;\nmul.lo.s32 %r2, %r1, 3;\nret;", "0 6 7"},
      {"dispatch=2 branch_cycles=4", "bra.uni on;\non: add.s32 %r1, %r0, 1;\nret;", "0 4 5"},
      /* Not where the first becomes several. */
      {"dispatch=2 division_instructions=4", "div.u32 %r1, %r0, 3;\nadd.f32 %f1, %f0, %f0;\nret;",
       "0 4 5"},
  };
  CHECK_ROWS(rows);
}

static void branches_and_barriers(void **state) {
  (void)state;
  static const row rows[] = {
      {"branch_cycles=8", "bra.uni on;\non: add.s32 %r1, %r0, 1;\nret;", "0 8 9"},
      {"branch_cycles=0", "bra.uni on;\non: add.s32 %r1, %r0, 1;\nret;", "0 1 2"},
      {"branch_cycles=8 int_cycles=6",
       "mov.u32 %r1, 3;\nagain: sub.s32 %r1, %r1, 1;\nsetp.ne.s32 %p1, %r1, 0;\n"
       "@%p1 bra again;\nret;",
       "0 6 12 20 26 32 40 46 52 60"},
      {"barrier_cycles=20", "bar.sync 0;\nadd.s32 %r1, %r0, 1;\nret;", "0 20 21"},
      {"barrier_cycles=20 barrier_warp_cycles=2.5", "bar.sync 0;\nadd.s32 %r1, %r0, 1;\nret;",
       "0 22 23"},
      /* bar.red is one instruction. */
      {"barrier_cycles=20",
       "setp.eq.s32 %p1, %r0, 0;\nbar.red.popc.u32 %r1, 0, %p1;\nadd.s32 %r2, %r1, 1;\nret;",
       "0 6 26 27"},
  };
  CHECK_ROWS(rows);
}

/* ---- Shared memory ---- */

/* Lane l accesses word l * 32: all in one bank. (A kernel has the shared memory that it names.) */
#define COLUMN "mov.u32 %r9, words;\nmov.u32 %r0, %tid.x;\nshl.b32 %r1, %r0, 7;\n"

static void shared_loads(void **state) {
  (void)state;
  static const row rows[] = {
      {"shared_cycles=24", "ld.shared.u32 %r1, [words];\nadd.s32 %r2, %r1, 1;\nret;", "0 24 25"},
      {"shared_cycles=24 int_cycles=6",
       COLUMN "ld.shared.u32 %r2, [%r1];\nadd.s32 %r3, %r2, 1;\nret;", "0 6 61 62"},
      /* 6 + 24 + 31 * 2. */
      {"shared_cycles=24 shared_wavefront_cycles=2",
       COLUMN "ld.shared.u32 %r2, [%r1];\nadd.s32 %r3, %r2, 1;\nret;", "0 6 92 93"},
      {"shared_cycles=24 shared_return_cycles=3",
       COLUMN "ld.shared.u32 %r2, [%r1];\nadd.s32 %r3, %r2, 1;\nret;", "0 6 123 124"},
      {"shared_ports=2", COLUMN "ld.shared.u32 %r2, [%r1];\nadd.s32 %r3, %r2, 1;\nret;",
       "0 6 45 46"},
      {"shared_ports=4", COLUMN "ld.shared.u32 %r2, [%r1];\nadd.s32 %r3, %r2, 1;\nret;",
       "0 6 37 38"},
      /* The next access goes when the scheduler's way is free: after 32 wavefronts. */
      {"shared_issue_cycles=1",
       COLUMN "ld.shared.u32 %r2, [%r1];\nld.shared.u32 %r3, [words];\nadd.s32 %r4, %r3, 1;\nret;",
       "0 6 38 62 63"},
      {"shared_issue_cycles=4",
       "ld.shared.u32 %r1, [words];\nld.shared.u32 %r2, [words];\nld.shared.u32 %r3, [words];\n"
       "ret;",
       "0 4 8 9"},
      /* A row of loads, and what is not bound to memory goes on meanwhile. */
      {"shared_issue_cycles=1",
       COLUMN "ld.shared.u32 %r2, [%r1];\nadd.s32 %r3, %r0, 1;\nadd.s32 %r4, %r0, 1;\nret;",
       "0 6 7 8 9"},
      /* Stores: the way is taken for all wavefronts, or for no longer than the buffer's cycles. */
      {"shared_store_cycles=0",
       COLUMN "st.shared.u32 [%r1], %r0;\nst.shared.u32 [words], %r0;\nret;", "0 6 38 39"},
      {"shared_store_cycles=2",
       COLUMN "st.shared.u32 [%r1], %r0;\nst.shared.u32 [words], %r0;\nret;", "0 6 70 71"},
      {"shared_store_most_cycles=11.5",
       COLUMN "st.shared.u32 [%r1], %r0;\nst.shared.u32 [words], %r0;\nret;", "0 6 18 19"},
      {"shared_store_most_cycles=40",
       COLUMN "st.shared.u32 [%r1], %r0;\nst.shared.u32 [words], %r0;\nret;", "0 6 38 39"},
      /* Exchange between lanes passes the same unit. */
      {"shared_cycles=24", "shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1;\nadd.s32 %r2, %r1, 1;\nret;",
       "0 24 25"},
  };
  CHECK_ROWS(rows);
}

/* The queue holds accesses that have not started: the memory is taken for 32 cycles by the first
 * store, and each further one waits; with room for one, the next must wait for it to start. */
static void shared_queue(void **state) {
  (void)state;
#define FIVE_STORES                                                                                \
  COLUMN "st.shared.u32 [%r1], %r0;\nst.shared.u32 [%r1], %r0;\nst.shared.u32 [%r1], %r0;\n"       \
         "st.shared.u32 [%r1], %r0;\nst.shared.u32 [%r1], %r0;\nret;"
  static const row rows[] = {
      {"shared_store_most_cycles=1 shared_queue=8", FIVE_STORES, "0 6 7 8 9 10 11"},
      /* They start at 6, 38, 70, 102, 134. */
      {"shared_store_most_cycles=1 shared_queue=1", FIVE_STORES, "0 6 7 38 70 102 103"},
      {"shared_store_most_cycles=1 shared_queue=2", FIVE_STORES, "0 6 7 8 38 70 71"},
  };
  CHECK_ROWS(rows);
}

/* Every hashed access has its data hash_cycles later; nothing else changes. */
static void hashed_accesses(void **state) {
  (void)state;
  static const char lines[] = "ld.shared.u32 %r1, [words];\nld.shared.u32 %r2, [words+4];\n"
                              "add.s32 %r3, %r1, %r2;\nst.shared.u32 [words], %r3;\n"
                              "ld.shared.u32 %r4, [words+8];\nadd.s32 %r5, %r4, 1;\nret;";
  for (unsigned cycles = 0; cycles <= 16; cycles += 4) {
    sim_bed own;
    char changes[60];
    snprintf(changes, sizeof changes, "hash_cycles=%u", cycles);
    sim_bed_make(&own, lines, changes);
    bf_sim_result plain = sim_bed_run(&own, "made", 1, 32);
    sim_bed_hash(&own, "fixed");
    bf_sim_result hashed = sim_bed_run(&own, "made", 1, 32);
    assert_int_equal(hashed.shared_wavefronts, plain.shared_wavefronts);
    assert_int_equal(hashed.cycles, plain.cycles + 2 * cycles);
    assert_int_equal(hashed.issued, plain.issued);
    sim_bed_close(&own);
  }
}

/* ---- Atomics ---- */

/* When the first event of an instruction that has wavefronts is done, from its issue on. */
static uint64_t access_cycles(const sim_bed *own, unsigned *wavefronts) {
  for (unsigned i = 0; i < own->events; i++)
    if (own->event[i].wavefronts) {
      *wavefronts = own->event[i].wavefronts;
      return own->event[i].done - own->event[i].issued;
    }
  fail();
  return 0;
}

static void native_atomics(void **state) {
  (void)state;
  static const char *const lines[] = {
      "mov.u32 %r9, words;\nmov.u32 %r0, %tid.x;\nshl.b32 %r1, %r0, 2;\natom.shared.add.u32 %r2, "
      "[%r1], 1;\nadd.s32 %r3, %r2, 1;\nret;",
      COLUMN "atom.shared.add.u32 %r2, [%r1], 1;\nadd.s32 %r3, %r2, 1;\nret;",
      "atom.shared.max.u32 %r2, [words], 1;\nadd.s32 %r3, %r2, 1;\nret;"};
  static const unsigned wavefronts[] = {1, 32, 32};
  /* Nobody needs the result: a reduction, which is served as a store. */
  static const row reduction[] = {{"atomic_cycles=30",
                                   "atom.shared.add.u32 %r2, [words], 1;\n"
                                   "red.shared.add.u32 [words], 1;\nret;",
                                   "0 1 2"}};
  CHECK_ROWS(reduction);
  for (unsigned i = 0; i < 3; i++) {
    sim_bed own;
    unsigned found = 0;
    sim_bed_make(&own, lines[i], "atomic_cycles=30");
    sim_bed_run(&own, "made", 1, 32);
    uint64_t cycles = access_cycles(&own, &found);
    assert_int_equal(cycles, 30 + found - 1);
    assert_int_equal(found, wavefronts[i]);
    sim_bed_close(&own);
  }
}

/* Floating-point atomics of Hopper go round a loop that holds their warp: one iteration for each
 * lane that wants the same word. */
static void lock_loops(void **state) {
  (void)state;
  static const row rows[] = {
      {"lock_cycles=94",
       "mov.u32 %r9, words;\nmov.u32 %r0, %tid.x;\nshl.b32 %r1, %r0, 2;\natom.shared.add.f32 %f1, "
       "[%r1], %f0;\n"
       "add.s32 %r2, %r0, 1;\nret;",
       "0 6 100 101"},
      /* The warp does not pair the next instruction with a loop. */
      {"lock_cycles=94 dispatch=2",
       "mov.u32 %r9, words;\nmov.u32 %r0, %tid.x;\nshl.b32 %r1, %r0, 2;\natom.shared.add.f32 %f1, "
       "[%r1], %f0;\n"
       "add.s32 %r2, %r0, 1;\nret;",
       "0 6 100 101"},
      {"lock_cycles=50", "atom.shared.add.f32 %f1, [words], %f0;\nadd.s32 %r2, %r0, 1;\nret;",
       "0 1600 1601"},
  };
  CHECK_ROWS(rows);
}

/* braak13 on the GTX 580: the loop of read, update, write and branch takes 118 cycles, one
 * more round for each position conflict; it measured 108 and 120. */
static void lock_table(void **state) {
  (void)state;
  bf_text text = {0};
  sim_bed_kernel(&text, "mov.u32 %r9, words;\nmov.u32 %r0, %tid.x;\nld.global.u32 %r3, [%d0];\n"
                        "setp.lt.u32 %p1, %r0, %r3;\nselp.u32 %r0, 0, %r0, %p1;\n"
                        "shl.b32 %r1, %r0, 2;\natom.shared.add.u32 %r2, [%r1], 1;\nret;");
  double error = 0;
  for (uint32_t conflicts = 1; conflicts <= 32; conflicts++) {
    sim_bed own;
    sim_bed_open(&own, text.data, "gtx580", "sms=1");
    *(uint32_t *)(uintptr_t)own.memory = conflicts;
    sim_bed_run(&own, "made", 1, 32);
    unsigned wavefronts;
    uint64_t cycles = access_cycles(&own, &wavefronts);
    assert_int_equal(cycles, 118 * conflicts);
    double published = 108 + 120.0 * (conflicts - 1);
    error += (cycles > published ? (double)cycles - published : published - (double)cycles) /
             published / 32;
    sim_bed_close(&own);
  }
  assert_true(error < 0.029);
  bf_text_free(&text);
}

/* ---- What the compiler makes of PTX ---- */

#define LOOP                                                                                       \
  "mov.u32 %r1, 8;\nL:\nadd.f32 %f1, %f1, %f1;\nadd.s32 %r1, %r1, -1;\n"                           \
  "setp.ne.s32 %p1, %r1, 0;\n@%p1 bra L;\nret;"

/* A loop of 8 rounds with lookahead: one of four additions, comparisons and branches is left. */
static void loops_are_unrolled(void **state) {
  (void)state;
  static const row rows[] = {
      {"int_cycles=4 float_cycles=4 branch_cycles=6 lookahead=64 unroll_instructions=4", LOOP,
       "0 1 2 3 4 5 12 18 19 20 21 22 23 30 36"},
      {"int_cycles=4 float_cycles=4 branch_cycles=0 lookahead=64 unroll_instructions=4 "
       "predicate_cycles=13",
       LOOP, "0 1 2 3 4 5 21 22 23 24 25 26 27 43 44"},
  };
  CHECK_ROWS(rows);
  sim_bed own; /* too long to be unrolled: three instructions and a branch in each round */
  sim_bed_make(&own, LOOP, "lookahead=64 unroll_instructions=3");
  sim_bed_run(&own, "made", 1, 32);
  assert_int_equal(own.events, 8 * 4 + 1);
  sim_bed_close(&own);
}

/* A branch over two instructions is a guard of them: they wait for what it asks. */
static void branches_become_guards(void **state) {
  (void)state;
#define SKIP                                                                                       \
  "setp.ne.s32 %p1, %r0, 0;\n@%p1 bra L;\nadd.s32 %r1, %r0, 1;\nadd.s32 %r2, %r0, 1;\nL:\nret;"
#define SKIPPED                                                                                    \
  "setp.eq.s32 %p1, %r0, 0;\n@%p1 bra L;\nadd.s32 %r1, %r0, 1;\nadd.s32 %r2, %r0, 1;\nL:\nret;"
  static const row rows[] = {
      {"int_cycles=4 branch_cycles=6", SKIP, "0 4 10 11 12"},
      {"int_cycles=4 branch_cycles=6 guard_instructions=1", SKIP, "0 4 10 11 12"},
      {"int_cycles=4 branch_cycles=6 guard_instructions=2", SKIP, "0 4 5 6"},
      {"int_cycles=4 predicate_cycles=13 guard_instructions=2", SKIP, "0 13 14 15"},
      /* All lanes skip: what is guarded takes its turns nevertheless. */
      {"int_cycles=4 branch_cycles=6", SKIPPED, "0 4 10"},
      {"int_cycles=4 branch_cycles=6 guard_instructions=2", SKIPPED, "0 3"},
  };
  CHECK_ROWS(rows);
}

/* Of four branches that ask the same, the first two are one: the second takes no turn. */
static void branches_that_ask_the_same(void **state) {
  (void)state;
#define ROUND(HERE, NEXT) HERE "@%p1 bra " NEXT ";\nadd.s32 %r1, %r0, 1;\nadd.s32 %r2, %r0, 1;\n"
  static const char four[] = "setp.ne.s32 %p1, %r0, 0;\n" ROUND("", "A") ROUND("A:\n", "B")
      ROUND("B:\n", "C") ROUND("C:\n", "D") "D:\nret;";
  static const char changed[] = "setp.ne.s32 %p1, %r0, 0;\n" ROUND(
      "", "A") "setp.ne.s32 %p1, %r0, 0;\n" ROUND("A:\n", "B") "B:\nret;";
  static const row rows[] = {
      {"int_cycles=4 branch_cycles=6", four, "0 4 10 11 12 18 19 20 26 27 28 34 35 36"},
      {"int_cycles=4 branch_cycles=6 guard_instructions=1", four,
       "0 4 10 11 14 15 16 22 23 24 30 31 32"},
      {"int_cycles=4 branch_cycles=6 guard_instructions=1", changed, "0 4 10 11 12 16 22 23 24"},
  };
  CHECK_ROWS(rows);
}

/* A load behind a store that waits for its operand: it passes only where both cannot meet. */
static void loads_stay_behind_stores(void **state) {
  (void)state;
#define STORE_AND_LOAD(PLACE)                                                                      \
  "mov.u32 %r9, words;\nmul.lo.s32 %r1, %r0, 3;\nst.shared.u32 [%r9], %r1;\n"                      \
  "ld.shared.u32 %r2, " PLACE ";\nret;"
  static const row rows[] = {
      {"mul_cycles=30 lookahead=64", STORE_AND_LOAD("[%r9]"), "0 1 2 30"},
      {"mul_cycles=30 lookahead=64 aliases=kept", STORE_AND_LOAD("[%r9]"), "0 1 30 31"},
      {"mul_cycles=30 lookahead=64 aliases=kept", STORE_AND_LOAD("[%r9+4]"), "0 1 2 30"},
      {"mul_cycles=30 lookahead=64 aliases=kept", STORE_AND_LOAD("[%r8]"), "0 1 30 31"},
  };
  CHECK_ROWS(rows);
}

/* Sequences for divisions: instructions, and cycles beyond them. */
static void divisions(void **state) {
  (void)state;
#define DIVIDE(TYPE, R)                                                                            \
  "div." TYPE " " R "1, " R "0, " R "2;\nadd." TYPE " " R "3, " R "1, " R "1;\nret;"
  static const row rows[] = {
      {"int_cycles=4 division_instructions=8", DIVIDE("u32", "%r"), "0 11 12"},
      {"int_cycles=4 division_instructions=8 division_cycles=50", DIVIDE("u32", "%r"), "0 61 62"},
      {"int_cycles=4 int_division_instructions=17 int_division_cycles=90", DIVIDE("u32", "%r"),
       "0 110 111"},
      {"int_cycles=4 int_division_instructions=17 int_division_cycles=90", DIVIDE("u64", "%d"),
       "0 431 432"},
  };
  CHECK_ROWS(rows);
}

/* The divisions of the addresses of two loads take the same time, as ptxas interleaves them; other
 * arithmetic is waited for. */
static void loads_are_passed_behind_divisions(void **state) {
  (void)state;
#define TWO_LOADS(OP)                                                                              \
  "mov.u32 %r9, words;\n" OP " %r1, %r9, 1;\nld.shared.u32 %r3, [%r1];\n" OP                       \
  " %r4, %r9, 1;\nld.shared.u32 %r5, [%r4];\nret;"
  static const char settings[] =
      "int_cycles=4 mul_cycles=44 int_division_instructions=4 int_division_cycles=40 lookahead=64";
  static const row rows[] = {
      {settings, TWO_LOADS("div.u32"), "0 4 5 9 52"},
      {settings, TWO_LOADS("mul.lo.u32"), "0 44 45 89 90"},
  };
  CHECK_ROWS(rows);
}

/* A fence waits until a store has happened, and then for fence_cycles. */
static void fences_wait(void **state) {
  (void)state;
#define STORE_AND_FENCE(SCOPE)                                                                     \
  "st.global.u32 [%d0], %r0;\nfence.acq_rel." SCOPE ";\nadd.s32 %r1, %r0, 1;\nret;"
  static const row rows[] = {
      {"request_cycles=100 return_cycles=100", STORE_AND_FENCE("gpu"), "0 1 2 3"},
      {"request_cycles=100 return_cycles=100 fence_cycles=50", STORE_AND_FENCE("gpu"),
       "0 201 251 252"},
      {"request_cycles=100 return_cycles=100 fence_cycles=50", STORE_AND_FENCE("cta"), "0 1 2 3"},
  };
  CHECK_ROWS(rows);
}

/* ---- Contention ---- */

/* Cycles of a launch. */
static uint64_t cycles_of(const char *lines, const char *changes, unsigned grid, unsigned block) {
  sim_bed own;
  sim_bed_make(&own, lines, changes);
  uint64_t cycles = sim_bed_run(&own, "made", grid, block).cycles;
  sim_bed_close(&own);
  return cycles;
}

/* Float additions of two warps to one word take as long as those of one with twice the lanes; to
 * words of their own, no longer than one warp does. */
static void warps_wait_for_words(void **state) {
  (void)state;
  static const char same[] = "mov.u32 %r9, words;\nred.shared.add.f32 [%r9], %f0;\nret;";
  static const char own[] = "mov.u32 %r9, words;\nmov.u32 %r0, %tid.x;\nmad.lo.u32 %r9, %r0, 4, "
                            "%r9;\nred.shared.add.f32 [%r9], %f0;\nret;";
  static const char block[] = "lock_cycles=90 lock_word_cycles=100";
  uint64_t one = cycles_of(same, block, 1, 32), two = cycles_of(same, block, 1, 64);
  assert_in_range(one, 3200, 3250);
  assert_in_range(two, 6400, 6500);
  assert_in_range(cycles_of(same, "lock_cycles=90", 1, 64), 2880, 3300);
  assert_in_range(cycles_of(own, block, 1, 64), 100, 250);
}

/* Atomics on one line by 32 lanes: of different words a sector is one operation, of one word every
 * lane is one. */
static void atomics_by_words(void **state) {
  (void)state;
  static const char row_of_words[] =
      "mov.u32 %r0, %tid.x;\nmad.wide.u32 %d1, %r0, 4, %d0;\n"
      "atom.global.add.u32 %r1, [%d1], 1;\nst.shared.u32 [words], %r1;\nret;";
  static const char one_word[] =
      "atom.global.add.u32 %r1, [%d0], 1;\nand.b32 %r1, %r1, 3;\nmul.lo.u32 %r1, %r1, 4;\n"
      "st.shared.u32 [words], %r1;\nret;";
  static const char lanes[] = "l2_atomic_cycles=20";
  static const char words[] = "l2_atomic_cycles=20 l2_atomics=words";
  uint64_t base = cycles_of(row_of_words, "l2_atomic_cycles=0.01", 1, 32);
  assert_in_range(cycles_of(row_of_words, lanes, 1, 32), base + 20 * 32 - 2, base + 20 * 32 + 2);
  assert_in_range(cycles_of(row_of_words, words, 1, 32), base + 20 * 4 - 2, base + 20 * 4 + 2);
  assert_in_range(cycles_of(one_word, words, 1, 32), base + 20 * 32 - 20, base + 20 * 32 + 20);
}

/* The second load of a word: from the first-level cache, or past it. */
static void marked_loads(void **state) {
  (void)state;
#define LOAD_TWICE(MARK)                                                                           \
  "ld.global" MARK ".u32 %r1, [%d0];\nadd.s32 %r2, %r1, 1;\nld.global" MARK ".u32 %r3, [%d0];\n"   \
  "add.s32 %r4, %r3, 1;\nret;"
  static const char cached[] = "l1_bytes=16384", past[] = "l1_bytes=16384 l1_marked=past";
  uint64_t first = cycles_of(LOAD_TWICE(""), past, 1, 32);
  assert_int_equal(cycles_of(LOAD_TWICE(".cg"), cached, 1, 32), first);
  assert_in_range(cycles_of(LOAD_TWICE(".cg"), past, 1, 32), first + 150, first + 250);
  assert_in_range(cycles_of(LOAD_TWICE(".volatile"), past, 1, 32), first + 150, first + 250);
}

/* Cycles of warps whose lanes load constants `apart` bytes apart. */
static uint64_t cycles_of_constants(const char *changes, unsigned apart, unsigned warps) {
  char ptx[800];
  sim_bed own;
  snprintf(
      ptx, sizeof ptx,
      ".version 8.0\n.target sm_90\n.address_size 64\n.const .align 4 .b8 table[4096];\n"
      ".visible .entry made(.param .u64 memory)\n{\n.reg .b32 %%r<9>;\n.reg .b64 %%d<9>;\n"
      "mov.u32 %%r0, %%laneid;\nmul.wide.u32 %%d1, %%r0, %u;\nmov.u64 %%d2, table;\n"
      "add.u64 %%d1, %%d1, %%d2;\nld.const.u32 %%r1, [%%d1];\nadd.u32 %%r1, %%r1, 1;\nret;\n}\n",
      apart);
  sim_bed_open(&own, ptx, "machine hopper", changes);
  uint64_t cycles = sim_bed_run(&own, "made", 1, 32 * warps).cycles;
  sim_bed_close(&own);
  return cycles;
}

/* Constants at one address cost what a load does; each further address is served behind the one
 * before, those of other warps of the multiprocessor too. */
static void constants_are_served_in_turn(void **state) {
  (void)state;
  static const char turn[] = "constant_word_cycles=20";
  assert_int_equal(cycles_of_constants(turn, 0, 4), cycles_of_constants("", 0, 4));
  uint64_t one = cycles_of_constants("", 4, 1), four = cycles_of_constants("", 4, 4);
  assert_int_equal(cycles_of_constants(turn, 4, 1), one + 31 * 20);
  uint64_t in_turn = cycles_of_constants(turn, 4, 4); /* the last finds its line in the cache */
  assert_in_range(in_turn, four + 4 * 31 * 20 - 200, four + 4 * 31 * 20);
}

/* ---- Blocks ---- */

/* Cycles at which blocks begin: one behind the other, by their warps, and in the places of others.
 */
static void blocks_begin(void **state) {
  (void)state;
  static const struct {
    const char *changes;
    unsigned grid, block;
    const char *first;
  } rows[] = {
      {"schedulers=4 sms=1 launch_cycles=1000", 3, 32, "1000 1000 1000"},
      {"schedulers=4 sms=1 launch_cycles=1000 launch_sm_cycles=5 block_start_cycles=24", 3, 32,
       "1005 1029 1053"},
      {"schedulers=4 sms=2 launch_cycles=1000 launch_sm_cycles=5 block_start_cycles=24", 3, 32,
       "1010 1010 1034"},
      {"schedulers=4 sms=1 launch_cycles=1000 block_start_cycles=24 block_start_warp_cycles=10", 2,
       128, "1000 1040"},
      {"schedulers=4 sms=1 block_launch_cycles=300 blocks_per_sm=1", 3, 32, "0 301 602"},
      {"schedulers=4 sms=2 block_launch_cycles=300 blocks_per_sm=1 block_grid_cycles=50", 4, 32,
       "0 0 301 351"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    sim_bed own;
    bf_text text = {0};
    sim_bed_make(&own, "add.s32 %r1, %r0, 1;\nret;", rows[i].changes);
    sim_bed_run(&own, "made", rows[i].grid, rows[i].block);
    for (uint64_t block = 0; block < rows[i].grid; block++)
      for (unsigned k = 0; k < own.events; k++)
        if (own.event[k].block == block && own.event[k].warp == 0) {
          bf_text_addf(&text, "%s%llu", text.size ? " " : "",
                       (unsigned long long)own.event[k].issued);
          break;
        }
    assert_string_equal(text.data, rows[i].first);
    bf_text_free(&text);
    sim_bed_close(&own);
  }
}

/* A launch ends when the ends of all its blocks have been noticed, one behind the other. */
static void ends_are_noticed(void **state) {
  (void)state;
  static const char short_block[] = "add.s32 %r1, %r0, 1;\nret;";
  uint64_t at_once = cycles_of(short_block, "sms=8", 8, 32);
  assert_int_equal(cycles_of(short_block, "sms=8 block_grid_cycles=50", 8, 32), at_once + 7 * 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(latency_and_throughput),
      cmocka_unit_test(units),
      cmocka_unit_test(dual_dispatch),
      cmocka_unit_test(branches_and_barriers),
      cmocka_unit_test(shared_loads),
      cmocka_unit_test(shared_queue),
      cmocka_unit_test(hashed_accesses),
      cmocka_unit_test(native_atomics),
      cmocka_unit_test(lock_loops),
      cmocka_unit_test(lock_table),
      cmocka_unit_test(loops_are_unrolled),
      cmocka_unit_test(branches_become_guards),
      cmocka_unit_test(branches_that_ask_the_same),
      cmocka_unit_test(loads_stay_behind_stores),
      cmocka_unit_test(divisions),
      cmocka_unit_test(loads_are_passed_behind_divisions),
      cmocka_unit_test(fences_wait),
      cmocka_unit_test(warps_wait_for_words),
      cmocka_unit_test(atomics_by_words),
      cmocka_unit_test(marked_loads),
      cmocka_unit_test(constants_are_served_in_turn),
      cmocka_unit_test(blocks_begin),
      cmocka_unit_test(ends_are_noticed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
