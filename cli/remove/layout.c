/* layout: which layout of a tile serves all who write and read it best. */
#include "layout/layout.h"
#include "cli/cli.h"
#include "report/landing.h"

#include <stdlib.h>
#include <string.h>

typedef struct settings {
  cli_common common;
  const char *tile, *type, *layout, *emit, *svg;
  cli_texts write, read;
  bool all;
} settings;

static const cli_option options[] = {
    {"tile", CLI_TEXT, offsetof(settings, tile), "ROWSxCOLUMNS", NULL,
     "the tile; elements of a row are neighbours in global memory"},
    {"type", CLI_TEXT, offsetof(settings, type), "TYPE",
     "f16 bf16 tf32 f32 f64 e4m3 e5m2 s8 u8 u16 s32 u32 u64", "of an element (default f16)"},
    {"write", CLI_TEXTS, offsetof(settings, write), "WHO[*WEIGHT]", NULL,
     "who writes it: tma[:COLUMNS], cp.async[:BYTES], st[:BYTES][@MAP], stmatrix, ds_write_b128"},
    {"read", CLI_TEXTS, offsetof(settings, read), "WHO[*WEIGHT]", NULL,
     "who reads it: wgmma:A, wgmma:B.mn, ldmatrix[.x2][.trans], ld[:BYTES][@MAP], ds_read_b128"},
    {"layout", CLI_TEXT, offsetof(settings, layout), "LAYOUT", NULL,
     "look at this one alone: none, none:16, none:16+BYTES, 32, 64, 128, cute:B,M,S, pad:BYTES"},
    {"emit", CLI_TEXT, offsetof(settings, emit), "FORM", "cute ptx tma triton cuda",
     "write code for the best layout instead of the table"},
    {"svg", CLI_TEXT, offsetof(settings, svg), "[FILE]", NULL,
     "write a picture of where the tile lands under the best layout (to standard output without "
     "FILE)"},
    {"all", CLI_FLAG, offsetof(settings, all), NULL, NULL,
     "list every layout, not the best of each kind"},
    CLI_COMMON(settings),
};

/* ---- Text ---- */

static bool is_kind(const bf_layout_choice *choice, const char *kind) {
  return strncmp(choice->name, kind, strlen(kind)) == 0;
}

/* Whether a layout is listed: all modes, the first swizzle and the first padding. */
static bool is_listed(const settings *own, const bf_layouts *layouts, size_t index) {
  static const char *const kinds[] = {"cute:", "pad:", "none:16+"};
  const bf_layout_choice *choice = bf_layouts_get(layouts, index);
  if (own->all)
    return true;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (size_t i = 0; i < index && is_kind(choice, kinds[k]); i++)
      if (is_kind(bf_layouts_get(layouts, i), kinds[k]))
        return false;
  return true;
}

static unsigned column_width(const char *text) {
  size_t length = strlen(text);
  return length < 10 ? 10 : (unsigned)length;
}

static void write_heads(const bf_layouts *layouts, bf_text *text) {
  bf_layout_access access;
  bf_text_addf(text, "%-14s %10s %10s", "layout", "wavefronts", "conflicts");
  for (unsigned i = 0; bf_layouts_get_access(layouts, 0, i, &access); i++) {
    char head[BF_MOVE_TEXT + 24];
    snprintf(head, sizeof head, access.weight == 1 ? "%s" : "%s*%llu", access.text,
             (unsigned long long)access.weight);
    bf_text_addf(text, "  %*s", (int)column_width(access.text) + 4, head);
  }
  bf_text_addf(text, " %8s %6s\n", "bytes", "align");
}

/* Wavefronts of each access as "16", or "16+48" where conflicts come on top of what would do. */
static void write_row(const bf_layouts *layouts, size_t index, bf_text *text) {
  const bf_layout_choice *choice = bf_layouts_get(layouts, index);
  bf_layout_access access;
  bf_text_addf(text, "%-14s %10llu %10llu", choice->name, (unsigned long long)choice->wavefronts,
               (unsigned long long)choice->conflicts);
  for (unsigned i = 0; bf_layouts_get_access(layouts, index, i, &access); i++) {
    char cell[48];
    if (access.wavefronts == access.ideal)
      snprintf(cell, sizeof cell, "%llu", (unsigned long long)access.ideal);
    else
      snprintf(cell, sizeof cell, "%llu+%llu", (unsigned long long)access.ideal,
               (unsigned long long)(access.wavefronts - access.ideal));
    bf_text_addf(text, "  %*s", (int)column_width(access.text) + 4, cell);
  }
  bf_text_addf(text, " %8llu %6u%s\n", (unsigned long long)choice->bytes, choice->alignment_bytes,
               choice->estimated ? "  (estimated)" : "");
}

