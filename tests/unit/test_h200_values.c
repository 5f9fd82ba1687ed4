/* Atomics of 64 bits whose count depends on values against the counters of an H200
 * (tests/data/h200/atoms.csv.zst, made by gpu/atoms.py). One half of the rows was looked at when
 * the rule was found. */
#include "emu.h"
#include "memory/far.h"

#include <stdio.h>
#include <zstd.h>

enum { LANES = 32, WORDS = 1 << 12 };

static uint64_t sum(uint64_t old, uint64_t b, uint64_t c) { return old + b + 0 * c; }
static uint64_t both(uint64_t old, uint64_t b, uint64_t c) { return (old & b) + 0 * c; }
static uint64_t either(uint64_t old, uint64_t b, uint64_t c) { return (old | b) + 0 * c; }
static uint64_t differ(uint64_t old, uint64_t b, uint64_t c) { return (old ^ b) + 0 * c; }
static uint64_t least(uint64_t old, uint64_t b, uint64_t c) { return (b < old ? b : old) + 0 * c; }
static uint64_t most(uint64_t old, uint64_t b, uint64_t c) { return (b > old ? b : old) + 0 * c; }

/* Operands are below 2^63, so that signed numbers order as others do. */
static const struct {
  const char *name;
  uint64_t (*apply)(uint64_t, uint64_t, uint64_t);
  bool may_leave;
} operations[] = {{"add_u64", sum, false},    {"and_b64", both, false}, {"or_b64", either, false},
                  {"xor_b64", differ, false}, {"min_u64", least, true}, {"min_s64", least, true},
                  {"max_u64", most, true},    {"max_s64", most, true}};

/* What 8 bytes of shared memory hold before the access (gpu/atoms.py). */
static uint64_t begins_as(uint64_t i, unsigned kept_bits, uint64_t seed) {
  uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ seed;
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  x ^= x >> 31;
  return kept_bits ? x >> (64 - kept_bits) : 0;
}

static char *read_all(const char *path) {
  enum { MOST = 1 << 22 };
  char *packed = malloc(MOST), *text = calloc(1, MOST);
  FILE *file = fopen(path, "rb");
  assert_true(packed && text && file);
  size_t size = fread(packed, 1, MOST, file), got = ZSTD_decompress(text, MOST - 1, packed, size);
  assert_false(ZSTD_isError(got));
  fclose(file);
  free(packed);
  return text;
}

typedef struct tally {
  unsigned rows, atomic, load;
} tally;

/* half,kernel,load,atomic,...,mask,kept_bits,seed,addresses,values,others */
static void look_at(const bf_machine *machine, const char *line, tally sums[2]) {
  char half[8], name[32];
  unsigned load, atomic, kept_bits;
  unsigned long long mask, seed;
  int at = 0;
  if (sscanf(line, "%7[^,],own_%31[^,],%u,%u,%*u,%*u,%*u,%*u,%llx,%u,%llu,%n", half, name, &load,
             &atomic, &mask, &kept_bits, &seed, &at) != 7)
    return;
  const char *own = strncmp(name, "red_", 4) == 0 ? name + 4 : name;
  for (unsigned i = 0; i < sizeof operations / sizeof *operations; i++) {
    if (strcmp(own, operations[i].name) != 0)
      continue;
    static uint64_t memory[WORDS];
    uint64_t operand[LANES];
    bf_access access = {.op = BF_OP_ADD64, .width_bytes = 8, .mask = mask, .count = 1};
    char *number = (char *)(uintptr_t)(line + at);
    for (unsigned lane = 0; lane < LANES; lane++)
      access.address[lane] = (uint32_t)strtoul(number, &number, 10);
    number++;
    for (unsigned lane = 0; lane < LANES; lane++)
      operand[lane] = strtoull(number, &number, 10);
    for (unsigned w = 0; w < WORDS; w++)
      memory[w] = begins_as(w, kept_bits, seed);
    bf_changes changes = {operations[i].apply, operand, (const uint8_t *)memory,
                          operations[i].may_leave};
    bf_count count;
    assert_int_equal(bf_memory_count_changes(machine, NULL, &access, &changes, &count, NULL),
                     BF_OK);
    assert_true(bf_count_wavefronts(&count) >= count.ideal);
    tally *to = &sums[strcmp(half, "seen") != 0];
    to->rows++;
    to->atomic += count.wavefronts_atomic == atomic;
    to->load += count.wavefronts_load == load;
  }
}

