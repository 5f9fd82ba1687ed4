/* Suggestions as text and as JSON. */
#include "cli/use/suggest_table.h"

#include "report/report.h"

#include <string.h>

enum { MOST_LINES = 8 };

static const char *plural(uint64_t number) { return number == 1 ? "" : "s"; }

/* ---- Parts that text and JSON share ---- */

/* "float [32][32]" */
static void write_shape(const bf_review_array *item, bf_text *text) {
  const bf_shared_array *shared = &item->shared;
  if (!item->declared || !shared->dimensions) {
    bf_text_addf(text, "%llu bytes", (unsigned long long)shared->bytes);
    return;
  }
  bf_text_addf(text, "%s ", item->own->type);
  for (unsigned i = 0; i < shared->dimensions; i++)
    if (i == 0 && item->own->is_open)
      bf_text_puts(text, "[]");
    else
      bf_text_addf(text, "[%llu]", (unsigned long long)shared->dimension[i]);
}

/* The bank hash that does the same, or nothing. */
static void write_hash(const bf_review *review, const bf_suggestion *suggestion, bf_text *text) {
  bf_geometry geometry = bf_machine_geometry(review->machine);
  bf_hash *hash;
  if (!bf_index_hash(&suggestion->map, &geometry, &hash))
    return;
  for (unsigned i = 0; bf_hash_forms[i] && text->size == 0; i++)
    if (bf_hash_convert(hash, bf_hash_forms[i], text, NULL) != BF_OK)
      text->size = 0;
  bf_hash_free(hash);
}

/* Whether the elements of an array must be written differently. */
static bool changes_elements(const bf_review_array *item, const bf_suggestion *suggestion) {
  return suggestion->map.terms || !bf_index_is_direct(&suggestion->map, &item->shared);
}

/* An element as it can be written where the source does not show one. */
static void write_example(const bf_review_array *item, const bf_suggestion *suggestion,
                          bf_text *before, bf_text *after) {
  static const char *const names[] = {"i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7"};
  static const char *const one[] = {"i"}, *const two[] = {"y", "x"},
                           *const three[] = {"z", "y", "x"};
  unsigned dimensions = item->shared.dimensions;
  const char *const *name = dimensions <= 1   ? one
                            : dimensions == 2 ? two
                            : dimensions == 3 ? three
                                              : names;
  bf_text_puts(before, item->shared.name);
  for (unsigned i = 0; i < (dimensions ? dimensions : 1); i++)
    bf_text_addf(before, "[%s]", name[i]);
  bf_index_write_element(&suggestion->map, &item->shared, item->macro, name, name, after);
}

/* Leaves nothing in a text that a terminal takes as a command. */
static void clean(bf_text *text) {
  for (size_t i = 0; i < text->size; i++)
    if ((unsigned char)text->data[i] < ' ' || text->data[i] == 0x7f)
      text->data[i] = ' ';
}

/* Calls show for every element of the array in the source; false where there is none to show. */
static bool
for_each_use(const bf_review *review, const bf_review_array *item, const bf_suggestion *suggestion,
             void (*show)(void *context, uint32_t line, const char *before, const char *after),
             void *context) {
  bf_source_use *use;
  size_t uses = 0;
  char problem[200];
  if (!item->declared || !item->shared.dimensions ||
      bf_source_uses(review->source, item->declared, &use, &uses, problem, NULL) != BF_OK)
    return false;
  bf_patch_array change = bf_review_change(item, suggestion);
  bf_patch_find_effects(review->source, use, uses, &change);
  for (size_t i = 0; i < uses; i++) {
    bf_text before = {0}, after = {0};
    bf_patch_write_before(review->source, &use[i], &before);
    bf_patch_write_after(review->source, &change, &use[i], &after);
    clean(&before);
    clean(&after);
    if (!before.failed && !after.failed && before.data && after.data)
      show(context, review->source->token[use[i].token].line, before.data, after.data);
    bf_text_free(&before);
    bf_text_free(&after);
  }
  return uses > 0;
}

