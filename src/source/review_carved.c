/* Shared memory whose size comes with the launch, and that a kernel carves by hand: each pointer
 * into it is an array of its own, where it is known which accesses go through it.
 *
 * An access on a line that names one pointer only goes through that; these accesses say which bytes
 * belong to the pointer, and accesses on other lines belong to the pointer that has their bytes. */
#include "source/review_inner.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 16 };

/* A pointer, or the array itself, and the bytes that it leads to. */
typedef struct part {
  bf_source_array *declared;
  bf_source_use *use;
  size_t uses;
  uint64_t first, end; /* bytes of the array; first == end: none is known */
} part;

typedef struct carving {
  bf_review *review;
  size_t array; /* number of the array that is carved */
  part part[MOST_PARTS];
  unsigned parts;
} carving;

/* The name of a file without its folders. */
static const char *plain_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Instructions of a kernel that come from lines first to last of the source. */
static uint64_t count_lines(const bf_review *review, const bf_ptx_function *kernel, uint64_t first,
                            uint64_t last) {
  uint64_t count = 0, line;
  for (uint32_t i = 0; i < kernel->instructions; i++) {
    const char *file = NULL;
    bf_ptx_source_line(review->module, kernel->instruction[i], &file, &line);
    count += file && line >= first && line <= last &&
             strcmp(plain_name(file), plain_name(review->source->file)) == 0;
  }
  return count;
}

/* The function of the source that a kernel is: of several with its name the one that most of its
 * instructions come from. tokens where it is not there. */
static size_t kernel_function(const bf_review *review, const bf_review_array *array) {
  const bf_source *source = review->source;
  size_t best = source->tokens;
  uint64_t most = 0;
  for (size_t i = 0; i + 1 < source->tokens; i++) {
    if (!bf_review_is_function(source, i, array->kernel_name) || !bf_source_is(source, i + 1, "("))
      continue;
    size_t body = source->token[i + 1].partner + 1;
    if (body >= source->tokens || !bf_source_is(source, body, "{") ||
        source->token[body].partner >= source->tokens)
      continue;
    uint64_t count = count_lines(review, array->kernel, source->token[i].line,
                                 source->token[source->token[body].partner].line);
    if (best < source->tokens && count <= most)
      continue;
    best = i;
    most = count;
  }
  return best;
}

/* The bytes of an access. */
static void extent(const bf_access *access, uint64_t *first, uint64_t *end) {
  *first = UINT64_MAX;
  *end = 0;
  for (uint64_t left = access->mask; left; left &= left - 1) {
    uint64_t address = access->address[__builtin_ctzll(left)];
    *first = address < *first ? address : *first;
    *end = address + access->width_bytes > *end ? address + access->width_bytes : *end;
  }
}

/* The only part that the line of an access names; NULL: none or several. */
static part *named_part(carving *c, const bf_access *access) {
  const char *place = bf_site_place(&c->review->names, access->site);
  uint64_t line = place ? bf_site_line(place, c->review->source->file) : 0;
  part *found = NULL;
  for (unsigned i = 0; line && i < c->parts; i++) {
    if (!bf_review_is_of_use(c->review->source, c->part[i].use, c->part[i].uses, line))
      continue;
    if (found)
      return NULL;
    found = &c->part[i];
  }
  return found;
}

/* Finds the bytes of each part; false where two share some. */
static bool find_extents(carving *c) {
  const bf_workload *workload = c->review->array[c->array].shared.workload;
  for (size_t i = 0; i < bf_workload_size(workload); i++) {
    const bf_access *access = bf_workload_get(workload, i);
    part *own = named_part(c, access);
    uint64_t first, end;
    if (!own)
      continue;
    extent(access, &first, &end);
    bool is_new = own->first == own->end;
    own->first = is_new || first < own->first ? first : own->first;
    own->end = is_new || end > own->end ? end : own->end;
  }
  for (unsigned i = 0; i < c->parts; i++)
    for (unsigned k = 0; k < i; k++)
      if (c->part[i].first < c->part[k].end && c->part[k].first < c->part[i].end)
        return false;
  return true;
}

