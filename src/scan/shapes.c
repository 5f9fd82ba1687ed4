/* The blocks that launches in sources have. */
#include "scan/inner.h"

#include "base/table.h"
#include "source/launch_shape.h"

#include <stdlib.h>
#include <string.h>

struct scan_launches {
  bf_arena arena;
  bf_table by_kernel; /* scan_shapes */
  uint64_t key;
};

static void mix(scan_launches *launches, const void *bytes, size_t size) {
  for (size_t i = 0; i < size; i++)
    launches->key = (launches->key ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3ull;
}

/* Adds a launch to those of a name, unless it is known, or there are many. */
static int add_to(scan_launches *launches, const char *name, const char *file,
                  const bf_source_launch *launch, bf_diagnostic *diagnostic) {
  void **place = bf_table_at(&launches->by_kernel, name, strlen(name));
  if (place && !*place)
    *place = bf_arena_alloc(&launches->arena, sizeof(scan_shapes));
  if (!place || !*place)
    return bf_no_memory(diagnostic);
  scan_shapes *own = *place;
  for (unsigned i = 0; i < own->count; i++)
    if (memcmp(own->block[i], launch->block, sizeof own->block[i]) == 0)
      return BF_OK;
  if (own->count == SCAN_MOST_SHAPES)
    return BF_OK;
  const char *slash = strrchr(file, '/');
  char text[512];
  snprintf(text, sizeof text, "launch%s at %.400s:%u",
           launch->is_template && !strchr(name, '<') ? " of the template" : "",
           slash ? slash + 1 : file, launch->line);
  own->from[own->count] = bf_arena_copy(&launches->arena, text);
  if (!own->from[own->count])
    return bf_no_memory(diagnostic);
  memcpy(own->block[own->count++], launch->block, sizeof own->block[0]);
  mix(launches, name, strlen(name) + 1);
  mix(launches, launch->block, sizeof launch->block);
  mix(launches, text, strlen(text));
  return BF_OK;
}

/* Adds a launch to those of its kernel, and of its instance of a template. */
static int add(scan_launches *launches, const char *file, const bf_source_launch *launch,
               bf_diagnostic *diagnostic) {
  char instance[2 * BF_SOURCE_MOST_NAME];
  snprintf(instance, sizeof instance, "%s%s", launch->kernel, launch->arguments);
  if (launch->is_template)
    BF_TRY(add_to(launches, instance, file, launch, diagnostic));
  return add_to(launches, launch->kernel, file, launch, diagnostic);
}

/* Reads a file; one that is no source after all has no launches. */
static int read_file(scan_launches *launches, const char *path, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  bf_source *source = NULL;
  bf_source_launch launch;
  size_t cursor = 0;
  int error = BF_OK;
  bf_diagnostic unused;
  if (bf_read_file(path, SIZE_MAX, &text, &unused) == BF_OK && strstr(text.data, "<<<") &&
      bf_source_read(path, text.data, text.size, &source, &unused) == BF_OK)
    while (!error && bf_source_next_launch(source, &cursor, &launch))
      if (launch.is_known)
        error = add(launches, path, &launch, diagnostic);
  bf_source_free(source);
  bf_text_free(&text);
  return error;
}

int scan_launches_read(const char *const *source, size_t count, scan_launches **launches,
                       bf_diagnostic *diagnostic) {
  scan_launches *own = calloc(1, sizeof *own);
  *launches = own;
  if (!own)
    return bf_no_memory(diagnostic);
  own->by_kernel.arena = &own->arena;
  own->key = 0xcbf29ce484222325ull;
  for (size_t i = 0; i < count; i++)
    BF_TRY(read_file(own, source[i], diagnostic));
  return BF_OK;
}

/* The name of a kernel without namespaces, template arguments and parameters. */
static void bare_name(const char *readable, const char **name, size_t *length) {
  static const char anonymous[] = "(anonymous namespace)";
  const char *start = readable, *at = readable;
  while (*at && *at != '<' && *at != '(') {
    if (strncmp(at, "::", 2) == 0)
      start = at + 2;
    at++;
    if (strncmp(at, anonymous, sizeof anonymous - 1) == 0)
      at += sizeof anonymous - 1;
  }
  *name = start;
  *length = (size_t)(at - start);
}

const scan_shapes *scan_launches_find(const scan_launches *launches, const char *readable) {
  const char *name;
  size_t length;
  static const char anonymous[] = "(anonymous namespace)::";
  bool is_hidden = strncmp(readable, anonymous, sizeof anonymous - 1) == 0;
  bare_name(readable + (is_hidden ? sizeof anonymous - 1 : 0), &name, &length);
  char instance[2 * BF_SOURCE_MOST_NAME];
  size_t size = 0;
  for (const char *at = name; *at && size < sizeof instance; at++)
    if (*at != ' ')
      instance[size++] = *at;
  const scan_shapes *own = bf_table_find(&launches->by_kernel, instance, size);
  return own ? own : bf_table_find(&launches->by_kernel, name, length);
}

uint64_t scan_launches_key(const scan_launches *launches) { return launches->key; }

void scan_launches_free(scan_launches *launches) {
  if (launches)
    bf_arena_free(&launches->arena);
  free(launches);
}