/* ---- Text ---- */

typedef struct showing {
  const bf_review *review;
  bf_text *text;
  bf_json *json;
} showing;

static void show_use(void *context, uint32_t line, const char *before, const char *after) {
  showing *s = context;
  bf_text_addf(s->text, "       %s:%u: %s -> %s\n", s->review->source->file, line, before, after);
}

static void write_changes(const bf_review *review, const bf_review_array *item,
                          const bf_suggestion *suggestion, bf_text *text) {
  showing context = {.review = review, .text = text};
  if (suggestion->map.row_elements && item->declared && item->shared.dimensions &&
      !item->declared->is_open) {
    bf_patch_array change = bf_review_change(item, suggestion);
    bf_text_addf(text, "       %s:%u: declare ", review->source->file,
                 review->source->token[item->own->token].line);
    bf_patch_write_declaration(review->source, &change, text);
    bf_text_puts(text, "\n");
  }
  if (suggestion->map.element_pad_bytes)
    bf_text_addf(text,
                 "       make an element %u bytes instead of %u, by a member that is not used\n",
                 suggestion->map.element_bytes + suggestion->map.element_pad_bytes,
                 suggestion->map.element_bytes);
  if (!changes_elements(item, suggestion))
    return;
  bf_text definition = {0};
  bf_review_write_definition(review, item, suggestion, &definition);
  if (definition.data)
    bf_text_addf(text, "       %s\n", definition.data);
  bf_text_free(&definition);
  if (for_each_use(review, item, suggestion, show_use, &context))
    return;
  bf_text before = {0}, after = {0};
  write_example(item, suggestion, &before, &after);
  bf_text_addf(text, "       %s -> %s\n", before.data ? before.data : "",
               after.data ? after.data : "");
  text->failed |= before.failed || after.failed;
  bf_text_free(&before);
  bf_text_free(&after);
}

/* "no conflicts, 64 wavefronts, 1 instruction per access, no more memory" */
static void write_cost(const bf_suggestion *suggestion, bf_text *text) {
  if (suggestion->conflicts)
    bf_text_addf(text, "%llu conflict%s", (unsigned long long)suggestion->conflicts,
                 plural(suggestion->conflicts));
  else
    bf_text_puts(text, "no conflicts");
  bf_text_addf(text, ", %llu wavefront%s", (unsigned long long)suggestion->wavefronts,
               plural(suggestion->wavefronts));
  if (suggestion->instructions)
    bf_text_addf(text, ", %u instruction%s per access", suggestion->instructions,
                 plural(suggestion->instructions));
  else
    bf_text_puts(text, ", no instructions");
  if (suggestion->extra_bytes)
    bf_text_addf(text, ", %llu bytes more\n", (unsigned long long)suggestion->extra_bytes);
  else
    bf_text_puts(text, ", no more memory\n");
}

static void write_suggestion(const bf_review *review, const bf_review_array *item, int kind,
                             bf_text *text) {
  static const char *const titles[] = {"swizzle", "padding", "CuTe"};
  const bf_suggestion *suggestion = &item->suggestions.of[kind];
  bf_text_addf(text, "  %d. %s: ", kind + 1, titles[kind]);
  if (!suggestion->exists) {
    bf_text_puts(text, "none is worth its cost\n");
    return;
  }
  write_cost(suggestion, text);
  if (kind == BF_SUGGEST_CUTE) {
    bf_text_puts(text, "       ");
    bf_index_write_cute(&suggestion->map, &item->shared, text);
    bf_text_puts(text, "\n");
    return;
  }
  write_changes(review, item, suggestion, text);
  bf_text hash = {0};
  write_hash(review, suggestion, &hash);
  if (hash.size)
    bf_text_addf(text, "       as a hash of the banks: %s\n", hash.data);
  bf_text_free(&hash);
}

