/* bankfold draw: one access as a picture. */
#include "cli/cli.h"

#include "report/landing.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct settings {
  cli_common common;
  const char *access, *hash, *svg;
  const char *tile, *type;
  cli_texts layout;
  uint64_t width;
  bool all, cores;
} settings;

enum { TERMINAL_ROWS = 16, SVG_ROWS = 32 };

/* Everything draw loads and makes. */
typedef struct drawing {
  const settings *options;
  bf_machine *machine;
  bf_hash *hash[2];
  bf_arena arena;
  bf_access access;
  bf_picture *picture[2];
  unsigned count;
} drawing;

/* Splits "FILE:LINE" in place; line is 0 where none is given. */
static void split_line(char *argument, uint64_t *line) {
  char *colon = strrchr(argument, ':');
  const char *cursor = colon ? colon + 1 : "";
  *line = 0;
  if (colon && bf_parse_number(&cursor, line) && *cursor == 0)
    *colon = 0;
  else
    *line = 0;
}

static int load_access(drawing *d, char *argument, bf_diagnostic *diagnostic) {
  if (argument) {
    uint64_t line;
    split_line(argument, &line);
    return bf_report_pick(argument, line, d->machine, d->hash[0], &d->arena, &d->access,
                          diagnostic);
  }
  bf_trace_limits limits = bf_machine_limits(d->machine);
  int status = bf_trace_parse_line("--access", 1, d->options->access, &limits, &d->arena,
                                   &d->access, diagnostic);
  d->access.line = 0;
  if (status == 0)
    return bf_fail(diagnostic, BF_BAD_INPUT, "--access holds no access");
  return status < 0 ? status : BF_OK;
}

static int load(drawing *d, char *argument, bf_diagnostic *diagnostic) {
  int error = cli_load_machine(&d->options->common, &d->machine, diagnostic);
  if (!error)
    error = cli_load_hash(NULL, d->machine, &d->hash[0], diagnostic);
  if (!error && d->options->hash)
    error = cli_load_banks(d->options->hash, d->machine, &d->hash[1], diagnostic);
  if (!error)
    error = load_access(d, argument, diagnostic);
  d->count = d->hash[1] ? 2 : 1;
  for (unsigned i = 0; i < d->count && !error; i++)
    error = bf_picture_create(d->machine, d->hash[i], &d->access, &d->picture[i], diagnostic);
  return error;
}

static void unload(drawing *d) {
  for (unsigned i = 0; i < 2; i++) {
    bf_picture_free(d->picture[i]);
    bf_hash_free(d->hash[i]);
  }
  bf_arena_free(&d->arena);
  bf_machine_free(d->machine);
}

static int write_svg(const drawing *d) {
  bf_text text = {0};
  bf_draw_svg((const bf_picture *const *)d->picture, d->count, d->options->all ? 0 : SVG_ROWS,
              &text);
  return cli_write(d->options->svg, &text);
}

static int print_json(const drawing *d) {
  bf_text text = {0};
  bf_pictures_json((const bf_picture *const *)d->picture, d->count, &text);
  return cli_print(&text);
}

static int print_picture(const drawing *d) {
  bf_text text = {0};
  bf_draw_options options = {.color = cli_wants_color(&d->options->common),
                             .width_columns = cli_columns(d->options->width),
                             .most_rows = d->options->all ? 0 : TERMINAL_ROWS};
  bf_draw_terminal((const bf_picture *const *)d->picture, d->count, &options, &text);
  return cli_print(&text);
}

/* ---- Tiles ---- */

enum { MOST_LAYOUTS = 8, TILE_LINES = 64 };

/* The landing of the tile that the options name; layouts has room for MOST_LAYOUTS. */
static int read_landing(const settings *own, bf_tile *tile, bf_tile_layout *layouts,
                        bf_landing *landing, bf_diagnostic *diagnostic) {
  static const char *const usual[] = {"none", "128"};
  unsigned count = own->layout.count ? own->layout.count : 2;
  BF_TRY(bf_tile_parse(own->tile, tile, diagnostic));
  tile->element = bf_element_find(own->type ? own->type : "f16", diagnostic);
  if (!tile->element)
    return BF_BAD_INPUT;
  if (count > MOST_LAYOUTS)
    return bf_fail(diagnostic, BF_BAD_INPUT, "--layout is given at most %d times", MOST_LAYOUTS);
  for (unsigned i = 0; i < count; i++)
    BF_TRY(bf_layout_parse(own->layout.count ? own->layout.text[i] : usual[i], tile, &layouts[i],
                           diagnostic));
  landing->tile = tile;
  landing->layout = layouts;
  landing->count = count;
  landing->cores = own->cores;
  landing->most_lines = own->all ? 0 : TILE_LINES;
  return bf_landing_check(landing, diagnostic);
}