/* Why the first layout is the best, and what it is in the terms of who uses it. */
static void write_best(const bf_layouts *layouts, bf_text *text) {
  const bf_layout_choice *best = bf_layouts_get(layouts, 0);
  bf_layout_access access;
  bf_text_addf(text, "\nbest: %s, ", best->name);
  if (best->conflicts == 0)
    bf_text_puts(text, "proven: no placement of these bytes needs fewer wavefronts\n");
  else
    bf_text_addf(text, "proven: the fewest wavefronts of %zu layouts that all of them can use\n",
                 bf_layouts_size(layouts));
  if (best->swizzle_bits)
    bf_text_addf(text, "  Swizzle<%u,%u,%d> on byte offsets", best->swizzle_bits,
                 best->swizzle_base, best->swizzle_shift);
  else
    bf_text_puts(text, "  no swizzle");
  if (best->bytes > best->panel_stride_bytes)
    bf_text_addf(text, "; panels of %u bytes, %llu bytes apart", best->panel_bytes,
                 (unsigned long long)best->panel_stride_bytes);
  bf_text_addf(text, "; rows %u bytes apart\n", best->pitch_bytes);
  for (unsigned i = 0; bf_layouts_get_access(layouts, 0, i, &access); i++) {
    if (strncmp(access.text, "tma", 3) == 0) {
      bf_boxes boxes = bf_layout_boxes(&layouts->found[0].layout, &layouts->tile);
      unsigned count = boxes.across * boxes.down;
      bf_text_addf(text, "  %s: %s, %u box%s of %ux%u elements\n", access.text, best->tma_mode,
                   count, count == 1 ? "" : "es", boxes.columns, boxes.rows);
    }
    if (access.has_descriptor)
      bf_text_addf(text,
                   "  %s: descriptor 0x%016llx | address >> 4: leading %u, stride %u bytes, layout "
                   "type %u\n",
                   access.text, (unsigned long long)access.descriptor, access.leading_bytes,
                   access.stride_bytes, access.layout_type);
  }
}

static void write_refused(const bf_layouts *layouts, bf_text *text) {
  const char *why = NULL, *name;
  for (size_t i = 0; (name = bf_layouts_get_refused(layouts, i, &why)); i++)
    bf_text_addf(text, "%s  %-12s %s\n", i ? "" : "\ncannot be:\n", name, why);
}

static void write_text(const settings *own, const bf_layouts *layouts, bf_text *text) {
  bf_text_addf(text,
               "tile of %u rows of %u %s; wavefronts of the whole tile, conflicts behind +\n\n",
               layouts->tile.rows, layouts->tile.columns, layouts->tile.element->name);
  write_heads(layouts, text);
  for (size_t i = 0; i < bf_layouts_size(layouts); i++)
    if (is_listed(own, layouts, i))
      write_row(layouts, i, text);
  write_best(layouts, text);
  write_refused(layouts, text);
}

/* ---- JSON ---- */

static void write_access_json(bf_json *json, const bf_layout_access *access) {
  bf_json_begin(json, NULL, '{', true);
  bf_json_string(json, "access", access->text);
  bf_json_bool(json, "is_write", access->is_write);
  bf_json_number(json, "weight", access->weight);
  bf_json_number(json, "wavefronts", access->wavefronts);
  bf_json_number(json, "ideal", access->ideal);
  if (access->has_descriptor) {
    char bits[24];
    snprintf(bits, sizeof bits, "0x%016llx", (unsigned long long)access->descriptor);
    bf_json_string(json, "descriptor", bits);
    bf_json_number(json, "leading_bytes", access->leading_bytes);
    bf_json_number(json, "stride_bytes", access->stride_bytes);
    bf_json_number(json, "layout_type", access->layout_type);
  }
  bf_json_end(json, '}');
}

static void write_layout_json(bf_json *json, const bf_layouts *layouts, size_t index) {
  const bf_layout_choice *choice = bf_layouts_get(layouts, index);
  bf_layout_access access;
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "name", choice->name);
  bf_json_number(json, "wavefronts", choice->wavefronts);
  bf_json_number(json, "ideal", choice->ideal);
  bf_json_number(json, "conflicts", choice->conflicts);
  bf_json_bool(json, "estimated", choice->estimated);
  bf_json_number(json, "bytes", choice->bytes);
  bf_json_number(json, "alignment_bytes", choice->alignment_bytes);
  bf_json_number(json, "panel_bytes", choice->panel_bytes);
  bf_json_number(json, "panel_stride_bytes", choice->panel_stride_bytes);
  bf_json_number(json, "pitch_bytes", choice->pitch_bytes);
  bf_json_begin(json, "swizzle", '[', true);
  bf_json_number(json, NULL, choice->swizzle_bits);
  bf_json_number(json, NULL, choice->swizzle_base);
  bf_json_integer(json, NULL, choice->swizzle_shift);
  bf_json_end(json, ']');
  bf_json_string(json, "tma_mode", choice->tma_mode);
  bf_json_begin(json, "accesses", '[', false);
  for (unsigned i = 0; bf_layouts_get_access(layouts, index, i, &access); i++)
    write_access_json(json, &access);
  bf_json_end(json, ']');
  bf_json_end(json, '}');
}

