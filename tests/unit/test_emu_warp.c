/* Operations of several lanes, against definitions written out lane by lane. */
#include "emu_lanes.h"
#include "random.h"

enum { LANES = 32 };

/* ---- shfl ---- */

/* The PTX ISA's definition of shfl: the lane that `lane` reads, and whether it was in range. */
static int shuffle_source(const char *mode, int lane, unsigned b, unsigned c, int *in_range) {
  int bval = (int)(b & 0x1f), cval = (int)(c & 0x1f), mask = (int)(c >> 8 & 0x1f);
  int max_lane = (lane & mask) | (cval & ~mask), min_lane = lane & mask, j = lane;
  if (!strcmp(mode, "up")) {
    j = lane - bval;
    *in_range = j >= max_lane;
  } else if (!strcmp(mode, "down")) {
    j = lane + bval;
    *in_range = j <= max_lane;
  } else if (!strcmp(mode, "bfly")) {
    j = lane ^ bval;
    *in_range = j <= max_lane;
  } else {
    j = min_lane | (bval & ~mask);
    *in_range = j <= max_lane;
  }
  return *in_range ? j : lane;
}

typedef struct shuffle_out {
  uint32_t value, in_range;
} shuffle_out;

static void check_shuffle(const char *mode, uint32_t (*in)[4], const shuffle_out *out) {
  for (int lane = 0; lane < LANES; lane++) {
    int in_range, from = shuffle_source(mode, lane, in[lane][1], in[lane][2], &in_range);
    assert_int_equal(out[lane].in_range, in_range);
    assert_int_equal(out[lane].value, in[from][0]);
  }
}

static const char *const modes[] = {"up", "down", "bfly", "idx"};

static void shuffles_by_registers(void **state) {
  (void)state;
  test_random random = {1};
  for (unsigned s = 0; s < LANES_SETS; s++)
    for (unsigned m = 0; m < 4 && lanes_has(lanes_sets[s]); m++) {
      char body[512];
      uint32_t in[LANES][4];
      shuffle_out out[LANES];
      for (int lane = 0; lane < LANES; lane++) {
        in[lane][0] = (uint32_t)random_bits(&random);
        in[lane][1] = (uint32_t)random_bits(&random) & 63;
        in[lane][2] = (uint32_t)random_bits(&random) & 0x1f1f;
      }
      snprintf(body, sizeof body,
               ".reg .b32 %%a, %%b, %%c, %%n; .reg .pred %%p;\n"
               "ld.global.v4.b32 {%%a, %%b, %%c, %%n}, [%%in];\n"
               "shfl.sync.%s.b32 %%a|%%p, %%a, %%b, %%c, -1;\n"
               "selp.u32 %%n, 1, 0, %%p;\nst.global.v2.b32 [%%out], {%%a, %%n};",
               modes[m]);
      lanes_run(lanes_sets[s], "", body, LANES, in, 16, out, 8);
      check_shuffle(modes[m], in, out);
    }
}

static void shuffles_by_numbers(void **state) {
  (void)state;
  static const unsigned distances[] = {0, 1, 4, 16, 31};
  static const unsigned ends[] = {0x1f, 0, 0x181f, 0x1807, 0x1c03, 0x1800};
  for (unsigned m = 0; m < 4; m++)
    for (unsigned d = 0; d < 5; d++)
      for (unsigned e = 0; e < 6; e++) {
        char body[512];
        uint32_t in[LANES][4];
        shuffle_out out[LANES];
        for (unsigned lane = 0; lane < LANES; lane++) {
          in[lane][0] = lane * 17 + 3;
          in[lane][1] = distances[d];
          in[lane][2] = ends[e];
        }
        snprintf(body, sizeof body,
                 ".reg .b32 %%a, %%n; .reg .pred %%p;\nld.global.b32 %%a, [%%in];\n"
                 "shfl.sync.%s.b32 %%a|%%p, %%a, %u, %u, 0xffffffff;\n"
                 "selp.u32 %%n, 1, 0, %%p;\nst.global.v2.b32 [%%out], {%%a, %%n};",
                 modes[m], distances[d], ends[e]);
        lanes_run(NULL, "", body, LANES, in, 16, out, 8);
        check_shuffle(modes[m], in, out);
      }
}