static int draw_tile(const settings *own) {
  bf_diagnostic diagnostic = {.caret = -1};
  bf_tile tile = {0};
  bf_tile_layout layouts[MOST_LAYOUTS];
  bf_machine *machine = NULL;
  bf_landing landing = {0};
  bf_text text = {0};
  int error = cli_load_machine(&own->common, &machine, &diagnostic);
  landing.machine = machine;
  if (!error)
    error = read_landing(own, &tile, layouts, &landing, &diagnostic);
  if (!error && own->svg)
    bf_landing_svg(&landing, &text);
  else if (!error)
    bf_landing_terminal(&landing, cli_wants_color(&own->common), &text);
  bf_machine_free(machine);
  if (error)
    return cli_complain(&diagnostic);
  return own->svg ? cli_write(own->svg, &text) : cli_print(&text);
}

static int run(const void *given, int count, char **arguments) {
  drawing d = {.options = given};
  bf_diagnostic diagnostic;
  bool is_tile = d.options->tile != NULL;
  int subjects = count + (d.options->access != NULL) + is_tile;
  if (subjects != 1)
    return cli_usage_error(&cli_draw, "give %sa trace file, --access or --tile",
                           subjects ? "only one of " : "");
  if (is_tile && (d.options->hash || d.options->common.json))
    return cli_usage_error(&cli_draw, "--tile goes without --hash and --json");
  if (!is_tile && (d.options->type || d.options->layout.count || d.options->cores))
    return cli_usage_error(&cli_draw, "--type, --layout and --cores go with --tile");
  if (is_tile)
    return draw_tile(d.options);
  int status = CLI_OK;
  if (load(&d, count ? arguments[0] : NULL, &diagnostic) != BF_OK)
    status = cli_complain(&diagnostic);
  if (status == CLI_OK && d.options->svg)
    status = write_svg(&d);
  if (status == CLI_OK && d.options->common.json)
    status = print_json(&d);
  else if (status == CLI_OK && !d.options->svg)
    status = print_picture(&d);
  unload(&d);
  return status;
}

static const cli_option options[] = {
    {"access", CLI_TEXT, offsetof(settings, access), "ACCESS", NULL,
     "draw this access, written like a line of a trace"},
    {"hash", CLI_TEXT, offsetof(settings, hash), "HASH", NULL,
     "draw the access before and after this hash"},
    {"svg", CLI_TEXT, offsetof(settings, svg), "[FILE]", NULL,
     "write an SVG picture (to standard output without FILE) instead of text"},
    {"all", CLI_FLAG, offsetof(settings, all), NULL, NULL,
     "draw every wavefront, however many there are"},
    {"width", CLI_NUMBER, offsetof(settings, width), "N", NULL,
     "characters in a line (default: the terminal's, 120 in a pipe)"},
    {"tile", CLI_TEXT, offsetof(settings, tile), "ROWSxCOLUMNS", NULL,
     "draw where a tile lands in shared memory instead of an access"},
    {"type", CLI_TEXT, offsetof(settings, type), "TYPE",
     "f16 bf16 tf32 f32 f64 e4m3 e5m2 s8 u8 u16 s32 u32 u64",
     "of an element of the tile (default f16)"},
    {"layout", CLI_TEXTS, offsetof(settings, layout), "LAYOUT", NULL,
     "of the tile: none, none:16, none:16+BYTES, 32, 64, 128, cute:B,M,S, pad:BYTES (default none "
     "and 128)"},
    {"cores", CLI_FLAG, offsetof(settings, cores), NULL, NULL,
     "colour the core matrices of wgmma, 8 rows of 16 bytes each, not columns"},
    CLI_COMMON(settings),
};

const cli_command cli_draw = {
    .name = "draw",
    .summary = "draw a warp access: which bank serves which lane in which wavefront",
    .arguments = "[FILE[:LINE]]",
    .details =
        "Draws one access of a trace: the one at LINE, or the one with the most conflicts. Banks\n"
        "go across and wavefronts down; each cell names the lane that is served. With --hash the\n"
        "picture is drawn twice, before and after the hash. With --tile it shows where the pieces\n"
        "of 16 bytes of a tile lie, as a tensor copy in a swizzle mode puts them.",
    .examples =
        "bankfold draw tile.trace                     # the worst access of a trace\n"
        "bankfold draw tile.trace:34 --hash fixed     # the access at line 34, before and after\n"
        "bankfold draw --access 'ld 4 ffffffff stride:32' --hash xor:0,5,31 --svg column.svg\n"
        "bankfold draw --tile 8x64 --layout none --layout 128        # a box of a tensor copy\n"
        "bankfold draw --tile 64x64 --layout 128 --cores --svg cores.svg",
    CLI_OPTIONS(options, settings),
    .least_arguments = 0,
    .most_arguments = 1,
    .run = run,
};
