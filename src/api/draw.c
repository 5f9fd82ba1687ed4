/* Accesses in words and as pictures. */
#include "api/api.h"
#include "report/report.h"

enum { COLUMNS_MAX = 1 << 30, WIDTH_COLUMNS = 120, MOST_ROWS = 32 };

/* ---- Patterns ---- */

/* What is wrong with options for a machine. */
static int check_classify(const bf_machine *machine, const bf_classify_options *options,
                          bf_diagnostic *diagnostic) {
  if (options->columns > COLUMNS_MAX)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%llu columns: at most %d are possible",
                   (unsigned long long)options->columns, COLUMNS_MAX);
  if (options->block_x > bf_machine_lanes(machine))
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "%u threads in a row of the block, but %s has %u lanes", options->block_x,
                   bf_machine_name(machine), bf_machine_lanes(machine));
  return BF_OK;
}

int bf_access_get_class(const bf_machine *machine, const bf_access *access,
                        const bf_classify_options *given, bf_classification *to,
                        bf_diagnostic *diagnostic) {
  bf_classify_options options;
  bf_count count;
  bf_text text = {0};
  *to = (bf_classification){0};
  BF_TRY(bf_take_options(given, &options, sizeof options, "bf_classify_options", diagnostic));
  BF_TRY(check_classify(machine, &options, diagnostic));
  BF_TRY(bf_memory_count(machine, NULL, access, &count, diagnostic)); /* refuses what cannot be */
  bf_pattern found = bf_access_classify(access, bf_machine_lanes(machine),
                                        options.columns ? (int64_t)options.columns : 1);
  if (options.block_x)
    bf_pattern_reshape(&found, options.block_x);
  bf_pattern_explain(&found, access, &text);
  if (text.failed) {
    bf_text_free(&text);
    return bf_no_memory(diagnostic);
  }
  *to = (bf_classification){
      .pattern = bf_pattern_class_name(found.class_),
      .width_x = found.width_x,
      .height_y = found.height_y,
      .stride_x = found.stride_x,
      .stride_y = found.stride_y,
      .offset = found.offset,
      .columns = found.columns,
      .matrix = {{found.m[0][0], found.m[0][1]}, {found.m[1][0], found.m[1][1]}},
      .origin = {found.origin[0], found.origin[1]}};
  snprintf(to->explanation, sizeof to->explanation, "%s", text.data ? text.data : "");
  bf_text_free(&text);
  return BF_OK;
}

/* ---- Pictures ---- */

static void draw(const bf_picture *const *picture, unsigned count,
                 const bf_drawing_options *options, bf_text *text) {
  unsigned rows = options->most_rows ? options->most_rows : MOST_ROWS;
  bf_draw_options terminal = {.color = options->color,
                              .width_columns =
                                  options->width_columns ? options->width_columns : WIDTH_COLUMNS,
                              .most_rows = options->all_rows ? 0 : rows};
  if (options->form == BF_DRAWING_SVG)
    bf_draw_svg(picture, count, terminal.most_rows, text);
  else if (options->form == BF_DRAWING_JSON)
    bf_pictures_json(picture, count, text);
  else
    bf_draw_terminal(picture, count, &terminal, text);
}

int bf_access_draw(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                   const bf_drawing_options *given, char **out, bf_diagnostic *diagnostic) {
  bf_drawing_options options;
  bf_hash *none = NULL;
  bf_picture *picture[2] = {NULL, NULL};
  bf_text text = {0};
  bf_geometry geometry = bf_machine_geometry(machine);
  *out = NULL;
  BF_TRY(bf_take_options(given, &options, sizeof options, "bf_drawing_options", diagnostic));
  if ((unsigned)options.form > BF_DRAWING_JSON)
    return bf_fail(diagnostic, BF_BAD_INPUT, "unknown form %d of drawings", (int)options.form);
  BF_TRY(bf_memory_check_hash(machine, hash, diagnostic));
  int error = bf_hash_parse("none", &geometry, &none, diagnostic);
  if (!error)
    error = bf_picture_create(machine, none, access, &picture[0], diagnostic);
  if (!error && hash)
    error = bf_picture_create(machine, hash, access, &picture[1], diagnostic);
  if (!error)
    draw((const bf_picture *const *)picture, hash ? 2 : 1, &options, &text);
  error = bf_api_hand_out(&text, error, out, diagnostic);
  bf_picture_free(picture[0]);
  bf_picture_free(picture[1]);
  bf_hash_free(none);
  return error;
}
