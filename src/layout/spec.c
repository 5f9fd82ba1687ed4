/* Who writes and reads a tile, as text: NAME[.OPTION...][:NUMBER or :OPERAND][@MAP][*WEIGHT].
 *
 *   tma[:COLUMNS]                 a tensor copy, its boxes COLUMNS elements wide
 *   cp.async[:BYTES]              BYTES (16) a lane, lanes along the rows
 *   st[.shared][:BYTES][@MAP]     so does a store; ld is a load
 *   stmatrix[.xN], ldmatrix[.xN]  N (4) matrices of 8 rows of 16 bytes; .trans
 *   wgmma:A, wgmma:B              the operand; .mn where rows of the tile are along K
 *   ds_read_bN, ds_write_bN       AMD's loads and stores of N bits */
#include "layout/layout.h"

#include "base/guess.h"

#include <stdlib.h>
#include <string.h>

/* The parts of a text, cut apart. */
typedef struct parts {
  const char *text; /* all of it */
  char name[BF_MOVE_TEXT];
  const char *value, *map; /* behind ':' and '@', or NULL */
  char copy[BF_MOVE_TEXT]; /* which both point into */
  size_t value_at, map_at; /* where they are in text */
} parts;

typedef struct reader {
  const parts *part;
  const bf_tile *tile;
  const bf_machine *machine;
  bf_move *move;
  bf_diagnostic *diagnostic;
} reader;