/* Lanes that went different ways meet for a shuffle of the whole warp; those that have exited are
 * not waited for. */
static void shuffles_of_divergent_lanes(void **state) {
  (void)state;
  static const char body[] =
      ".reg .b32 %a, %l; .reg .pred %p, %q;\n"
      "mov.u32 %l, %laneid; setp.ge.u32 %q, %l, 30; @%q ret;\n"
      "ld.global.b32 %a, [%in]; and.b32 %l, %l, 1; setp.eq.u32 %p, %l, 0; @%p bra EVEN;\n"
      "add.u32 %a, %a, 100; bra GO;\nEVEN: add.u32 %a, %a, 1000;\n"
      "GO: shfl.sync.bfly.b32 %a, %a, 1, 31, -1; st.global.b32 [%out], %a;";
  uint32_t in[LANES], out[LANES];
  for (unsigned lane = 0; lane < LANES; lane++)
    in[lane] = lane;
  lanes_run(NULL, "", body, LANES, in, 4, out, 4);
  for (unsigned lane = 0; lane < 30; lane++)
    assert_int_equal(out[lane], (lane ^ 1) + (lane & 1 ? 1000 : 100));
}

/* Both halves of a warp use the instruction at once, each with its own mask. */
static void groups_with_own_masks(void **state) {
  (void)state;
  static const char body[] =
      ".reg .b32 %a, %m, %x, %l; .reg .pred %p, %h;\n"
      "ld.global.b32 %a, [%in]; mov.u32 %l, %laneid; setp.lt.u32 %h, %l, 12;\n"
      "selp.b32 %m, 0x00000fff, 0xfffff000, %h; setp.gt.u32 %p, %a, 50;\n"
      "vote.sync.ballot.b32 %x, %p, %m; st.global.b32 [%out], %x;\n"
      "vote.sync.any.pred %p, !%p, %m; selp.b32 %x, 1, 0, %p; st.global.b32 [%out+4], %x;\n"
      "redux.sync.add.u32 %x, %a, %m; st.global.b32 [%out+8], %x;\n"
      "redux.sync.min.s32 %x, %a, %m; st.global.b32 [%out+12], %x;\n"
      "elect.sync %x|%p, %m; st.global.b32 [%out+16], %x;\n"
      "selp.b32 %x, 1, 0, %p; st.global.b32 [%out+20], %x;\n"
      "match.any.sync.b32 %x, %a, %m; st.global.b32 [%out+24], %x;\n"
      "match.all.sync.b32 %x|%p, %a, %m; st.global.b32 [%out+28], %x;";
  uint32_t in[LANES], out[LANES][8];
  for (unsigned lane = 0; lane < LANES; lane++)
    in[lane] = lane < 12 ? 77 : lane * lane * 5 % 90;
  lanes_run(NULL, "", body, LANES, in, 4, out, 32);
  for (unsigned lane = 0; lane < LANES; lane++) {
    uint32_t mask = lane < 12 ? 0xfff : 0xfffff000, ballot = 0, sum = 0, same = 0;
    int32_t least = INT32_MAX;
    for (unsigned other = 0; other < LANES; other++)
      if (mask >> other & 1) {
        ballot |= (uint32_t)(in[other] > 50) << other;
        same |= (uint32_t)(in[other] == in[lane]) << other;
        sum += in[other];
        least = (int32_t)in[other] < least ? (int32_t)in[other] : least;
      }
    assert_int_equal(out[lane][0], ballot);
    assert_int_equal(out[lane][1], ballot != mask);
    assert_int_equal(out[lane][2], sum);
    assert_int_equal(out[lane][3], least);
    assert_int_equal(out[lane][4], lane < 12 ? 0 : 12);
    assert_int_equal(out[lane][5], lane == 0 || lane == 12);
    assert_int_equal(out[lane][6], same);
    assert_int_equal(out[lane][7], same == mask ? mask : 0);
  }
}

