/* Accesses that warps make again are counted and kept as if each were the first. */
#include "emu.h"
#include "random.h"

#include <string.h>

enum { SITES = 4, PATTERNS = 40, EVENTS = 20000, WARPS = 20 };

static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                           ".visible .entry k() {\n.shared .b32 s[4096];\n.reg .b32 %v<5>;\n"
                           "ld.shared.u32 %v1, [s];\nld.shared.u32 %v2, [s+128];\n"
                           "ld.shared.u32 %v3, [s+1024];\nld.shared.u32 %v4, [s+4096];\nret; }\n";

/* A row, a column, or anything; some lanes or all; no two are the same. */
static bf_access make_access(test_random *random, unsigned number) {
  bf_access made = {.op = random_below(random, 2) ? BF_OP_LD : BF_OP_ST,
                    .width_bytes = 4u << random_below(random, 2),
                    .count = 1};
  unsigned step = made.width_bytes << random_below(random, 6);
  bool is_wild = random_below(random, 3) == 0;
  for (unsigned lane = 0; lane < 32; lane++)
    made.address[lane] = is_wild ? made.width_bytes * (uint32_t)random_below(random, 1024)
                                 : step * lane + 8 * number;
  made.mask = random_below(random, 2) ? UINT32_MAX : (uint32_t)random_bits(random) | 1;
  return made;
}

/* Tells a profile of an access of some warp; what lanes that take no part have does not matter. */
static void tell(const bf_emu_observer *observer, const bf_access *access, unsigned site,
                 unsigned warp, uint32_t idle) {
  uint32_t address[32];
  for (unsigned lane = 0; lane < 32; lane++)
    address[lane] = access->mask >> lane & 1 ? access->address[lane] : idle;
  observer->access(observer->context, &(bf_emu_event){.site = site,
                                                      .warp = warp,
                                                      .space = BF_PTX_SPACE_SHARED,
                                                      .op = access->op,
                                                      .width_bytes = access->width_bytes,
                                                      .mask = (uint32_t)access->mask,
                                                      .shared_address = address});
}

/* How often a workload has an access. */
static uint64_t kept(const bf_workload *workload, const bf_access *access) {
  for (size_t i = 0; i < bf_workload_size(workload); i++) {
    const bf_access *own = bf_workload_get(workload, i);
    bool same = own->op == access->op && own->width_bytes == access->width_bytes &&
                own->mask == access->mask;
    for (unsigned lane = 0; lane < 32 && same; lane++)
      same = !(own->mask >> lane & 1) || own->address[lane] == access->address[lane];
    if (same)
      return own->count;
  }
  return 0;
}

static void accesses_made_again(void **state) {
  (void)state;
  test_random random = {21};
  bf_machine *machine;
  bf_profile *profile;
  bf_access pattern[PATTERNS];
  bf_count count[PATTERNS];
  uint64_t made[PATTERNS] = {0}, wavefronts[SITES] = {0}, conflicts[SITES] = {0};
  size_t budget = 1 << 16;
  bed at;
  bed_open_text(&at, "again.ptx", text, sizeof text - 1, NULL);
  const bf_emu_kernel *kernel = bed_launch(&at, "k", 1, 32, NULL, 0).kernel;
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  assert_int_equal(bf_emu_kernel_sites(kernel), SITES);
  assert_int_equal(bf_profile_create(machine, NULL, kernel, 1, &profile, NULL), BF_OK);
  assert_int_equal(bf_profile_keep(profile, &budget, NULL), BF_OK);
  bf_emu_observer observer = bf_profile_observer(profile);
  for (unsigned i = 0; i < PATTERNS; i++) {
    pattern[i] = make_access(&random, i);
    assert_int_equal(bf_memory_count(machine, NULL, &pattern[i], &count[i], NULL), BF_OK);
  }
  for (unsigned i = 0, which = 0; i < EVENTS; i++) {
    unsigned site = (unsigned)random_below(&random, SITES);
    which = random_below(&random, 4) ? which : (unsigned)random_below(&random, PATTERNS);
    tell(&observer, &pattern[which], site, (unsigned)random_below(&random, WARPS),
         (uint32_t)random_below(&random, 2));
    made[which]++;
    wavefronts[site] += bf_count_wavefronts(&count[which]);
    conflicts[site] += count[which].conflicts;
  }
  for (unsigned site = 0; site < SITES; site++) {
    bf_profile_row row = bf_profile_get(profile, site);
    assert_int_equal(row.wavefronts_load + row.wavefronts_store, wavefronts[site]);
    assert_int_equal(row.conflicts, conflicts[site]);
  }
  for (unsigned i = 0; i < PATTERNS; i++)
    assert_int_equal(kept(bf_profile_accesses(profile), &pattern[i]), made[i]);
  bf_profile_free(profile);
  bf_machine_free(machine);
  bed_close(&at);
}

/* ---- Lanes in line ---- */

enum { STEPS = 64, THREADS = 64, BLOCKS = 5 };

/* Every thread loads and stores at the places that a table has for it, STEPS times round and round;
 * -1: it takes no part. */
