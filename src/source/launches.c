/* The launches of kernels that sources have. */
#include "source/launches.h"

#include "base/table.h"
#include "source/launch_shape.h"

#include <stdlib.h>
#include <string.h>

/* How near to a kernel its launches are. */
typedef enum nearness { IN_FILE, IN_FOLDER, ANYWHERE } nearness;

enum { MOST_KEY = 1024 };

struct bf_source_launches {
  bf_arena arena;
  bf_table by_kernel; /* bf_launched */
  uint64_t key;
};

static void mix(bf_source_launches *launches, const void *bytes, size_t size) {
  for (size_t i = 0; i < size; i++)
    launches->key = (launches->key ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3ull;
}

/* Writes what the launches of a name are found under: that name in a file, in a folder, or
 * anywhere. */
static size_t write_key(char key[MOST_KEY], const char *file, nearness near, const char *name,
                        size_t length) {
  const char *slash = strrchr(file, '/');
  size_t kept = near == IN_FILE              ? strlen(file)
                : near == IN_FOLDER && slash ? (size_t)(slash - file)
                                             : 0;
  int size = snprintf(key, MOST_KEY, "%d %.*s %.*s", (int)near, (int)kept, file, (int)length, name);
  return size < MOST_KEY ? (size_t)size : MOST_KEY - 1;
}

/* Whether a launch is not added: its block is not known, or that of one that is there, or there are
 * many. Of these all are noted but those that have the values of one that is there too. */
static bool is_left_out(bf_launched *own, const bf_source_launch *launch) {
  for (unsigned i = 0; i < own->count && launch->is_known; i++)
    if (memcmp(own->block[i], launch->block, sizeof own->block[i]) == 0 &&
        memcmp(own->argument[i], launch->argument, sizeof own->argument[i]) == 0) {
      own->is_varied |= strcmp(own->values[i], launch->values) != 0;
      return true;
    }
  bool is_left = !launch->is_known || own->count == BF_MOST_LAUNCHED;
  own->is_cut |= is_left;
  return is_left;
}

/* Adds a launch to those of a name, or notes that it is left out. */
static int add_to(bf_source_launches *launches, const char *name, const char *file, nearness near,
                  const bf_source_launch *launch, bf_diagnostic *diagnostic) {
  char key[MOST_KEY];
  size_t size = write_key(key, file, near, name, strlen(name));
  void **place = bf_table_at(&launches->by_kernel, key, size);
  if (place && !*place)
    *place = bf_arena_alloc(&launches->arena, sizeof(bf_launched));
  if (!place || !*place)
    return bf_no_memory(diagnostic);
  bf_launched *own = *place;
  if (is_left_out(own, launch))
    return BF_OK;
  const char *slash = strrchr(file, '/');
  char text[512];
  snprintf(text, sizeof text, "launch%s at %.400s:%u",
           launch->is_template && !strchr(name, '<') ? " of the template" : "",
           slash ? slash + 1 : file, launch->line);
  own->from[own->count] = bf_arena_copy(&launches->arena, text);
  own->values[own->count] = bf_arena_copy(&launches->arena, launch->values);
  if (!own->from[own->count] || !own->values[own->count])
    return bf_no_memory(diagnostic);
  memcpy(own->grid[own->count], launch->grid, sizeof own->grid[0]);
  memcpy(own->argument[own->count], launch->argument, sizeof own->argument[0]);
  memcpy(own->block[own->count++], launch->block, sizeof own->block[0]);
  mix(launches, key, size);
  mix(launches, launch->block, sizeof launch->block);
  mix(launches, launch->argument, sizeof launch->argument);
  mix(launches, launch->grid, sizeof launch->grid);
  mix(launches, launch->values, strlen(launch->values));
  mix(launches, text, strlen(text));
  return BF_OK;
}

/* Adds a launch to those of its kernel, and of its instance of a template, near and far. */
static int add(bf_source_launches *launches, const char *file, const bf_source_launch *launch,
               bf_diagnostic *diagnostic) {
  char instance[2 * BF_SOURCE_MOST_NAME];
  snprintf(instance, sizeof instance, "%s%s", launch->kernel, launch->arguments);
  for (nearness near = IN_FILE; near <= ANYWHERE; near++) {
    if (launch->is_template)
      BF_TRY(add_to(launches, instance, file, near, launch, diagnostic));
    BF_TRY(add_to(launches, launch->kernel, file, near, launch, diagnostic));
  }
  return BF_OK;
}

/* Reads a file; one that is no source after all has no launches. */
static int read_file(bf_source_launches *launches, const char *path, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  bf_source *source = NULL;
  bf_source_launch launch;
  size_t cursor = 0;
  bf_diagnostic unused;
  int error = bf_read_file(path, SIZE_MAX, &text, &unused);
  if (!error && text.data && strstr(text.data, "<<<"))
    error = bf_source_read(path, text.data, text.size, &source, &unused);
  error = error == BF_NO_MEMORY ? bf_no_memory(diagnostic) : BF_OK;
  while (!error && source && bf_source_next_launch(source, &cursor, &launch))
    error = add(launches, path, &launch, diagnostic);
  bf_source_free(source);
  bf_text_free(&text);
  return error;
}

int bf_source_launches_read(const char *const *source, size_t count, bf_source_launches **launches,
                            bf_diagnostic *diagnostic) {
  bf_source_launches *own = calloc(1, sizeof *own);
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

/* Fills the sides of a block that are template arguments from the name of an instance; false where
 * one is no number that a block can have. */
static bool fill_sides(const char *readable, uint8_t argument[3], uint32_t block[3]) {
  uint64_t threads = 1;
  for (unsigned i = 0; i < 3; i++) {
    uint64_t value = block[i];
    const char *at = argument[i] ? bf_source_template_argument(readable, argument[i] - 1u) : NULL;
    if (argument[i] && (!at || !bf_parse_number(&at, &value)))
      return false;
    threads *= value <= 1024 ? value : 0;
    block[i] = (uint32_t)value;
    argument[i] = 0;
  }
  return threads > 0 && threads <= 1024;
}

/* The launches of an instance, of those of its template. */
static bool fill_all(const bf_launched *own, const char *readable, bf_launched *found) {
  *found = (bf_launched){.is_cut = own->is_cut, .is_varied = own->is_varied};
  for (unsigned i = 0; i < own->count; i++) {
    unsigned to = found->count;
    memcpy(found->block[to], own->block[i], sizeof own->block[i]);
    memcpy(found->argument[to], own->argument[i], sizeof own->argument[i]);
    memcpy(found->grid[to], own->grid[i], sizeof own->grid[i]);
    found->from[to] = own->from[i];
    found->values[to] = own->values[i];
    bool is_whole = !own->argument[i][0] && !own->argument[i][1] && !own->argument[i][2];
    found->count += is_whole || fill_sides(readable, found->argument[to], found->block[to]);
  }
  return found->count > 0;
}

/* Takes the last template argument off a name, which calls can leave to be deduced; false where it
 * is the only one. */
static bool drop_argument(char *name, size_t *size) {
  int depth = 0;
  for (size_t i = *size; i-- > 0;) {
    depth += (name[i] == '>' || name[i] == ')') - (name[i] == '<' || name[i] == '(');
    if (depth == 0)
      return false;
    if (depth == 1 && name[i] == ',') {
      name[i] = '>';
      *size = i + 1;
      return true;
    }
  }
  return false;
}

/* The launches of a name that are as near as that; NULL where the block of none is known. */
static const bf_launched *find_name(const bf_source_launches *launches, const char *file,
                                    nearness near, const char *name, size_t size) {
  char key[MOST_KEY];
  const bf_launched *own =
      bf_table_find(&launches->by_kernel, key, write_key(key, file, near, name, size));
  return own && own->count ? own : NULL;
}

/* The launches of a kernel that are as near as that: of its instance, of one whose last arguments
 * are deduced, or of any. instance is without spaces. */
static const bf_launched *find_near(const bf_source_launches *launches, const char *file,
                                    nearness near, const char *instance, size_t size, size_t bare) {
  char name[2 * BF_SOURCE_MOST_NAME];
  memcpy(name, instance, size);
  const bf_launched *own = find_name(launches, file, near, name, size);
  while (!own && drop_argument(name, &size))
    own = find_name(launches, file, near, name, size);
  return own ? own : find_name(launches, file, near, name, bare);
}

/* Whether a character ends a whole number that is a template argument, as in <512u>: size
 * characters before it are there. */
static bool is_suffix(const char *instance, size_t size, char letter) {
  size_t digits = 0;
  while (digits < size && instance[size - 1 - digits] >= '0' && instance[size - 1 - digits] <= '9')
    digits++;
  return strchr("uUlL", letter) && digits && digits < size &&
         strchr("<,(-", instance[size - 1 - digits]);
}

bool bf_source_launches_find(const bf_source_launches *launches, const char *file,
                             const char *readable, bf_launched *found) {
  const char *name;
  size_t length;
  static const char anonymous[] = "(anonymous namespace)::";
  bool is_hidden = strncmp(readable, anonymous, sizeof anonymous - 1) == 0;
  bare_name(readable + (is_hidden ? sizeof anonymous - 1 : 0), &name, &length);
  char instance[2 * BF_SOURCE_MOST_NAME];
  size_t size = 0;
  for (const char *at = name; *at && size < sizeof instance; at++)
    if (*at != ' ' && !is_suffix(instance, size, *at))
      instance[size++] = *at;
  const bf_launched *own = NULL;
  for (nearness near = IN_FILE; near <= ANYWHERE && !own; near++)
    own = find_near(launches, file, near, instance, size, length);
  return own && fill_all(own, name, found);
}

uint64_t bf_source_launches_key(const bf_source_launches *launches) { return launches->key; }

void bf_source_launches_free(bf_source_launches *launches) {
  if (launches)
    bf_arena_free(&launches->arena);
  free(launches);
}