/* vote, activemask and match of all lanes, and of the lanes of one side of a branch. */
static void votes(void **state) {
  (void)state;
  static const char body[] =
      ".reg .b32 %a, %x; .reg .pred %p, %q; .reg .b64 %w;\n"
      "ld.global.b32 %a, [%in]; setp.lt.u32 %p, %a, 10;\n"
      "vote.sync.all.pred %q, %p, -1; selp.b32 %x, 1, 0, %q; st.global.b32 [%out], %x;\n"
      "vote.sync.uni.pred %q, %p, -1; selp.b32 %x, 1, 0, %q; st.global.b32 [%out+4], %x;\n"
      "cvt.u64.u32 %w, %a; match.any.sync.b64 %x, %w, -1; st.global.b32 [%out+8], %x;\n"
      "@%p activemask.b32 %x; @!%p mov.u32 %x, 0; st.global.b32 [%out+12], %x;";
  for (unsigned limit = 0; limit <= 20; limit += 10) {
    uint32_t in[LANES], out[LANES][4], small = 0;
    for (unsigned lane = 0; lane < LANES; lane++) {
      in[lane] = lane % 5 + limit - (limit == 10 && lane > 7 ? 8 : 0);
      small |= (uint32_t)(in[lane] < 10) << lane;
    }
    lanes_run(NULL, "", body, LANES, in, 4, out, 16);
    for (unsigned lane = 0; lane < LANES; lane++) {
      uint32_t same = 0;
      for (unsigned other = 0; other < LANES; other++)
        same |= (uint32_t)(in[other] == in[lane]) << other;
      assert_int_equal(out[lane][0], small == UINT32_MAX);
      assert_int_equal(out[lane][1], small == UINT32_MAX || small == 0);
      assert_int_equal(out[lane][2], same);
      assert_int_equal(out[lane][3], in[lane] < 10 ? small : 0);
    }
  }
}

/* One reduction: its text and the function that reduces two values. */
typedef struct reduction {
  const char *text;
  uint32_t (*combine)(uint32_t, uint32_t);
} reduction;

static uint32_t and_of(uint32_t x, uint32_t y) { return x & y; }
static uint32_t or_of(uint32_t x, uint32_t y) { return x | y; }
static uint32_t xor_of(uint32_t x, uint32_t y) { return x ^ y; }
static uint32_t sum_of(uint32_t x, uint32_t y) { return x + y; }
static uint32_t min_of(uint32_t x, uint32_t y) { return x < y ? x : y; }
static uint32_t max_of(uint32_t x, uint32_t y) { return x > y ? x : y; }
static uint32_t min_s(uint32_t x, uint32_t y) { return (int32_t)x < (int32_t)y ? x : y; }
static uint32_t max_s(uint32_t x, uint32_t y) { return (int32_t)x > (int32_t)y ? x : y; }
static float as_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, 4);
  return value;
}
static uint32_t min_f(uint32_t x, uint32_t y) {
  return as_float(x) != as_float(x) ? y : as_float(y) < as_float(x) ? y : x;
}
static uint32_t max_f(uint32_t x, uint32_t y) {
  return as_float(x) != as_float(x) ? y : as_float(y) > as_float(x) ? y : x;
}
static uint32_t max_f_abs(uint32_t x, uint32_t y) { return max_f(x & 0x7fffffff, y & 0x7fffffff); }