/* The lines that access the array, most conflicts first. */
static void write_lines(const bf_review *review, const bf_review_array *item, bf_text *text) {
  bf_geometry geometry = bf_machine_geometry(review->machine);
  bf_hash *none = NULL;
  bf_tally *tally = NULL;
  if (bf_hash_parse("none", &geometry, &none, NULL) == BF_OK)
    bf_tally_create(review->machine,
                    item->shared.merged ? item->shared.merged : item->shared.workload, none, none,
                    &tally, NULL);
  for (size_t i = 0; tally && i < tally->sites && i < MOST_LINES; i++) {
    const bf_tally_site *site = &tally->site[i];
    const char *name = bf_site_place(&review->names, site->site);
    bf_text_addf(text, "    %llu conflict%s in %llu access%s: %s %u at %s\n",
                 (unsigned long long)site->conflicts, plural(site->conflicts),
                 (unsigned long long)site->executions, site->executions == 1 ? "" : "es",
                 bf_op_name(site->op), site->width_bytes, name ? name : "?");
  }
  if (tally && tally->sites > MOST_LINES)
    bf_text_addf(text, "    and %zu more lines\n", tally->sites - MOST_LINES);
  bf_tally_free(tally);
  bf_hash_free(none);
}

static void write_patch_state(const bf_review_array *item, bf_text *text) {
  if (item->is_patched)
    bf_text_addf(text, "  patch: %s%s\n", item->patched.map.terms ? "swizzle" : "padding",
                 item->declared && item->declared->is_open &&
                         !bf_index_is_direct(&item->patched.map, &item->shared)
                     ? ", if every launch gives it whole rows of banks"
                     : "");
  else if (item->problem[0])
    bf_text_addf(text, "  no patch: %s\n", item->problem);
  if (item->is_checked)
    bf_text_addf(text, "  checked: %llu wavefronts, %llu conflict%s in the patched source\n",
                 (unsigned long long)item->checked_wavefronts,
                 (unsigned long long)item->checked_conflicts, plural(item->checked_conflicts));
}

void cli_suggest_table_write_array(const bf_review *review, const bf_review_array *item, bool color,
                                   bf_text *text) {
  const bf_suggestions *r = &item->suggestions;
  bf_text_addf(text, "%s%s: %s%s, ", color ? "\033[1m" : "", item->kernel_name, item->shared.name,
               color ? "\033[0m" : "");
  write_shape(item, text);
  if (item->declared)
    bf_text_addf(text, ", declared at %s:%u", review->source->file,
                 review->source->token[item->own->token].line);
  if (item->missing[0])
    bf_text_addf(text, "; %s", item->missing);
  if (r->accesses == 0) {
    bf_text_puts(text, "\n  no access to it was seen\n");
    return;
  }
  const char *paint = r->conflicts ? "\033[31m" : "\033[32m";
  bf_text_addf(text, "\n  %s%llu access%s, %llu wavefront%s, ideal %llu, ", color ? paint : "",
               (unsigned long long)r->accesses, r->accesses == 1 ? "" : "es",
               (unsigned long long)r->wavefronts, plural(r->wavefronts),
               (unsigned long long)r->ideal);
  if (r->conflicts)
    bf_text_addf(text, "%llu conflict%s", (unsigned long long)r->conflicts, plural(r->conflicts));
  else
    bf_text_puts(text, "no conflicts");
  bf_text_addf(text, "%s%s\n", r->estimated ? " (an estimate)" : "", color ? "\033[0m" : "");
  if (!r->conflicts)
    return;
  write_lines(review, item, text);
  for (int i = 0; i < BF_SUGGEST_KINDS; i++)
    write_suggestion(review, item, i, text);
  if (r->best >= 0)
    bf_text_addf(text, "  least: %s\n", bf_suggestion_name((bf_suggestion_kind)r->best));
  write_patch_state(item, text);
}