/* The part that has all bytes of an access; parts where none has. */
static unsigned part_of(const carving *c, const bf_access *access) {
  uint64_t first, end;
  unsigned i = 0;
  extent(access, &first, &end);
  while (i < c->parts && !(c->part[i].first <= first && end <= c->part[i].end))
    i++;
  return i;
}

/* Lists the pointers into an array, and the array itself where it is used as one. */
static int list_parts(carving *c, bf_diagnostic *diagnostic) {
  bf_review *review = c->review;
  const bf_review_array *array = &review->array[c->array];
  bf_source *source = review->source;
  bf_source_array *found = bf_arena_alloc(&source->arena, MOST_PARTS * sizeof *found);
  size_t function = kernel_function(review, array), count = 0;
  if (!found)
    return bf_no_memory(diagnostic);
  if (function == source->tokens)
    return BF_OK;
  BF_TRY(bf_source_carved(source, function, array->shared.name, found, MOST_PARTS - 1, &count));
  if (count && array->declared) {
    found[count] = *array->declared;
    bf_source_pass_over(found, count, &found[count]);
    count++;
  }
  for (size_t i = 0; i < count; i++) {
    char refused[BF_REVIEW_MOST_REASON];
    part *own = &c->part[c->parts];
    *own = (part){.declared = &found[i]};
    BF_TRY(bf_source_uses(source, &found[i], &own->use, &own->uses, refused, diagnostic));
    c->parts += own->uses > 0;
  }
  return BF_OK;
}

/* The same declaration where another kernel has it too, as instances of a template do. */
static const bf_source_array *known_declaration(const bf_review *review,
                                                const bf_source_array *declared) {
  for (size_t i = 0; i < review->arrays; i++)
    if (review->array[i].declared && review->array[i].declared->token == declared->token &&
        (review->array[i].declared->is_pointer || review->array[i].declared->owner[0]))
      return review->array[i].declared;
  return declared;
}

/* Whether the bytes of a part begin where those of another end, or where the array does: then it is
 * seen where the part begins. */
static bool is_moored(const carving *c, const part *own) {
  bool is_behind = own->first == 0 || !own->declared->is_pointer;
  for (unsigned i = 0; i < c->parts; i++)
    is_behind |= c->part[i].first < own->first && c->part[i].end == own->first;
  return is_behind;
}

/* Makes an array of each part, with its accesses; those of no part stay. */
static int split(carving *c, bf_diagnostic *diagnostic) {
  bf_review *review = c->review;
  bf_review_array *grown = realloc(review->array, (review->arrays + c->parts + 1) * sizeof *grown);
  bf_workload *rest;
  if (!grown)
    return bf_no_memory(diagnostic);
  review->array = grown;
  bf_review_array *whole = &grown[c->array];
  if (bf_workload_create(&rest) != BF_OK)
    return bf_no_memory(diagnostic);
  size_t first = review->arrays;
  int error = BF_OK;
  for (unsigned i = 0; i < c->parts && !error; i++) {
    bf_review_array *own = &grown[review->arrays];
    *own = *whole;
    own->shared.merged = NULL;
    own->shared.workload = NULL;
    own->shared.name = c->part[i].declared->name;
    own->declared = known_declaration(review, c->part[i].declared);
    own->missing[0] = 0;
    own->part_bytes = c->part[i].first;
    if (c->part[i].declared->owner[0])
      own->shared.bytes = c->part[i].end - c->part[i].first;
    own->is_adrift = c->part[i].declared->is_varying || !is_moored(c, &c->part[i]);
    error = bf_workload_create(&own->shared.workload) ? bf_no_memory(diagnostic) : BF_OK;
    review->arrays += !error;
  }
  const bf_workload *workload = whole->shared.workload;
  for (size_t i = 0; i < bf_workload_size(workload) && !error; i++) {
    bf_access access = *bf_workload_get(workload, i);
    unsigned number = part_of(c, &access);
    for (uint64_t left = access.mask; number < c->parts && left; left &= left - 1)
      access.address[__builtin_ctzll(left)] -= (uint32_t)c->part[number].first;
    bf_workload *to = number < c->parts ? grown[first + number].shared.workload : rest;
    error = bf_workload_add(to, &access) ? bf_no_memory(diagnostic) : BF_OK;
  }
  bf_workload_free(whole->shared.workload);
  bf_workload_free(whole->shared.merged);
  whole->shared.workload = rest;
  whole->shared.merged = NULL;
  whole->is_asked = whole->is_asked && bf_workload_size(rest) > 0;
  return error;
}