static void reductions(void **state) {
  (void)state;
  static const reduction table[] = {
      {"and.b32", and_of}, {"or.b32", or_of},   {"xor.b32", xor_of}, {"add.u32", sum_of},
      {"add.s32", sum_of}, {"min.u32", min_of}, {"max.u32", max_of}, {"min.s32", min_s},
      {"max.s32", max_s},  {"min.f32", min_f},  {"max.f32", max_f},  {"max.abs.f32", max_f_abs},
  };
  test_random random = {9};
  for (unsigned i = 0; i < sizeof table / sizeof *table; i++) {
    char body[256];
    uint32_t in[LANES], out[LANES], expected = 0;
    for (unsigned lane = 0; lane < LANES; lane++) {
      in[lane] = (uint32_t)random_bits(&random);
      if ((in[lane] & 0x7f800000) == 0x7f800000)
        in[lane] ^= 0x40000000;
      if (lane == 3 && i >= 9)
        in[lane] = 0x7fc00000;
    }
    for (unsigned lane = 0; lane < LANES; lane++)
      expected = lane ? table[i].combine(expected, in[lane]) : in[0];
    snprintf(body, sizeof body,
             ".reg .b32 %%a;\nld.global.b32 %%a, [%%in]; redux.sync.%s %%a, %%a, -1; "
             "st.global.b32 [%%out], %%a;",
             table[i].text);
    lanes_run(NULL, "", body, LANES, in, 4, out, 4);
    for (unsigned lane = 0; lane < LANES; lane++)
      assert_int_equal(out[lane], expected);
    if (i < 9)
      continue;
    /* With .NaN, one NaN is enough. */
    char *type = strstr(body, "f32");
    char with_nan[300];
    snprintf(with_nan, sizeof with_nan, "%.*sNaN.%s", (int)(type - body), body, type);
    lanes_run(NULL, "", with_nan, LANES, in, 4, out, 4);
    assert_int_equal(out[0], 0x7fffffff);
  }
}

/* What half does in the lower half of a warp, at a line of its own, and rest in all that is not at
 * it. */
static bf_emu_result try_split(const char *half, const char *rest, uint32_t *out) {
  char body[600];
  uint32_t in[LANES];
  for (unsigned lane = 0; lane < LANES; lane++)
    in[lane] = lane;
  snprintf(body, sizeof body,
           ".reg .b32 %%a, %%x; .reg .pred %%p, %%q, %%h;\n"
           "ld.global.b32 %%a, [%%in]; mov.u32 %%x, %%a; setp.lt.u32 %%h, %%a, 16;\n"
           "@!%%h bra REST;\n%s\nREST: %s\nst.global.b32 [%%out], %%x;",
           half, rest);
  return lanes_try(NULL, "", body, LANES, in, 4, out, 4);
}

static const char *const split_forms[] = {
    "shfl.sync.down.b32 %x, %a, 8, 31, -1;",
    "vote.sync.ballot.b32 %x, %h, -1;",
    "match.any.sync.b32 %x, %a, -1;",
    "redux.sync.add.u32 %x, %a, -1;",
    "bar.warp.sync -1;",
};

/* Members that pass an operation by are not waited for once they have ended; a shuffle reads 0 of
 * them. */
static void members_elsewhere(void **state) {
  (void)state;
  uint32_t out[LANES];
  assert_int_equal(try_split(split_forms[0], "", out).fault.kind, BF_EMU_NO_FAULT);
  for (unsigned lane = 0; lane < LANES; lane++)
    assert_int_equal(out[lane], lane < 8 ? lane + 8 : lane < 16 ? 0 : lane);
  assert_int_equal(try_split(split_forms[1], "", out).fault.kind, BF_EMU_NO_FAULT);
  assert_int_equal(out[0], 0xffff);
  assert_int_equal(try_split("@%h shfl.sync.down.b32 %x, %a, 8, 31, -1;", "", out).fault.kind,
                   BF_EMU_NO_FAULT);
  assert_int_equal(out[3], 11);
  /* The other half goes on behind the branch, to the next one. */
  assert_int_equal(try_split("bar.warp.sync -1;", "bar.warp.sync -1;", out).fault.kind,
                   BF_EMU_NO_FAULT);
}

/* Runs one operation in each half of a warp, in which %w holds 1000 more than %a, and checks what
 * both get: a value of every lane computed from those of all. */