static void write_end(const cli_suggest_table *s, bf_text *text) {
  if (s->review->unknown)
    bf_text_addf(text,
                 "\nnote: %llu instruction%s not fully known without running; --launch or --run "
                 "tells all\n",
                 (unsigned long long)s->review->unknown, s->review->unknown == 1 ? " is" : "s are");
  if (s->review->mixed)
    bf_text_addf(text, "\nnote: %llu access%s to several arrays at once left out\n",
                 (unsigned long long)s->review->mixed, s->review->mixed == 1 ? "" : "es");
  if (s->patch_file && s->review->patch.edits)
    bf_text_addf(text, "\npatch written to %s: patch -p0 < %s\n", s->patch_file, s->patch_file);
  else if (s->patch_file)
    bf_text_addf(text, "\nnothing to patch; %s was not written\n", s->patch_file);
  if (s->is_checked)
    bf_text_addf(text, "\nchecked: results are %s%s\n", s->is_equal ? "equal" : "different: ",
                 s->is_equal          ? ""
                 : s->difference.data ? s->difference.data
                                      : "");
}

void cli_suggest_table_write_text(const cli_suggest_table *s, bool color, bf_text *text) {
  size_t shown = 0;
  for (size_t i = 0; i < s->review->arrays; i++) {
    if (!s->review->array[i].is_asked)
      continue;
    bf_text_puts(text, shown++ ? "\n" : "");
    cli_suggest_table_write_array(s->review, &s->review->array[i], color, text);
  }
  if (shown == 0)
    bf_text_addf(text, "%s: no shared arrays\n", s->file);
  write_end(s, text);
}

/* ---- JSON ---- */

static void show_json_use(void *context, uint32_t line, const char *before, const char *after) {
  showing *s = context;
  bf_json_begin(s->json, NULL, '{', true);
  bf_json_number(s->json, "line", line);
  bf_json_string(s->json, "before", before);
  bf_json_string(s->json, "after", after);
  bf_json_end(s->json, '}');
}

/* A string member made of what a text holds; null where that is nothing. */
static void end_string(bf_json *json, const char *key, bf_text *value) {
  bf_json_string(json, key, value->size ? value->data : NULL);
  json->text->failed |= value->failed;
  bf_text_free(value);
}

static void write_json_suggestion(const bf_review *review, const bf_review_array *item, int kind,
                                  bf_json *json) {
  const bf_suggestion *suggestion = &item->suggestions.of[kind];
  const bf_index_map *map = &suggestion->map;
  bf_text hash = {0}, macro = {0}, declaration = {0}, layout = {0};
  showing context = {.review = review, .json = json};
  bool is_shaped = item->declared && item->shared.dimensions;
  if (kind == BF_SUGGEST_CUTE)
    bf_index_write_cute(map, &item->shared, &layout);
  else
    bf_review_write_definition(review, item, suggestion, &macro);
  if (map->row_elements && is_shaped && !item->declared->is_open) {
    bf_patch_array change = bf_review_change(item, suggestion);
    bf_patch_write_declaration(review->source, &change, &declaration);
  }
  write_hash(review, suggestion, &hash);
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "kind", bf_suggestion_name((bf_suggestion_kind)kind));
  bf_json_number(json, "wavefronts", suggestion->wavefronts);
  bf_json_number(json, "conflicts", suggestion->conflicts);
  bf_json_number(json, "instructions", suggestion->instructions);
  bf_json_number(json, "extra_bytes", suggestion->extra_bytes);
  end_string(json, "hash", &hash);
  end_string(json, "macro", &macro);
  end_string(json, "declaration", &declaration);
  end_string(json, "layout", &layout);
  bf_json_begin(json, "changes", '[', false);
  if (kind != BF_SUGGEST_CUTE && changes_elements(item, suggestion))
    for_each_use(review, item, suggestion, show_json_use, &context);
  bf_json_end(json, ']');
  bf_json_end(json, '}');
}