static void write_json(const settings *own, const bf_layouts *layouts, bf_text *text) {
  bf_json json = {.text = text};
  const char *why = NULL, *name;
  bf_json_begin(&json, NULL, '{', false);
  bf_json_number(&json, "rows", layouts->tile.rows);
  bf_json_number(&json, "columns", layouts->tile.columns);
  bf_json_string(&json, "type", layouts->tile.element->name);
  bf_json_string(&json, "machine", layouts->machine->name);
  bf_json_number(&json, "considered", bf_layouts_size(layouts));
  bf_json_bool(&json, "proven", true);
  bf_json_begin(&json, "layouts", '[', false);
  for (size_t i = 0; i < bf_layouts_size(layouts); i++)
    if (is_listed(own, layouts, i))
      write_layout_json(&json, layouts, i);
  bf_json_end(&json, ']');
  bf_json_begin(&json, "refused", '[', false);
  for (size_t i = 0; (name = bf_layouts_get_refused(layouts, i, &why)); i++) {
    bf_json_begin(&json, NULL, '{', true);
    bf_json_string(&json, "name", name);
    bf_json_string(&json, "why", why);
    bf_json_end(&json, '}');
  }
  bf_json_end(&json, ']');
  bf_json_end(&json, '}');
}

/* ---- Running ---- */

enum { PICTURE_LINES = 64 };

static int write_answer(const settings *own, const bf_layouts *layouts, bf_text *text,
                        bf_diagnostic *diagnostic) {
  if (own->emit) {
    char *code;
    BF_TRY(bf_layouts_emit(layouts, 0, own->emit, &code, diagnostic));
    bf_text_puts(text, code);
    bf_free(code);
  } else if (own->svg) {
    bf_landing landing = {.machine = layouts->machine,
                          .tile = &layouts->tile,
                          .layout = &layouts->found[0].layout,
                          .count = 1,
                          .most_lines = PICTURE_LINES};
    BF_TRY(bf_landing_check(&landing, diagnostic));
    bf_landing_svg(&landing, text);
  } else if (own->common.json) {
    write_json(own, layouts, text);
  } else {
    write_text(own, layouts, text);
  }
  return BF_OK;
}

static int run(const void *given, int count, char **arguments) {
  const settings *own = given;
  bf_diagnostic diagnostic = {.caret = -1};
  bf_machine *machine = NULL;
  bf_layouts *layouts = NULL;
  bf_text text = {0};
  (void)count, (void)arguments;
  if (!own->tile)
    return cli_usage_error(&cli_layout, "--tile says how many rows and columns there are");
  if (own->write.count + own->read.count == 0)
    return cli_usage_error(&cli_layout, "--write and --read say who uses the tile");
  bf_layout_options ask;
  bf_layout_default_options(&ask);
  ask.tile = own->tile, ask.type = own->type, ask.layout = own->layout;
  ask.write = own->write.text, ask.writes = own->write.count;
  ask.read = own->read.text, ask.reads = own->read.count;
  int error = cli_load_machine(&own->common, &machine, &diagnostic);
  if (!error)
    error = bf_layouts_find(machine, &ask, &layouts, &diagnostic);
  if (!error)
    error = write_answer(own, layouts, &text, &diagnostic);
  bf_layouts_free(layouts);
  bf_machine_free(machine);
  if (!error)
    return own->svg ? cli_write(own->svg, &text) : cli_print(&text);
  bf_text_free(&text);
  return cli_complain(&diagnostic);
}

const cli_command cli_layout = {
    .name = "layout",
    .summary = "find the layout of a tile that all who write and read it can use best",
    .arguments = "",
    .details =
        "Counts the wavefronts of every access under every layout that the hardware allows for "
        "all\n"
        "of them: swizzle modes where tensor copies (tma) or wgmma are among them, else every\n"
        "Swizzle<B,M,S> and every padding. Best first; the first is proven best.\n"
        "\n"
        "MAP says which lane has which element: 8x4 (8 rows of 4 lanes), 8x4t (lanes go down "
        "first)\n"
        "or (ROW, COLUMN) with l for the lane. A warp does that again and again, over the tile.\n"
        "wgmma:A and wgmma:B take the columns of the tile along K; with .mn its rows are.",
    .examples =
        "bankfold layout --tile 64x64 --write tma --read wgmma:A --read ldmatrix.trans*2\n"
        "bankfold layout --tile 64x256 --type bf16 --write tma --read wgmma:B.mn --emit ptx\n"
        "bankfold layout --tile 128x32 --write cp.async --read ldmatrix      # any swizzle, any "
        "padding\n"
        "bankfold layout --tile 32x32 --type f32 --write st --read ld@32x1 --emit cuda\n"
        "bankfold layout --tile 64x64 --write tma:64 --read wgmma:A --layout 64   # why not?\n"
        "bankfold layout --tile 64x64 --machine cdna3 --write ds_write_b128 --read "
        "ds_read_b128@16x4t",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .settings_size = sizeof(settings),
    .least_arguments = 0,
    .most_arguments = 0,
    .run = run,
};
