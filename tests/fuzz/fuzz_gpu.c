/* GPU files: whatever parses can be checked, shown and changed. Files that name other files are
 * left out: what those hold is not the fuzzer's. */
#include "sim/sim.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A line "base ..." or "machine ..." that leads to a file. */
static bool names_a_file(const char *text) {
  for (const char *at = text; *at; at += *at == '\n') {
    at += strspn(at, " \t\r");
    size_t length = strcspn(at, "\n");
    if ((strncmp(at, "base", 4) == 0 || strncmp(at, "machine", 7) == 0) &&
        (memchr(at, '/', length) || memchr(at, '.', length)))
      return true;
    at += length;
  }
  return false;
}

/* Sets every parameter to the text of its own value: that changes nothing and is never refused. */
static void set_all(bf_sim_gpu *gpu) {
  for (const bf_sim_parameter *p = bf_sim_parameters; p->name; p++) {
    bf_text assignment = {0}, value = {0};
    bf_diagnostic diagnostic;
    bf_sim_gpu_get(gpu, p, &value);
    bf_text_addf(&assignment, "%s=%s", p->name, value.data);
    assert(bf_sim_gpu_set(gpu, assignment.data, &diagnostic) == BF_OK);
    bf_text_free(&assignment);
    bf_text_free(&value);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (!text)
    return 0;
  memcpy(text, data, size);
  text[size] = 0;
  bf_sim_gpu *gpu;
  bf_diagnostic diagnostic = {0};
  if (!names_a_file(text)) {
    if (bf_sim_gpu_parse("fuzz", text, &gpu, &diagnostic) == BF_OK) {
      assert(gpu->name && gpu->title && gpu->machine);
      set_all(gpu);
      assert(bf_sim_gpu_check(gpu, &diagnostic) == BF_OK);
      bf_sim_gpu_free(gpu);
    } else {
      assert(diagnostic.message[0]);
    }
  }
  free(text);
  return 0;
}
