/* Before and after: the worst access to each array as a picture. */
#include "cli/use/suggested.h"

#include "report/report.h"

enum { MOST_ROWS = 32 };

/* Both pictures and what they are made from. */
typedef struct pair {
  bf_hash *hash[2];
  bf_access access[2];
  bf_picture *picture[2];
} pair;

static void free_pair(pair *p) {
  for (unsigned i = 0; i < 2; i++) {
    bf_picture_free(p->picture[i]);
    bf_hash_free(p->hash[i]);
  }
}

/* The suggestion to draw: the swizzle, which is a hash of the banks, else the one that costs least.
 */
static const bf_suggestion *shown(const cli_suggested_array *item) {
  const bf_suggestions *r = &item->result;
  const bf_suggestion *swizzle = &r->of[BF_SUGGEST_SWIZZLE];
  if (item->is_patched)
    return &item->patched;
  if (swizzle->exists && (r->best < 0 || swizzle->conflicts == r->of[r->best].conflicts))
    return swizzle;
  return r->best < 0 ? NULL : &r->of[r->best];
}

/* Draws what the machine does with the worst access, before and after. Maps that are no hash move
 * the access instead. Free also after an error. */
static int make_pair(const cli_suggested *s, const cli_suggested_array *item, pair *p,
                     bf_diagnostic *diagnostic) {
  bf_geometry geometry = bf_machine_geometry(s->machine);
  const bf_index_map *map = &shown(item)->map;
  p->access[0] = *bf_workload_get(item->array->workload, item->result.worst);
  p->access[0].line = 0;
  p->access[1] = p->access[0];
  BF_TRY(bf_hash_parse("none", &geometry, &p->hash[0], diagnostic));
  if (!bf_index_hash(map, &geometry, &p->hash[1])) {
    p->access[1] = bf_index_move(map, &p->access[0]);
    BF_TRY(bf_hash_parse("none", &geometry, &p->hash[1], diagnostic));
  }
  for (unsigned i = 0; i < 2; i++)
    BF_TRY(bf_picture_create(s->machine, p->hash[i], &p->access[i], &p->picture[i], diagnostic));
  p->picture[0]->label = "as it is";
  p->picture[1]->label = map->terms ? "swizzle" : "padding";
  return BF_OK;
}

static bool has_pair(const cli_suggested_array *item) {
  return item->result.conflicts && shown(item);
}

int cli_suggested_write_svg(const cli_suggested *s, const cli_suggested_array *item, bf_text *text,
                            bool *has_picture, bf_diagnostic *diagnostic) {
  pair p = {0};
  *has_picture = has_pair(item);
  if (!*has_picture)
    return BF_OK;
  int error = make_pair(s, item, &p, diagnostic);
  if (!error)
    bf_draw_svg((const bf_picture *const *)p.picture, 2, MOST_ROWS, text);
  free_pair(&p);
  return error;
}

/* A section of the page: heading, suggestions as text, picture. */
static int write_section(const cli_suggested *s, size_t index, bf_text *text,
                         bf_diagnostic *diagnostic) {
  const cli_suggested_array *item = &s->item[index];
  bf_text plain = {0};
  bf_text_puts(text, "<h2>");
  bf_markup_escape(item->array->kernel_name, text);
  bf_text_puts(text, ": ");
  bf_markup_escape(item->array->name, text);
  bf_text_puts(text, "</h2>\n<pre>");
  cli_suggested_write_array(s, item, false, &plain);
  text->failed |= plain.failed;
  bf_markup_escape(plain.data ? plain.data : "", text);
  bf_text_puts(text, "</pre>\n");
  bf_text_free(&plain);
  if (!has_pair(item))
    return BF_OK;
  pair p = {0};
  int error = make_pair(s, item, &p, diagnostic);
  if (!error) {
    bf_text_puts(text, "<figure>");
    bf_draw_svg_inline((const bf_picture *const *)p.picture, 2, MOST_ROWS, (unsigned)index, text);
    bf_text_puts(text, "</figure>\n");
  }
  free_pair(&p);
  return error;
}

int cli_suggested_write_html(const cli_suggested *s, bf_text *text, bf_diagnostic *diagnostic) {
  bf_text_puts(text, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<title>Shared arrays of ");
  bf_markup_escape(s->file, text);
  bf_text_puts(text, "</title>\n<style>\n");
  bf_text_puts(text, bf_page_style);
  bf_text_puts(text, bf_svg_style);
  bf_text_puts(text, "</style>\n</head>\n<body>\n<h1>Shared arrays of ");
  bf_markup_escape(s->file, text);
  bf_text_puts(text, "</h1>\n<p class=\"dim\">Conflicts on ");
  bf_markup_escape(bf_machine_title(s->machine), text);
  bf_text_puts(text, ". Each picture shows the access with the most conflicts, as it is and as "
                     "suggested: banks across, wavefronts down.</p>\n");
  for (size_t i = 0; i < s->count; i++)
    if (s->item[i].array->is_asked)
      BF_TRY(write_section(s, i, text, diagnostic));
  bf_text_puts(text, "</body>\n</html>\n");
  return BF_OK;
}