static void values_are_counted(void **state) {
  (void)state;
  char *text = read_all("tests/data/h200/atoms.csv.zst");
  bf_machine *machine;
  tally sums[2] = {{0}};
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
    look_at(machine, line, sums);
  for (unsigned half = 0; half < 2; half++) {
    assert_int_equal(sums[half].rows, 192);
    assert_int_equal(sums[half].atomic, 192);
    assert_int_equal(sums[half].load, 192);
  }
  bf_machine_free(machine);
  free(text);
}

/* ---- Accesses to another block of the cluster ---- */

typedef struct far_tally {
  unsigned rows, equal, measured, counted, off;
  unsigned outside, least, most, certain; /* of bf_memory_far_range */
} far_tally;

/* The same lines, of kernels far_KIND: sectors of what goes to the other block. */
static void look_far(const char *line, far_tally sums[3][2]) {
  char half[8], name[32];
  unsigned sectors, width = 4;
  unsigned long long mask;
  int at = 0;
  if (sscanf(line, "%7[^,],far_%31[^,],%*u,%*u,%*u,%*u,%*u,%u,%llx,%*u,%*u,%n", half, name,
             &sectors, &mask, &at) != 4)
    return;
  bf_side side = strncmp(name, "ld_", 3) == 0   ? BF_SIDE_LOAD
                 : strncmp(name, "st_", 3) == 0 ? BF_SIDE_STORE
                                                : BF_SIDE_ATOMIC;
  if (side != BF_SIDE_ATOMIC)
    width = (unsigned)atoi(name + 3);
  else if (strcmp(name, "atom_f32") == 0 || strcmp(name, "none") == 0) /* a loop; nothing */
    return;
  uint64_t address[LANES];
  char *number = (char *)(uintptr_t)(line + at);
  for (unsigned lane = 0; lane < LANES; lane++)
    address[lane] = strtoull(number, &number, 10);
  unsigned counted = bf_memory_far_sectors(side, width, (uint32_t)mask, address);
  far_tally *to = &sums[side][strcmp(half, "seen") != 0];
  to->rows++;
  to->equal += counted == sectors;
  to->measured += sectors;
  to->counted += counted;
  to->off += counted > sectors ? counted - sectors : sectors - counted;
  bf_far_range range = bf_memory_far_range(side, width, (uint32_t)mask, address);
  to->outside += sectors < range.least || sectors > range.most;
  to->least += range.least;
  to->most += range.most;
  to->certain += range.least == range.most;
  assert_true(range.least <= counted && counted <= range.most);
}

/* What docs/hopper.md says of them. Both halves were looked at for stores. */
static void far_accesses_are_counted(void **state) {
  (void)state;
  char *text = read_all("tests/data/h200/atoms.csv.zst");
  far_tally sums[3][2] = {{{0}}};
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
    look_far(line, sums);
  static const unsigned equal[3][2] = {
      [BF_SIDE_LOAD] = {36, 36}, [BF_SIDE_STORE] = {33, 33}, [BF_SIDE_ATOMIC] = {56, 55}};
  for (unsigned side = 0; side < 3; side++)
    for (unsigned half = 0; half < 2; half++) {
      const far_tally *own = &sums[side][half];
      assert_int_equal(own->rows, side == BF_SIDE_ATOMIC ? 60 : 36);
      assert_int_equal(own->equal, equal[side][half]);
      assert_int_equal(own->outside, 0);
    }
  free(text);
}

