/* Lets allocation number 0, 1, 2, ... fail while a PTX file is rewritten: each time the answer is
 * that memory ran out. Leaks are found by the sanitizer. */
#include "../failing_memory.h"
#include "rewrite/rewrite.h"

static char text[1 << 20];

/* A module and the hash of its kernels. */
typedef struct subject {
  const bf_ptx_module *module;
  const bf_hash *hash;
} subject;

static const bf_hash *same(void *context, const bf_ptx_function *kernel,
                           const bf_ptx_variable *array) {
  (void)array;
  (void)kernel;
  return ((const subject *)context)->hash;
}

static int try_rewrite(const void *given) {
  bf_rewrite_options options = {
      .context = (void *)(uintptr_t)given, .hash_of = same, .padding_has_room = true};
  bf_rewrite_result result;
  int answer = verdict(bf_rewrite(((const subject *)given)->module, &options, &result, NULL));
  bf_rewrite_free(&result);
  return answer;
}

static int try_beside(const void *given) {
  bf_rewrite_options options = {.context = (void *)(uintptr_t)given,
                                .hash_of = same,
                                .padding_has_room = true,
                                .is_beside = true};
  bf_rewrite_result result;
  int answer = verdict(bf_rewrite(((const subject *)given)->module, &options, &result, NULL));
  bf_rewrite_free(&result);
  return answer;
}

static int try_examine(const void *module) {
  bf_rewrite_result result;
  int answer = verdict(bf_rewrite_examine(module, &result, NULL));
  bf_rewrite_free(&result);
  return answer;
}

int main(int count, char **argument) {
  static const bf_geometry geometry = {5, 16, 4};
  FILE *file = count == 2 ? fopen(argument[1], "rb") : NULL;
  bf_ptx_module *module;
  bf_hash *hash;
  if (!file)
    return 2;
  size_t size = fread(text, 1, sizeof text, file);
  fclose(file);
  if (bf_ptx_parse("test", text, size, &module, NULL) != BF_OK ||
      bf_hash_parse("bits:0,1,2^5^9,3^6,4^7", &geometry, &hash, NULL) != BF_OK)
    return 1;
  subject s = {module, hash};
  bool fine = all_fail_well("rewrite", try_rewrite, &s);
  fine &= all_fail_well("rewrite beside", try_beside, &s);
  fine &= all_fail_well("examine", try_examine, module);
  bf_hash_free(hash);
  bf_ptx_free(module);
  return !fine;
}