static int fail(const reader *r, size_t at, const char *format, ...) BF_PRINTF(3, 4);
static int fail(const reader *r, size_t at, const char *format, ...) {
  char message[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return bf_fail_at(r->diagnostic, bf_move_option(r->move), 1, r->part->text, r->part->text + at,
                    "%s", message);
}

/* ---- One function for each mover ---- */

/* Tensor copies came together with stmatrix. */
static bool has_tensor_copies(const bf_machine *machine) {
  return machine->op[BF_OP_STMATRIX4].rule != BF_RULE_NONE;
}

/* wgmma is of compute capability 9.0 alone, which machine files do not tell but by the name. */
static bool has_wgmma(const bf_machine *machine) { return strcmp(machine->name, "hopper") == 0; }

/* The number behind ':', one of those allowed, or what it is without. */
static int read_bytes(const reader *r, const char *allowed, unsigned otherwise) {
  const char *value = r->part->value;
  char word[24];
  r->move->width_bytes = otherwise;
  if (!value)
    return BF_OK;
  snprintf(word, sizeof word, " %.20s ", value);
  if (!strstr(allowed, word))
    return fail(r, r->part->value_at, "an access has%s bytes a lane, not '%.20s'", allowed, value);
  r->move->width_bytes = (unsigned)strtoul(value, NULL, 10);
  return BF_OK;
}

static int check_width(const reader *r) {
  unsigned width = r->move->width_bytes, element = r->tile->element->bytes;
  if (width < element)
    return fail(r, 0, "%u bytes a lane are less than an element of %s, which has %u", width,
                r->tile->element->name, element);
  if (bf_tile_row_bytes(r->tile) % width)
    return fail(r, 0, "a row of %u bytes is no multiple of the %u bytes that a lane accesses",
                bf_tile_row_bytes(r->tile), width);
  if (r->machine->op[r->move->op].rule == BF_RULE_NONE)
    return fail(r, 0, "machine %s has no %s", r->machine->name, bf_op_name(r->move->op));
  return BF_OK;
}

/* Lanes along the rows: as many beside each other as divide a row. */
static int map_rows(const reader *r) {
  unsigned lanes = r->machine->lanes, wide = bf_tile_row_bytes(r->tile) / r->move->width_bytes;
  unsigned across = wide < lanes ? wide : lanes;
  char map[32];
  while (lanes % across || wide % across)
    across--;
  if (r->tile->rows % (lanes / across))
    return fail(r, 0, "%u lanes that access %u bytes each along the rows span %u rows, of %u",
                lanes, r->move->width_bytes, lanes / across, r->tile->rows);
  snprintf(map, sizeof map, "%ux%u", lanes / across, across);
  r->move->lanes = lanes;
  return bf_map_parse(r->part->text, map, lanes, r->tile, r->move, r->diagnostic);
}

static int read_lanes(const reader *r) {
  r->move->mover = BF_MOVER_LANES;
  r->move->op = r->move->is_write ? BF_OP_ST : BF_OP_LD;
  if (strncmp(r->part->name, "ds_", 3) == 0)
    r->move->width_bytes = (unsigned)strtoul(strrchr(r->part->name, 'b') + 1, NULL, 10) / 8;
  else
    BF_TRY(read_bytes(r, " 1 2 4 8 16 ", r->tile->element->bytes));
  BF_TRY(check_width(r));
  if (!r->part->map)
    return map_rows(r);
  return bf_map_parse(r->part->text, r->part->text + r->part->map_at, r->machine->lanes, r->tile,
                      r->move, r->diagnostic);
}

static int read_copy(const reader *r) {
  r->move->mover = BF_MOVER_COPY;
  BF_TRY(read_bytes(r, " 4 8 16 ", 16));
  r->move->op = r->move->width_bytes == 4   ? BF_OP_CP4
                : r->move->width_bytes == 8 ? BF_OP_CP8
                                            : BF_OP_CP16;
  BF_TRY(check_width(r));
  if (r->part->map)
    return bf_map_parse(r->part->text, r->part->text + r->part->map_at, r->machine->lanes, r->tile,
                        r->move, r->diagnostic);
  return map_rows(r);
}

/* ".x2" and ".trans" behind the name of a matrix access. */
static int read_matrix_options(const reader *r, unsigned *matrices, bool *is_turned) {
  const char *option = strchr(r->part->name, '.');
  *matrices = 4;
  *is_turned = false;
  while (option) {
    const char *next = strchr(option + 1, '.');
    size_t length = next ? (size_t)(next - option) : strlen(option);
    if (length == 3 && option[1] == 'x' && strchr("124", option[2]))
      *matrices = (unsigned)(option[2] - '0');
    else if (length == 6 && strncmp(option, ".trans", 6) == 0)
      *is_turned = true;
    else
      return fail(r, (size_t)(option - r->part->name), "expected .x1, .x2, .x4 or .trans");
    option = next;
  }
  return BF_OK;
}

/* Matrices of 8 rows of 16 bytes: two below each other where there are rows, then beside. */
static int read_matrix(const reader *r) {
  unsigned matrices, row_bytes = bf_tile_row_bytes(r->tile), element = r->tile->element->bytes;
  bool is_turned;
  bf_move *move = r->move;
  BF_TRY(read_matrix_options(r, &matrices, &is_turned));
  move->mover = BF_MOVER_MATRIX;
  move->width_bytes = 16;
  move->op = move->is_write  ? BF_OP_STMATRIX4
             : matrices == 1 ? BF_OP_LDMATRIX1
             : matrices == 2 ? BF_OP_LDMATRIX2
             : is_turned     ? BF_OP_LDMATRIXT4
                             : BF_OP_LDMATRIX4;
  if (is_turned && element != 2)
    return fail(r, 0, "it transposes elements of 2 bytes, and %s has %u", r->tile->element->name,
                element);
  BF_TRY(check_width(r));
  unsigned down = matrices > 1 && r->tile->rows % 16 == 0 ? 2 : 1, across = matrices / down;
  if (r->tile->rows % (8 * down) || row_bytes % (16 * across))
    return fail(r, 0,
                "it moves blocks of %u rows of %u bytes, which do not divide a tile of %u "
                "rows of %u bytes",
                8 * down, 16 * across, r->tile->rows, row_bytes);
  move->lanes = 8 * matrices;
  move->step_rows = 8 * down;
  move->step_columns = 16 * across / element;
  for (unsigned lane = 0; lane < move->lanes; lane++) {
    move->row[lane] = lane % move->step_rows;
    move->column[lane] = lane / move->step_rows * (16 / element);
  }
  return BF_OK;
}

static int read_tma(const reader *r) {
  r->move->mover = BF_MOVER_TMA;
  if (!has_tensor_copies(r->machine))
    return fail(r, 0, "machine %s has no tensor copies: they came with Hopper", r->machine->name);
  if (!r->tile->element->map_type)
    return fail(r, 0, "tensor copies have no type %s", r->tile->element->name);
  if (bf_tile_row_bytes(r->tile) % 16)
    return fail(r, 0, "a box of tensor copies is a multiple of 16 bytes wide; a row has %u",
                bf_tile_row_bytes(r->tile));
  if (r->part->value) {
    const char *cursor = r->part->value;
    uint64_t columns;
    if (!bf_parse_number(&cursor, &columns) || *cursor || columns == 0 ||
        r->tile->columns % columns || columns * r->tile->element->bytes % 16)
      return fail(r, r->part->value_at,
                  "the width of a box in elements divides the %u columns of the tile and is a "
                  "multiple of 16 bytes",
                  r->tile->columns);
    r->move->box_columns = (unsigned)columns;
  }
  return BF_OK;
}

/* Whether the tile has the shape of an operand. */
static int check_operand(const reader *r) {
  const bf_element *element = r->tile->element;
  const bf_move *move = r->move;
  unsigned along_k = move->is_mn_major ? r->tile->rows : r->tile->columns;
  unsigned across = move->is_mn_major ? r->tile->columns : r->tile->rows;
  unsigned least = move->operand == 'A' ? 64 : 8;
  if (!element->has_wgmma)
    return fail(r, 0, "wgmma does not take %s%s", element->name,
                strcmp(element->name, "f32") == 0 ? " (tf32 are f32 of which it reads 19 bits)"
                                                  : "");
  if (move->is_mn_major && element->bytes != 2)
    return fail(r, 0, "only operands of 16-bit types can be MN-major, and %s has %u bits",
                element->name, 8 * element->bytes);
  if (along_k * element->bytes % 32)
    return fail(r, 0, "wgmma reads 32 bytes along K at a time; the tile has %u %s of %u bytes",
                along_k, move->is_mn_major ? "rows" : "columns", element->bytes);
  if (across % least)
    return fail(r, 0, "%c has a multiple of %u %s along %c; the tile has %u", move->operand, least,
                move->is_mn_major ? "columns" : "rows", move->operand == 'A' ? 'M' : 'N', across);
  return BF_OK;
}

static int read_wgmma(const reader *r) {
  const char *value = r->part->value ? r->part->value : "";
  bf_move *move = r->move;
  move->mover = BF_MOVER_WGMMA;
  move->op = BF_OP_LD;
  if (!has_wgmma(r->machine))
    return fail(r, 0, "machine %s has no wgmma: only Hopper has", r->machine->name);
  move->operand = value[0] == 'a' ? 'A' : value[0] == 'b' ? 'B' : value[0];
  const char *rest = value[0] ? value + 1 : value;
  move->is_mn_major = strcmp(rest, ".mn") == 0;
  if ((move->operand != 'A' && move->operand != 'B') ||
      (*rest && !move->is_mn_major && strcmp(rest, ".k") != 0))
    return fail(r, r->part->value ? r->part->value_at : strlen(r->part->name),
                "say which operand, wgmma:A or wgmma:B; with .mn where rows of the tile are along "
                "K, as wgmma:B.mn");
  return check_operand(r);
}

/* ---- Reading ---- */

static const struct kind {
  const char *name;
  bool writes, reads, has_options; /* as .x2 */
  bool has_value, has_map;
  int (*read)(const reader *r);
} kinds[] = {
    {"tma", true, true, false, true, false, read_tma},
    {"cp.async", true, false, false, true, true, read_copy},
    {"st", true, false, false, true, true, read_lanes},
    {"st.shared", true, false, false, true, true, read_lanes},
    {"stmatrix", true, false, true, false, false, read_matrix},
    {"ds_write_b32", true, false, false, false, true, read_lanes},
    {"ds_write_b64", true, false, false, false, true, read_lanes},
    {"ds_write_b128", true, false, false, false, true, read_lanes},
    {"wgmma", false, true, false, true, false, read_wgmma},
    {"ldmatrix", false, true, true, false, false, read_matrix},
    {"ld", false, true, false, true, true, read_lanes},
    {"ld.shared", false, true, false, true, true, read_lanes},
    {"ds_read_b32", false, true, false, false, true, read_lanes},
    {"ds_read_b64", false, true, false, false, true, read_lanes},
    {"ds_read_b128", false, true, false, false, true, read_lanes},
};

/* Cuts off "*WEIGHT" at the end; what is left has *size characters. */
static int take_weight(const char *text, size_t *size, const bf_move *move, uint64_t *weight,
                       bf_diagnostic *diagnostic) {
  const char *star = strrchr(text, '*'), *bracket = strrchr(text, ')');
  *size = strlen(text);
  *weight = 1;
  if (!star || (bracket && bracket > star))
    return BF_OK;
  const char *cursor = star + 1;
  if (!bf_parse_number(&cursor, weight) || *cursor || *weight == 0 || *weight > 1000000)
    return bf_fail_at(diagnostic, bf_move_option(move), 1, text, star + 1,
                      "a weight is a number from 1 to 1000000");
  *size = (size_t)(star - text);
  return BF_OK;
}

/* Cuts name, value and map apart. */
static void cut(const char *text, parts *part) {
  memcpy(part->copy, part->name, sizeof part->copy);
  char *map = strchr(part->copy, '@');
  if (map) {
    *map++ = 0;
    part->map = map;
    part->map_at = (size_t)(map - part->copy);
  }
  char *value = strchr(part->copy, ':');
  if (value) {
    *value++ = 0;
    part->value = value;
    part->value_at = (size_t)(value - part->copy);
  }
  part->text = text;
  memcpy(part->name, part->copy, sizeof part->name);
}

/* The kind that a name begins with, or NULL. */
static const struct kind *find_kind(const char *name) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    size_t length = strlen(kinds[i].name);
    if (strncmp(name, kinds[i].name, length) == 0 &&
        (name[length] == 0 || (kinds[i].has_options && name[length] == '.')))
      return &kinds[i];
  }
  return NULL;
}