static void check_both(const char *low, const char *high, const uint32_t *expected) {
  char half[200], rest[200];
  uint32_t out[LANES];
  snprintf(half, sizeof half, "%s bra DONE;", low);
  snprintf(rest, sizeof rest,
           ".reg .b32 %%w; .reg .b64 %%v; add.u32 %%w, %%a, 1000;\n%s\nDONE:", high);
  bf_emu_result result = try_split(half, rest, out);
  if (result.fault.kind != BF_EMU_NO_FAULT)
    fail_msg("%s | %s: %s", low, high, result.fault.text);
  for (unsigned lane = 0; lane < LANES; lane++)
    if (out[lane] != expected[lane])
      fail_msg("%s | %s: lane %u has %u, expected %u", low, high, lane, out[lane], expected[lane]);
}

/* Each half at an operation of its own, the same with the same mask: each sees the lanes of both,
 * whatever registers they bring. */
static void members_at_both(void **state) {
  (void)state;
  uint32_t sum = 0, expected[LANES];
  for (unsigned lane = 0; lane < LANES; lane++)
    sum += lane < 16 ? lane : lane + 1000;
  for (unsigned lane = 0; lane < LANES; lane++)
    expected[lane] = sum;
  check_both("redux.sync.add.u32 %x, %a, -1;", "redux.sync.add.u32 %x, %w, -1;", expected);
  check_both("redux.sync.add.u32 %x, %a, -1;", "mov.b32 %x, %w; redux.sync.add.u32 %x, %x, -1;",
             expected);
  for (unsigned lane = 0; lane < LANES; lane++)
    expected[lane] = 0x00ff0ff0; /* lanes 4 to 11, and 16 to 23 by a negated predicate */
  check_both("add.u32 %x, %a, -4; setp.lt.u32 %p, %x, 8; vote.sync.ballot.b32 %x, %p, -1;",
             "setp.gt.u32 %q, %w, 1023; vote.sync.ballot.b32 %x, !%q, -1;", expected);
  for (unsigned lane = 0; lane < LANES; lane++)
    expected[lane] = UINT32_C(0x11111111) << lane % 4;
  check_both("and.b32 %x, %a, 3; match.any.sync.b32 %x, %x, -1;",
             "and.b32 %w, %w, 3; match.any.sync.b32 %x, %w, -1;", expected);
  for (unsigned lane = 0; lane < LANES; lane++)
    expected[lane] = lane < 16 ? lane + 1016 : lane - 16;
  check_both("shfl.sync.bfly.b32 %x, %a, 16, 31, -1;",
             "mov.u32 %x, 16; shfl.sync.bfly.b32 %x, %w, %x, 31, -1;", expected);
}

/* match.all of both halves, where they agree and where they do not. */
static void members_at_both_agree(void **state) {
  (void)state;
  uint32_t expected[LANES];
  for (unsigned differs = 0; differs < 2; differs++) {
    char high[100];
    for (unsigned lane = 0; lane < LANES; lane++)
      expected[lane] = differs ? 0 : UINT32_MAX;
    snprintf(high, sizeof high, "mov.b64 %%v, %u; match.all.sync.b64 %%x|%%p, %%v, -1;", differs);
    check_both(".reg .b64 %u; mov.b64 %u, 0; match.all.sync.b64 %x|%p, %u, -1;", high, expected);
  }
}

/* What waits for lanes at other operations waits for ever, though the masks are the same. */
static void members_at_another(void **state) {
  (void)state;
  uint32_t out[LANES];
  for (unsigned i = 0; i + 1 < sizeof split_forms / sizeof *split_forms; i++) {
    bf_emu_fault fault = try_split(split_forms[i], "bar.warp.sync -1;", out).fault;
    assert_int_equal(fault.kind, BF_EMU_DEADLOCK);
    if (!strstr(fault.text, "lane 16 waits for lanes of mask 0xffffffff at PTX line"))
      fail_msg("%s", fault.text);
  }
}

/* Members that wait at a barrier on the other side of the branch pass it, as warps are counted
 * there; not where all would come to it. */
