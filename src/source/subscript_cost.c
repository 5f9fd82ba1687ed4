/* What elements of shared arrays cost, as they are and with longer rows. */
#include "source/subscript.h"

int bf_subscript_count(const char *const *texts, unsigned count, const bf_subscript_array *array,
                       const bf_subscript_place *place, const bf_machine *machine, bf_op op,
                       int extra, bf_subscript_cost *cost, bf_diagnostic *diagnostic) {
  unsigned lanes = bf_machine_lanes(machine);
  uint64_t threads = (uint64_t)place->block[0] * place->block[1] * place->block[2];
  *cost = (bf_subscript_cost){0, 0, 0};
  for (unsigned i = 0; i < count; i++)
    for (unsigned warp = 0; warp < (threads + lanes - 1) / lanes; warp++) {
      bf_access access = {.op = op};
      bf_count own;
      BF_TRY(bf_subscript_warp(texts[i], array, place, warp, lanes, extra, &access, diagnostic));
      BF_TRY(bf_memory_count(machine, NULL, &access, &own, diagnostic));
      cost->accesses++;
      cost->ideal += own.ideal;
      cost->wavefronts += own.ideal + own.conflicts;
    }
  return BF_OK;
}

int bf_subscript_pad(const char *const *texts, unsigned count, const bf_subscript_array *array,
                     const bf_subscript_place *place, const bf_machine *machine, bf_op op,
                     int *extra, bf_subscript_cost *cost, bf_diagnostic *diagnostic) {
  bf_geometry geometry = bf_machine_geometry(machine);
  int most = (int)((geometry.word_bytes << geometry.bank_bits) / array->element_bytes);
  *extra = 0;
  BF_TRY(bf_subscript_count(texts, count, array, place, machine, op, 0, cost, diagnostic));
  for (int longer = 1; longer < most && cost->wavefronts > cost->ideal && array->dimensions > 1;
       longer++) {
    bf_subscript_cost own;
    BF_TRY(bf_subscript_count(texts, count, array, place, machine, op, longer, &own, diagnostic));
    if (own.wavefronts < cost->wavefronts) {
      *cost = own;
      *extra = longer;
    }
  }
  return BF_OK;
}
