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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(accesses_made_again)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