static void members_at_a_barrier_beside(void **state) {
  (void)state;
  uint32_t out[LANES];
  for (unsigned i = 0; i < sizeof split_forms / sizeof *split_forms; i++) {
    char half[100];
    snprintf(half, sizeof half, "%s bra DONE;", split_forms[i]);
    assert_int_equal(try_split(half, "bar.sync 0;\nDONE:", out).fault.kind, BF_EMU_NO_FAULT);
    assert_int_equal(out[31], 31);
    assert_int_equal(try_split(half, "barrier.sync 0, 64;\nDONE:", out).fault.kind,
                     BF_EMU_DEADLOCK);
  }
}

/* Where members wait for what cannot come before, that is told, with both places. */
static void members_that_never_come(void **state) {
  (void)state;
  uint32_t out[LANES];
  for (unsigned i = 0; i < sizeof split_forms / sizeof *split_forms; i++) {
    bf_emu_fault fault = try_split(split_forms[i], "bar.sync 0;", out).fault;
    assert_int_equal(fault.kind, BF_EMU_DEADLOCK);
    assert_int_equal(fault.thread[0], 0);
    char where[100];
    snprintf(where, sizeof where, "lane 16 waits at barrier 0 at PTX line %u",
             (unsigned)fault.line + 1);
    if (!strstr(fault.text, "16 threads of the warp, which the mask 0xffffffff names") ||
        !strstr(fault.text, where))
      fail_msg("%s", fault.text);
  }
  bf_emu_fault fault = try_split(split_forms[2], "barrier.sync 3, 64;", out).fault;
  assert_int_equal(fault.kind, BF_EMU_DEADLOCK);
  assert_non_null(strstr(fault.text, "lane 16 waits at barrier 3"));
  fault = try_split("@%h shfl.sync.down.b32 %x, %a, 8, 31, 0x1ffff; bra DONE;",
                    "bar.warp.sync 0xffff0001;\nDONE:", out)
              .fault;
  assert_int_equal(fault.kind, BF_EMU_DEADLOCK);
  assert_non_null(strstr(fault.text, "1 thread of the warp, which the mask 0x"));
  assert_non_null(strstr(fault.text, "waits for lanes of mask 0x"));
}

/* The same where they wait for the other block of a cluster, which waits for the first ones. */
static void members_at_the_barrier_of_a_cluster(void **state) {
  (void)state;
  static const char body[] = ".reg .pred %h; .reg .b32 %a;\n"
                             "setp.lt.u32 %h, %index, 16; @!%h bra REST;\n"
                             "redux.sync.add.u32 %a, %index, -1;\n"
                             "REST: barrier.cluster.arrive;\nbarrier.cluster.wait;";
  bed at;
  char *text = lanes_text("", body, 4, 4);
  bed_open_text(&at, "lanes.ptx", text, strlen(text), NULL);
  uint64_t parameters[2] = {bed_alloc(&at, 512, 0), bed_alloc(&at, 512, 0)};
  bf_emu_launch launch = bed_launch(&at, "lanes", 2, LANES, parameters, sizeof parameters);
  launch.cluster[0] = 2;
  launch.cluster[1] = launch.cluster[2] = 1;
  bf_emu_fault fault = bed_run(&at, &launch).fault;
  assert_int_equal(fault.kind, BF_EMU_DEADLOCK);
  assert_int_equal(fault.block[0], 0);
  assert_non_null(strstr(fault.text, "lane 16 waits at the barrier of the cluster at PTX line"));
  bed_close(&at);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(members_elsewhere),
      cmocka_unit_test(members_at_both),
      cmocka_unit_test(members_at_both_agree),
      cmocka_unit_test(members_at_another),
      cmocka_unit_test(members_at_a_barrier_beside),
      cmocka_unit_test(members_that_never_come),
      cmocka_unit_test(members_at_the_barrier_of_a_cluster),
      cmocka_unit_test(shuffles_by_registers),
      cmocka_unit_test(shuffles_by_numbers),
      cmocka_unit_test(shuffles_of_divergent_lanes),
      cmocka_unit_test(groups_with_own_masks),
      cmocka_unit_test(votes),
      cmocka_unit_test(reductions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
