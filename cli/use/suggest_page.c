/* Before and after: the worst access to each array as a picture. */
#include "cli/use/suggest_table.h"

#include "cli/explorer.h"
#include "report/report.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

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
static const bf_suggestion *shown(const bf_review_array *item) {
  const bf_suggestions *r = &item->suggestions;
  const bf_suggestion *swizzle = &r->of[BF_SUGGEST_SWIZZLE];
  if (item->is_patched)
    return &item->patched;
  if (swizzle->exists && (r->best < 0 || swizzle->conflicts == r->of[r->best].conflicts))
    return swizzle;
  return r->best < 0 ? NULL : &r->of[r->best];
}

/* Draws what the machine does with the worst access, before and after. Maps that are no hash move
 * the access instead. Free also after an error. */
static int make_pair(const bf_review *review, const bf_review_array *item, pair *p,
                     bf_diagnostic *diagnostic) {
  bf_geometry geometry = bf_machine_geometry(review->machine);
  const bf_index_map *map = &shown(item)->map;
  p->access[0] = *bf_workload_get(item->shared.workload, item->suggestions.worst);
  p->access[0].line = 0;
  p->access[1] = p->access[0];
  BF_TRY(bf_hash_parse("none", &geometry, &p->hash[0], diagnostic));
  if (!bf_index_hash(map, &geometry, &p->hash[1])) {
    p->access[1] = bf_index_move(map, &p->access[0]);
    BF_TRY(bf_hash_parse("none", &geometry, &p->hash[1], diagnostic));
  }
  for (unsigned i = 0; i < 2; i++)
    BF_TRY(
        bf_picture_create(review->machine, p->hash[i], &p->access[i], &p->picture[i], diagnostic));
  p->picture[0]->label = "as it is";
  p->picture[1]->label = map->terms ? "swizzle" : "padding";
  return BF_OK;
}

static bool has_pair(const bf_review_array *item) {
  return item->suggestions.conflicts && shown(item);
}

/* Writes a text to a file and frees it. */
static int write_file(const char *path, bf_text *text, bf_diagnostic *diagnostic) {
  int error = text->failed ? bf_no_memory(diagnostic)
                           : bf_write_file(path, text->data, text->size, diagnostic);
  bf_text_free(text);
  return error;
}

/* ---- Pictures ---- */

/* Kernel and array as the name of a file. */
static void name_picture(const bf_review_array *item, size_t number, char name[300]) {
  snprintf(name, 300, "%zu_%.120s_%.120s.svg", number, item->kernel_name, item->shared.name);
  for (char *at = name; *at; at++)
    if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.", *at))
      *at = '_';
}

static int write_picture(const bf_review *review, const bf_review_array *item, const char *path,
                         bf_diagnostic *diagnostic) {
  pair p = {0};
  bf_text text = {0};
  int error = make_pair(review, item, &p, diagnostic);
  if (!error) {
    bf_draw_svg((const bf_picture *const *)p.picture, 2, MOST_ROWS, &text);
    error = write_file(path, &text, diagnostic);
  }
  free_pair(&p);
  return error;
}

int cli_suggest_table_write_pictures(const cli_suggest_table *s, const char *folder,
                                     bf_diagnostic *diagnostic) {
  size_t shown = 0;
  if (mkdir(folder, 0777) != 0 && errno != EEXIST)
    return bf_fail_file(diagnostic, BF_IO, folder, "%s", strerror(errno));
  for (size_t i = 0; i < s->review->arrays; i++) {
    const bf_review_array *item = &s->review->array[i];
    char name[300], path[PATH_MAX + 300];
    name_picture(item, shown + 1, name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (item->is_asked && has_pair(item))
      BF_TRY(write_picture(s->review, item, path, diagnostic));
    shown += item->is_asked;
  }
  return BF_OK;
}

/* ---- The page ---- */

/* A section of the page: heading, suggestions as text, picture. */
static int write_section(const bf_review *review, size_t index, bf_text *text,
                         bf_diagnostic *diagnostic) {
  const bf_review_array *item = &review->array[index];
  bf_text plain = {0};
  bf_text_puts(text, "<h2>");
  bf_markup_escape(item->kernel_name, text);
  bf_text_puts(text, ": ");
  bf_markup_escape(item->shared.name, text);
  bf_text_puts(text, "</h2>\n<pre>");
  cli_suggest_table_write_array(review, item, false, &plain);
  text->failed |= plain.failed;
  bf_markup_escape(plain.data ? plain.data : "", text);
  bf_text_puts(text, "</pre>\n");
  bf_text_free(&plain);
  if (!has_pair(item))
    return BF_OK;
  pair p = {0};
  int error = make_pair(review, item, &p, diagnostic);
  if (!error) {
    bf_text_puts(text, "<figure>");
    bf_draw_svg_inline((const bf_picture *const *)p.picture, 2, MOST_ROWS, (unsigned)index, text);
    bf_text_puts(text, "</figure>\n");
  }
  free_pair(&p);
  return error;
}

static int write_html(const cli_suggest_table *s, bf_text *text, bf_diagnostic *diagnostic) {
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
  bf_markup_escape(bf_machine_title(s->review->machine), text);
  bf_text_puts(text, ". Each picture shows the access with the most conflicts, as it is and as "
                     "suggested: banks across, wavefronts down.</p>\n");
  for (size_t i = 0; i < s->review->arrays; i++)
    if (s->review->array[i].is_asked)
      BF_TRY(write_section(s->review, i, text, diagnostic));
  bf_text_puts(text, "</body>\n</html>\n");
  return BF_OK;
}

/* The explorer, opened on what suggest prints as JSON. */
static int write_explorer(const cli_suggest_table *s, const char *path, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  cli_suggest_table_write_json(s, &text);
  int error = text.failed ? bf_no_memory(diagnostic)
                          : cli_explorer_write_report(path, s->file, text.data, diagnostic);
  bf_text_free(&text);
  return error;
}

int cli_suggest_table_write_page(const cli_suggest_table *s, bool is_still, const char *path,
                                 bf_diagnostic *diagnostic) {
  bf_text text = {0};
  if (!is_still && cli_explorer_is_there())
    return write_explorer(s, path, diagnostic);
  int error = write_html(s, &text, diagnostic);
  if (!error)
    error = write_file(path, &text, diagnostic);
  bf_text_free(&text);
  return error;
}
