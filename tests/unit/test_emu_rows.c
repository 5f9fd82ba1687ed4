/* Loads and stores of some lanes, however these lie in memory: rows of a warp, of sixteen and of
 * eight lanes, one place, anywhere; up to both ends of an allocation; beside a lane by lane copy.
 */
#include "emu_lanes.h"
#include "random.h"

enum { LANES = 32, ELEMENTS = 48, ROUNDS = 400, FORMS = 8 };

/* What one warp does: lanes of mask load element place of from and store it at place of to. */
typedef struct work {
  uint64_t from, to;
  uint32_t mask, place[LANES];
} work;

/* A kernel per form. offset[] has a place per lane; shared memory is a copy of from, and is copied
 * to to at the end. What is done at once needs the range that a place of the code used before, so
 * that all is done twice. */
static const struct {
  const char *name, *load, *store;
  unsigned bytes;
} forms[FORMS] = {{"u8", "ld.global.u8 %h, [%f]", "st.global.u8 [%t], %h", 1},
                  {"u8w", "ld.global.u8 %r, [%f]", "st.global.u8 [%t], %r", 1},
                  {"u16", "ld.global.u16 %h, [%f]", "st.global.u16 [%t], %h", 2},
                  {"u16w", "ld.u16 %r, [%f]", "st.u16 [%t], %r", 2},
                  {"u32", "ld.global.u32 %r, [%f]", "st.global.u32 [%t], %r", 4},
                  {"u64", "ld.global.u64 %d, [%f]", "st.global.u64 [%t], %d", 8},
                  {"g32", "ld.u32 %r, [%f]", "st.u32 [%t], %r", 4},
                  {"g64", "ld.u64 %d, [%f]", "st.u64 [%t], %d", 8}};

static char *make_text(void) {
  enum { MOST = 1 << 16 };
  char *text = malloc(MOST);
  assert_non_null(text);
  int at = snprintf(text, MOST, ".version 8.0\n.target sm_90\n.address_size 64\n");
  for (unsigned i = 0; i < 2 * FORMS; i++) {
    bool is_shared = i >= FORMS;
    unsigned form = i % FORMS, bytes = forms[form].bytes;
    /* Shared memory: only 32 and 64 bits have short forms; the others run as they are. */
    at += snprintf(
        text + at, MOST - (size_t)at,
        ".visible .entry %s%s(.param .align 8 .b8 p[152]) {\n"
        ".shared .align 8 .b8 s[%u];\n.shared .align 8 .b8 s2[%u];\n"
        ".reg .b32 %%l, %%m, %%k, %%r, %%sf, %%st, %%i; .reg .b16 %%h; .reg .pred %%q, %%more;\n"
        ".reg .b64 %%d, %%f, %%t, %%a, %%w, %%from, %%to;\n"
        "mov.u32 %%l, %%tid.x; ld.param.u64 %%from, [p]; ld.param.u64 %%to, [p+8];\n"
        "ld.param.u32 %%m, [p+16]; shr.u32 %%m, %%m, %%l; and.b32 %%m, %%m, 1;\n"
        "setp.ne.u32 %%q, %%m, 0; mov.u64 %%a, p; mul.wide.u32 %%w, %%l, 4;\n"
        "add.u64 %%a, %%a, %%w; ld.param.u32 %%k, [%%a+20]; mul.wide.u32 %%w, %%k, %u;\n"
        "add.u64 %%f, %%from, %%w; add.u64 %%t, %%to, %%w;\n",
        is_shared ? "s" : "", forms[form].name, ELEMENTS * bytes, ELEMENTS * bytes, bytes);
    if (!is_shared) {
      at +=
          snprintf(text + at, MOST - (size_t)at,
                   "mov.u32 %%i, 0;\nagain: @%%q %s;\n@%%q %s;\n"
                   "add.u32 %%i, %%i, 1; setp.lt.u32 %%more, %%i, 2; @%%more bra again;\nret; }\n",
                   forms[form].load, forms[form].store);
      continue;
    }
    const char *value = strchr(forms[form].load, '%');
    at +=
        snprintf(text + at, MOST - (size_t)at,
                 "mov.u32 %%i, 0;\n"
                 "fill: cvt.u64.u32 %%w, %%i; add.u64 %%a, %%from, %%w; ld.global.u8 %%h, [%%a];\n"
                 "mov.u32 %%sf, s; add.u32 %%sf, %%sf, %%i; st.shared.u8 [%%sf], %%h;\n"
                 "add.u64 %%a, %%to, %%w; ld.global.u8 %%h, [%%a];\n"
                 "mov.u32 %%sf, s2; add.u32 %%sf, %%sf, %%i; st.shared.u8 [%%sf], %%h;\n"
                 "add.u32 %%i, %%i, 1; setp.lt.u32 %%more, %%i, %u; @%%more bra fill;\n"
                 "mul.lo.u32 %%k, %%k, %u; mov.u32 %%sf, s; add.u32 %%sf, %%sf, %%k;\n"
                 "mov.u32 %%st, s2; add.u32 %%st, %%st, %%k;\n"
                 "@%%q ld.shared.b%u %.2s, [%%sf];\n@%%q st.shared.b%u [%%st], %.2s;\n"
                 "mov.u32 %%i, 0;\n"
                 "back: cvt.u64.u32 %%w, %%i; add.u64 %%a, %%to, %%w;\n"
                 "mov.u32 %%sf, s2; add.u32 %%sf, %%sf, %%i; ld.shared.u8 %%h, [%%sf];\n"
                 "st.global.u8 [%%a], %%h;\n"
                 "add.u32 %%i, %%i, 1; setp.lt.u32 %%more, %%i, %u; @%%more bra back;\nret; }\n",
                 ELEMENTS * bytes, bytes, 8 * bytes, value, 8 * bytes, value, ELEMENTS * bytes);
  }
  assert_in_range(at, 1, MOST - 1);
  return text;
}