static int unknown(const reader *r) {
  bf_guess guess = bf_guess_begin(r->part->name);
  bf_text known = {0};
  char likely[BF_GUESS_BYTES];
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    bf_guess_offer(&guess, kinds[i].name, strlen(kinds[i].name));
    if (r->move->is_write ? kinds[i].writes : kinds[i].reads)
      bf_text_addf(&known, "%s%s", known.size ? ", " : "", kinds[i].name);
  }
  int error = fail(r, 0, "nothing called '%.40s' %s a tile%s; there are %s", r->part->name,
                   r->move->is_write ? "writes" : "reads", bf_guess_text(&guess, likely),
                   known.data ? known.data : "others");
  bf_text_free(&known);
  return error;
}

int bf_move_parse(const char *text, bool is_write, const bf_tile *tile, const bf_machine *machine,
                  bf_move *move, bf_diagnostic *diagnostic) {
  parts part = {.text = text};
  reader r = {&part, tile, machine, move, diagnostic};
  size_t size;
  *move = (bf_move){.is_write = is_write};
  if (strlen(text) >= BF_MOVE_TEXT)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%s takes at most %d characters", bf_move_option(move),
                   BF_MOVE_TEXT - 1);
  BF_TRY(take_weight(text, &size, move, &move->weight, diagnostic));
  memcpy(part.name, text, size);
  memcpy(move->text, text, size);
  cut(move->text, &part);
  const struct kind *kind = find_kind(part.name);
  if (!kind)
    return unknown(&r);
  if (is_write ? !kind->writes : !kind->reads)
    return fail(&r, 0, "%s %s: give it by %s", part.name, is_write ? "reads" : "writes",
                is_write ? "--read" : "--write");
  if (part.value && !kind->has_value)
    return fail(&r, part.value_at, "%s takes nothing behind a colon", kind->name);
  if (part.map && !kind->has_map)
    return fail(&r, part.map_at, "%s has its own thread map", kind->name);
  return kind->read(&r);
}
