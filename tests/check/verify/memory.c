/* Lets allocation number 0, 1, 2, ... fail while a pair of original and rewritten PTX is judged,
 * good and with a fault in it: each time the answer is that memory ran out. Leaks are found by the
 * sanitizer. */
#include "../failing_memory.h"
#include "verify/verify.h"

#include <string.h>

enum { MOST_TEXT = 1 << 16, MOST_HASHES = 8 };

/* Hashes by the names of kernels, or of kernels and arrays. */
typedef struct hash_names {
  unsigned count;
  char name[MOST_HASHES][64];
  bf_hash *hash[MOST_HASHES];
} hash_names;

typedef struct subject {
  const bf_ptx_module *original, *rewritten;
  hash_names hashes;
} subject;

/* The hash of an array where it has its own, else that of the kernel. */
static const bf_hash *find(void *context, const bf_ptx_function *kernel,
                           const bf_ptx_variable *array) {
  const hash_names *hashes = context;
  const bf_hash *found = NULL;
  char name[256];
  snprintf(name, sizeof name, "%s/%s", kernel->name, array ? array->name : "");
  for (unsigned i = 0; i < hashes->count; i++)
    if (!strcmp(hashes->name[i], kernel->name))
      found = hashes->hash[i];
  for (unsigned i = 0; i < hashes->count; i++)
    if (!strcmp(hashes->name[i], name))
      return hashes->hash[i];
  return found;
}

static int try_verify(const void *given) {
  const subject *s = given;
  bf_verify_result result;
  int answer = verdict(
      bf_verify(s->original, s->rewritten, (void *)(uintptr_t)&s->hashes, find, &result, NULL));
  bf_verify_free(&result);
  return answer;
}

/* One side of a pair: lines without a mark and those with mark; of is replaced by by, which is as
 * long, where it first occurs. */
static bf_ptx_module *read_side(const char *path, char mark, const char *of, const char *by) {
  static char text[MOST_TEXT];
  char line[256];
  size_t size = 0;
  bf_ptx_module *module = NULL;
  FILE *file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file) && size < sizeof text - sizeof line) {
    bool is_marked = *line == '-' || *line == '+';
    if (!is_marked || *line == mark)
      size += (size_t)snprintf(text + size, sizeof text - size, "%s", line + is_marked);
  }
  if (file)
    fclose(file);
  char *at = of ? strstr(text, of) : NULL;
  if (at)
    memcpy(at, by, strlen(by));
  return bf_ptx_parse(path, text, size, &module, NULL) == BF_OK ? module : NULL;
}

/* KERNEL=HASH and KERNEL/ARRAY=HASH; false where one is wrong. */
static bool read_hashes(int count, char **argument, hash_names *hashes) {
  static const bf_geometry geometry = {5, 16, 4};
  for (int i = 0; i < count && i < MOST_HASHES; i++) {
    char *is = strchr(argument[i], '=');
    if (!is)
      return false;
    snprintf(hashes->name[i], sizeof hashes->name[i], "%.*s", (int)(is - argument[i]), argument[i]);
    if (strcmp(is + 1, "none") && bf_hash_parse(is + 1, &geometry, &hashes->hash[i], NULL) != BF_OK)
      return false;
    hashes->count++;
  }
  return true;
}

int main(int count, char **argument) {
  subject s = {0};
  bool fine = count > 2 && read_hashes(count - 2, argument + 2, &s.hashes);
  for (unsigned faulty = 0; fine && faulty < 2; faulty++) {
    bf_ptx_module *original = read_side(argument[1], '-', NULL, NULL);
    bf_ptx_module *rewritten = read_side(argument[1], '+', faulty ? "\nxor." : NULL, "\nand.");
    s.original = original;
    s.rewritten = rewritten;
    fine = original && rewritten && all_fail_well(argument[1], try_verify, &s);
    bf_ptx_free(original);
    bf_ptx_free(rewritten);
  }
  for (unsigned i = 0; i < s.hashes.count; i++)
    bf_hash_free(s.hashes.hash[i]);
  return !fine;
}