/* Lanes in rows of some width that begin anywhere, the last of them often at the end. */
static void place_lanes(test_random *random, work *made) {
  static const unsigned widths[] = {1, 8, 8, 16, 16, 32, 32};
  unsigned width = widths[random_below(random, 7)], begin = 0;
  made->mask = random_below(random, 3) ? (uint32_t)random_bits(random) : UINT32_MAX;
  if (random_below(random, 3) == 0)
    made->mask &= UINT32_MAX << random_below(random, 32);
  if (random_below(random, 3) == 0)
    made->mask &= UINT32_MAX >> random_below(random, 32);
  for (unsigned lane = 0; lane < LANES; lane++) {
    if (lane % width == 0)
      begin = random_below(random, 2)   ? (unsigned)random_below(random, ELEMENTS - width + 1)
              : random_below(random, 2) ? ELEMENTS - width
                                        : 0;
    made->place[lane] = begin + lane % width;
  }
  unsigned kind = (unsigned)random_below(random, 5);
  for (unsigned lane = 0; lane < LANES && kind == 0; lane++) /* one place */
    made->place[lane] = begin;
  /* A row that would begin before the first element, or end behind the last. */
  unsigned shift = (unsigned)random_below(random, 16);
  for (unsigned lane = 0; lane < LANES && kind == 1; lane++)
    made->place[lane] = lane < shift ? ELEMENTS : lane - shift;
  for (unsigned lane = 0; lane < LANES && kind == 2; lane++)
    made->place[lane] = ELEMENTS - LANES + shift + lane;
  for (unsigned lane = 0; lane < LANES; lane++)
    if (made->place[lane] >= ELEMENTS)
      made->mask &= ~(UINT32_C(1) << lane);
}

/* Lanes of mask, from the first to the last: where some store to one place, the last counts, as all
 * loads come first and load the same. */
static void copy_lanes(const work *made, unsigned bytes, const uint8_t *from, uint8_t *to) {
  for (unsigned lane = 0; lane < LANES; lane++)
    if (made->mask >> lane & 1)
      memcpy(to + (size_t)made->place[lane] * bytes, from + (size_t)made->place[lane] * bytes,
             bytes);
}

static void run_form(bed *at, test_random *random, unsigned form, bool is_shared) {
  enum { MOST = ELEMENTS * 8 };
  char name[16];
  uint8_t wanted[MOST];
  unsigned bytes = forms[form].bytes, size = ELEMENTS * bytes;
  work made = {bed_alloc(at, size, 0), bed_alloc(at, size, 0), 0, {0}};
  uint8_t *from = (uint8_t *)(uintptr_t)made.from, *to = (uint8_t *)(uintptr_t)made.to;
  snprintf(name, sizeof name, "%s%s", is_shared ? "s" : "", forms[form].name);
  for (unsigned round = 0; round < ROUNDS; round++) {
    for (unsigned i = 0; i < size; i++) {
      from[i] = (uint8_t)random_bits(random);
      wanted[i] = to[i] = (uint8_t)random_bits(random);
    }
    place_lanes(random, &made);
    copy_lanes(&made, bytes, from, wanted);
    bf_emu_launch launch = bed_launch(at, name, 1, LANES, &made, sizeof made);
    launch.workers = 1;
    bed_run_well(at, &launch);
    if (memcmp(to, wanted, size))
      fail_msg("%s, round %u: mask %08x", name, round, made.mask);
  }
}

static void rows_of_lanes(void **state) {
  (void)state;
  char *text = make_text();
  for (unsigned set = 0; set < LANES_SETS; set++) {
    if (!lanes_has(lanes_sets[set]))
      continue;
    test_random random = {7};
    bed at;
    bed_open_text(&at, "rows.ptx", text, strlen(text), lanes_sets[set]);
    for (unsigned form = 0; form < FORMS; form++) {
      run_form(&at, &random, form, false);
      if (forms[form].load[3] == 'g')
        run_form(&at, &random, form, true);
    }
    bed_close(&at);
  }
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_lanes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