/* The access with the most conflicts, as a line of a trace; null where none has any. */
static void write_json_worst(const bf_review_array *item, bf_json *json) {
  bf_text line = {0};
  if (item->suggestions.conflicts) {
    bf_access worst = *bf_workload_get(item->shared.workload, item->suggestions.worst);
    worst.site = NULL;
    worst.count = 1;
    bf_trace_print_line(&worst, &line);
    if (line.size)
      line.data[--line.size] = 0;
  }
  end_string(json, "worst", &line);
}

/* A number that is known once the patched source was run, else null. */
static void write_json_checked(bf_json *json, const char *key, bool is_checked, uint64_t number) {
  if (is_checked)
    bf_json_number(json, key, number);
  else
    bf_json_string(json, key, NULL);
}

static void write_json_array(const bf_review *review, const bf_review_array *item, bf_json *json) {
  const bf_suggestions *r = &item->suggestions;
  const bf_shared_array *shared = &item->shared;
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "kernel", item->kernel->name);
  bf_json_string(json, "name", item->shared.name);
  bf_json_string(json, "source", item->declared ? review->source->file : NULL);
  bf_json_number(json, "line", item->declared ? review->source->token[item->own->token].line : 0);
  bf_json_string(json, "missing", item->missing[0] ? item->missing : NULL);
  bf_json_string(json, "type", item->declared ? item->own->type : NULL);
  bf_json_number(json, "element_bytes", shared->element_bytes);
  bf_json_begin(json, "dimensions", '[', true);
  for (unsigned i = 0; i < shared->dimensions; i++)
    bf_json_number(json, NULL, shared->dimension[i]);
  bf_json_end(json, ']');
  bf_json_number(json, "bytes", shared->bytes);
  bf_json_number(json, "accesses", r->accesses);
  bf_json_number(json, "wavefronts", r->wavefronts);
  bf_json_number(json, "ideal", r->ideal);
  bf_json_number(json, "conflicts", r->conflicts);
  write_json_worst(item, json);
  bf_json_begin(json, "suggestions", '[', false);
  for (int i = 0; i < BF_SUGGEST_KINDS; i++)
    if (r->of[i].exists)
      write_json_suggestion(review, item, i, json);
  bf_json_end(json, ']');
  bf_json_string(json, "least",
                 r->best < 0 ? NULL : bf_suggestion_name((bf_suggestion_kind)r->best));
  bf_json_bool(json, "patched", item->is_patched);
  bf_json_string(json, "no_patch", item->problem[0] ? item->problem : NULL);
  write_json_checked(json, "checked_wavefronts", item->is_checked, item->checked_wavefronts);
  write_json_checked(json, "checked_conflicts", item->is_checked, item->checked_conflicts);
  bf_json_end(json, '}');
}

void cli_suggest_table_write_json(const cli_suggest_table *s, bf_text *text) {
  bf_json json = {.text = text};
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "file", s->file);
  bf_json_string(&json, "machine", bf_machine_name(s->review->machine));
  bf_json_string(&json, "accesses_from", s->origin);
  bf_json_number(&json, "unknown_instructions", s->review->unknown);
  bf_json_number(&json, "mixed_accesses", s->review->mixed);
  bf_json_begin(&json, "arrays", '[', false);
  for (size_t i = 0; i < s->review->arrays; i++)
    if (s->review->array[i].is_asked)
      write_json_array(s->review, &s->review->array[i], &json);
  bf_json_end(&json, ']');
  bf_json_string(&json, "patch", s->review->patch.edits ? s->patch_file : NULL);
  bf_json_bool(&json, "checked", s->is_checked);
  bf_json_bool(&json, "equal", s->is_equal);
  bf_json_string(&json, "difference", s->difference.data);
  bf_json_end(&json, '}');
}