static const char lined_text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u64 table) {\n.shared .align 16 .b8 s[8192];\n"
    ".reg .b32 %t, %o, %r, %i, %n; .reg .b64 %a, %w, %d, %table; .reg .pred %p, %more;\n"
    "mov.u32 %t, %tid.x; ld.param.u64 %table, [table]; mul.wide.u32 %w, %t, 4;\n"
    "add.u64 %table, %table, %w; mov.u32 %i, 0;\n"
    "again: and.b32 %n, %i, 63; mul.wide.u32 %w, %n, 256; add.u64 %a, %table, %w;\n"
    "ld.global.u32 %o, [%a]; setp.ge.s32 %p, %o, 0; mov.u32 %r, s; add.u32 %o, %o, %r;\n"
    "@%p ld.shared.u32 %r, [%o]; @%p ld.shared.u32 %n, [%o+4]; @%p ld.shared.u64 %d, [%o];\n"
    "add.u32 %r, %r, %n; @%p st.shared.u32 [%o], %r; @%p st.shared.u64 [%o+8], %d;\n"
    "add.u32 %i, %i, 1; setp.lt.u32 %more, %i, 1000; @%more bra again; ret; }\n";

static void draw_places(test_random *random, int32_t place[THREADS]) {
  int32_t base = 8 * (int32_t)random_below(random, 128),
          step = 8 * (int32_t)random_below(random, 9);
  int32_t jump = random_below(random, 3) ? 16 * step : 8 * (int32_t)random_below(random, 40);
  unsigned shape = (unsigned)random_below(random, 6);
  uint32_t mask = shape < 2 ? UINT32_MAX : shape < 4 ? UINT32_MAX << random_below(random, 32) : 0;
  mask = shape == 4 ? UINT32_MAX >> random_below(random, 32) : mask;
  mask = shape == 5 ? (uint32_t)random_bits(random) : mask;
  bool is_wild = random_below(random, 6) == 0;
  for (unsigned i = 0; i < THREADS; i++) {
    int32_t lane = (int32_t)(i % 32), upper = lane / 16;
    place[i] = base + lane % 16 * step + upper * jump;
    if (is_wild)
      place[i] = 8 * (int32_t)random_below(random, 500);
    if (!(mask >> lane & 1))
      place[i] = -1;
  }
}

/* Runs the kernel with a profile, which is told of every access or counts those in line itself. */
static bf_profile *run_lined(bed *at, const bf_machine *machine, uint64_t table, bool is_told,
                             unsigned threads, unsigned workers, size_t *budget) {
  bf_profile *profile;
  bf_emu_launch launch = bed_launch(at, "k", BLOCKS, threads, &table, sizeof table);
  assert_int_equal(bf_profile_create(machine, NULL, launch.kernel, workers, &profile, NULL), BF_OK);
  assert_int_equal(bf_profile_keep(profile, budget, NULL), BF_OK);
  bf_emu_observer observer = bf_profile_observer(profile);
  if (is_told)
    observer.tally = NULL;
  launch.observer = &observer;
  launch.workers = workers;
  bed_run_well(at, &launch);
  bed_run_well(at, &launch); /* blocks begin again at 0 */
  return profile;
}

static void compare(const bf_emu_kernel *kernel, const bf_profile *told,
                    const bf_profile *counted) {
  for (unsigned i = 0; i < bf_emu_kernel_sites(kernel); i++) {
    bf_profile_row a = bf_profile_get(told, i), b = bf_profile_get(counted, i);
    assert_int_equal(a.executions, b.executions);
    assert_int_equal(a.wavefronts_load, b.wavefronts_load);
    assert_int_equal(a.wavefronts_store, b.wavefronts_store);
    assert_int_equal(a.ideal, b.ideal);
    assert_int_equal(a.conflicts, b.conflicts);
    assert_int_equal(a.worst, b.worst);
    assert_int_equal(a.worst_block, b.worst_block);
    assert_int_equal(a.worst_access.mask, b.worst_access.mask);
    for (unsigned lane = 0; lane < 32; lane++)
      if (a.worst_access.mask >> lane & 1)
        assert_int_equal(a.worst_access.address[lane], b.worst_access.address[lane]);
  }
  const bf_workload *of_told = bf_profile_accesses(told), *own = bf_profile_accesses(counted);
  assert_int_equal(bf_workload_size(of_told), bf_workload_size(own));
  assert_true(bf_workload_size(own) > STEPS);
  for (size_t i = 0; i < bf_workload_size(own); i++)
    assert_int_equal(kept(of_told, bf_workload_get(own, i)), bf_workload_get(own, i)->count);
}

static void lines_are_counted_as_others(void **state) {
  (void)state;
  static const char *const sets[] = {"plain", "avx2", "avx512"};
  test_random random = {22};
  bf_machine *machine;
  size_t budget = 1 << 20;
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  for (unsigned round = 0; round < 18; round++) { /* the last ones of a lane alone */
    bed at;
    if (!bf_emu_isa_find(sets[round % 3]))
      continue;
    bed_open_text(&at, "lined.ptx", lined_text, sizeof lined_text - 1, sets[round % 3]);
    uint64_t table = bed_alloc(&at, sizeof(int32_t[STEPS][THREADS]), 0);
    for (unsigned i = 0; i < STEPS; i++)
      draw_places(&random, (int32_t *)(uintptr_t)table + i * THREADS);
    unsigned workers = 1 + round / 6 % 2, threads = round < 12 ? THREADS : 1;
    bf_profile *told = run_lined(&at, machine, table, true, threads, workers, &budget);
    bf_profile *counted = run_lined(&at, machine, table, false, threads, workers, &budget);
    compare(bed_launch(&at, "k", 1, 32, NULL, 0).kernel, told, counted);
    bf_profile_free(told);
    bf_profile_free(counted);
    bed_close(&at);
  }
  bf_machine_free(machine);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(accesses_made_again),
                                     cmocka_unit_test(lines_are_counted_as_others)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
