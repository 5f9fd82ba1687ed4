/* Machine files: whatever parses counts a plain access without complaint or with a diagnostic. */
#include "memory/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void count_access(const bf_machine *machine, bf_op op, unsigned width) {
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_access access = {.op = op, .width_bytes = width, .mask = 0xffff, .count = 1};
  for (unsigned lane = 0; lane < BF_MAX_LANES; lane++)
    access.address[lane] = lane * 16 % 64;
  bf_hash *hash;
  bf_count count;
  bf_diagnostic diagnostic;
  if (bf_hash_parse("none", &geometry, &hash, &diagnostic) != BF_OK)
    return;
  if (bf_memory_count(machine, hash, &access, &count, &diagnostic) == BF_OK)
    assert(count.wavefronts_load + count.wavefronts_store + count.wavefronts_atomic >= count.ideal);
  bf_hash_free(hash);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (!text)
    return 0;
  memcpy(text, data, size);
  text[size] = 0;
  bf_machine *machine;
  bf_diagnostic diagnostic = {0};
  if (bf_machine_parse("fuzz", text, &machine, &diagnostic) == BF_OK) {
    count_access(machine, BF_OP_LD, 4);
    count_access(machine, BF_OP_ST, 16);
    count_access(machine, BF_OP_ATOM, 4);
    bf_machine_free(machine);
  } else {
    assert(diagnostic.message[0]);
  }
  free(text);
  return 0;
}