/* ---- Members of a struct ---- */

/* The bytes of a member, and what it is aligned to; false where they are not known. */
static bool size_of(const bf_review *review, const bf_review_array *array,
                    const bf_source_array *member, uint64_t *bytes, unsigned *align) {
  unsigned element = bf_source_element_bytes(review->source, member, array->kernel_name);
  *bytes = element;
  *align = element & -element;
  for (unsigned i = 0; i < member->dimensions && element; i++) {
    size_t open = member->dimension[i];
    uint64_t value;
    if (!bf_source_value(review->source, member, array->kernel_name, open + 1,
                         review->source->token[open].partner, &value) ||
        value == 0 || value > UINT32_MAX || *bytes > UINT32_MAX)
      return false;
    *bytes *= value;
  }
  return element > 0;
}

/* Lists the members of a struct that are arrays, with their bytes; false where these are not all of
 * its own. */
static int list_members(carving *c, bool *is_good, bf_diagnostic *diagnostic) {
  bf_review *review = c->review;
  const bf_review_array *array = &review->array[c->array];
  bf_source *source = review->source;
  bf_source_array *found = bf_arena_alloc(&source->arena, MOST_PARTS * sizeof *found);
  size_t function = kernel_function(review, array), count = 0;
  uint64_t at = 0;
  unsigned most = 1;
  *is_good = false;
  if (!found)
    return bf_no_memory(diagnostic);
  if (function == source->tokens ||
      !bf_source_members(source, function, array->shared.name, found, MOST_PARTS, &count))
    return BF_OK;
  for (size_t i = 0; i < count; i++) {
    uint64_t bytes;
    unsigned align;
    if (!size_of(review, array, &found[i], &bytes, &align))
      return BF_OK;
    at = (at + align - 1) / align * align;
    if (found[i].dimensions)
      c->part[c->parts++] = (part){.declared = &found[i], .first = at, .end = at + bytes};
    at += bytes;
    most = align > most ? align : most;
  }
  *is_good = (at + most - 1) / most * most == array->variable->bytes;
  return BF_OK;
}

int bf_review_carve(bf_review *review, bf_diagnostic *diagnostic) {
  size_t arrays = review->arrays;
  for (size_t i = 0; i < arrays && review->source; i++) {
    carving c = {.review = review, .array = i};
    const bf_review_array *own = &review->array[i];
    if (own->variable->bytes && !own->declared && own->function) {
      bool is_good;
      BF_TRY(list_members(&c, &is_good, diagnostic));
      if (is_good && c.parts)
        BF_TRY(split(&c, diagnostic));
      continue;
    }
    if (review->array[i].variable->bytes || !bf_workload_size(review->array[i].shared.workload))
      continue;
    BF_TRY(list_parts(&c, diagnostic));
    bool is_carved = false;
    for (unsigned k = 0; k < c.parts; k++)
      is_carved |= c.part[k].declared->is_pointer;
    if (is_carved && find_extents(&c))
      BF_TRY(split(&c, diagnostic));
  }
  return BF_OK;
}