/* Stores that were measured when the rule stood. */
static void later_stores_are_nearly_counted(void **state) {
  (void)state;
  char *text = read_all("tests/data/h200/far_stores.csv.zst");
  far_tally sums[3][2] = {{{0}}};
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
    look_far(line, sums);
  const far_tally *own = &sums[BF_SIDE_STORE][1];
  assert_int_equal(own->rows, 240);
  assert_int_equal(own->equal, 160);
  assert_int_equal(own->off, 127);
  assert_int_equal(own->counted, 3289);
  assert_int_equal(own->measured, 3302);
  assert_int_equal(own->outside, 0); /* found on every second row, judged on the others */
  assert_int_equal(own->least, 1571 + 1523);
  assert_int_equal(own->most, 1766 + 1774);
  assert_int_equal(own->certain, 57 + 51);
  free(text);
}

/* A warp that stores words so many bytes apart, 16 times (gpu/hopper.py). */
static void far_strides_are_counted(void **state) {
  (void)state;
  FILE *file = fopen("tests/data/h200/hopper.csv", "r");
  char line[512];
  unsigned rows = 0;
  assert_non_null(file);
  while (fgets(line, sizeof line, file)) {
    unsigned stride, kind;
    const char *last = strrchr(line, ',');
    uint64_t address[LANES];
    if (sscanf(line, "remote_st,%u,%u,", &kind, &stride) != 2)
      continue;
    for (unsigned lane = 0; lane < LANES; lane++)
      address[lane] = lane * stride;
    assert_int_equal(16 * bf_memory_far_sectors(BF_SIDE_STORE, 4, UINT32_MAX, address),
                     atoi(last + 1));
    rows++;
  }
  fclose(file);
  assert_int_equal(rows, 13);
}

/* ---- The emulator knows values ---- */

/* All lanes on one word that holds 7: max with 5, which leaves it; and with 5, which does not
 * change it at first; add of 0 and of 1. */
static const char text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n"
    ".reg .b32 %r; .reg .b64 %q, %zero; .shared .align 8 .b64 word;\n"
    "mov.u32 %r, word; mov.u64 %zero, 0; st.shared.u64 [%r], 7; mov.u64 %q, 5;\n"
    "red.shared.max.u64 [%r], %q;\n"
    "red.shared.or.b64 [%r], %q;\n"
    "red.shared.add.u64 [%r], %zero;\n"
    "red.shared.add.u64 [%r], %q;\nret;\n}\n";

static void emulated_values_are_counted(void **state) {
  (void)state;
  /* 32 lanes one by one, two wavefronts for each half that waits: where nothing changes both halves
   * win at once. */
  static const unsigned atomic[4] = {0, 64, 64, 96};
  bed at;
  bf_machine *machine;
  bf_profile *profile;
  unsigned next = 0;
  bed_open_text(&at, "values.ptx", text, strlen(text), NULL);
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  bf_emu_launch launch = bed_launch(&at, "k", 1, 32, NULL, 0);
  assert_int_equal(bf_profile_create(machine, NULL, launch.kernel, 1, &profile, NULL), BF_OK);
  bf_emu_observer observer = bf_profile_observer(profile);
  launch.observer = &observer;
  launch.workers = 1;
  assert_int_equal(bed_run(&at, &launch).fault.kind, BF_EMU_NO_FAULT);
  for (unsigned i = 0; i < bf_emu_kernel_sites(launch.kernel); i++) {
    bf_profile_row row = bf_profile_get(profile, i);
    if (row.executions && row.op == BF_OP_ADD64) {
      assert_true(next < 4);
      assert_int_equal(row.wavefronts_atomic, atomic[next++]);
    }
  }
  assert_int_equal(next, 4);
  bf_profile_free(profile);
  bf_machine_free(machine);
  bed_close(&at);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_counted), cmocka_unit_test(far_accesses_are_counted),
      cmocka_unit_test(later_stores_are_nearly_counted), cmocka_unit_test(far_strides_are_counted),
      cmocka_unit_test(emulated_values_are_counted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
