/* What the tests of the public header share. They go through bankfold.h alone, and all bytes they
 * hand over end where the allocation ends, so that sanitizers see a read too far. */
#ifndef BF_TESTS_API_H
#define BF_TESTS_API_H

#include "bankfold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline bf_machine *load_machine(const char *name) {
  bf_machine *machine;
  bf_diagnostic diagnostic;
  if (bf_machine_load(name, NULL, &machine, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  return machine;
}

static inline bf_hash *parse_hash(const char *text, const bf_machine *machine) {
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_hash *hash;
  assert_int_equal(bf_hash_parse(text, &geometry, &hash, NULL), BF_OK);
  return hash;
}

/* The bytes of a file. */
static inline char *read_bytes(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file)
    fail_msg("%s: cannot open", path);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*size ? *size : 1);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, *size, file), *size);
  fclose(file);
  return bytes;
}

/* A module in memory that is gone when this returns. */
static inline bf_module *parse_bytes(const char *bytes, size_t size, const char *name) {
  bf_module *module;
  bf_diagnostic diagnostic;
  char *copy = malloc(size ? size : 1);
  assert_non_null(copy);
  memcpy(copy, bytes, size);
  if (bf_module_parse(copy, size, name, &module, &diagnostic) != BF_OK)
    fail_msg("%s:%u: %s", diagnostic.file, (unsigned)diagnostic.line, diagnostic.message);
  free(copy);
  return module;
}

static inline bf_module *parse_file(const char *path) {
  size_t size;
  char *bytes = read_bytes(path, &size);
  bf_module *module = parse_bytes(bytes, size, path);
  free(bytes);
  return module;
}

/* What was said last, and how often something was. */
typedef struct heard {
  unsigned remarks, warnings;
  char last[256];
} heard;

static inline void listen(void *context, bf_log_level level, const char *message) {
  heard *to = context;
  to->remarks += level == BF_LOG_REMARK;
  to->warnings += level == BF_LOG_WARNING;
  snprintf(to->last, sizeof to->last, "%s", message);
}

#endif
