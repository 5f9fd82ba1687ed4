/* Room layout against brute force on Hopper: hundreds of random questions - who writes and who
 * reads a random tile, with random thread maps - whose answer is computed here once more without
 * any function of the room: places by the formulas of docs/hopper.md, wavefronts by the sentences
 * of docs/memory.md, and the best by trying everything, also wider swizzles than the room tries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "layout/layout.h"

enum { LANES = 32, MOST_MOVES = 3, MOST_BYTES = 8192, WANTED = 1000 };

/* ---- Questions ---- */

typedef enum kind { TMA, WGMMA, COPY, LOAD, STORE, MATRIX } kind;

typedef struct mover {
  char text[64];
  kind kind;
  bool is_write;
  unsigned width, lanes, weight;    /* bytes a lane */
  unsigned row[LANES], byte[LANES]; /* of a lane, behind the corner of a step */
  unsigned down, across;            /* rows and bytes of a step */
} mover;

typedef struct asked {
  unsigned rows, row_bytes, element;
  char tile[24];
  const char *type;
  mover move[MOST_MOVES];
  unsigned moves;
} asked;

static uint64_t state_of_draw;
static unsigned draw(unsigned n) {
  state_of_draw = state_of_draw * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (unsigned)(state_of_draw >> 33) % n;
}

/* Lanes in `rows` rows, beside each other first, or below each other first. */
static void set_lanes(mover *m, unsigned rows, bool is_down_first) {
  unsigned across = m->lanes / rows;
  for (unsigned lane = 0; lane < m->lanes; lane++) {
    m->row[lane] = is_down_first ? lane % rows : lane / across;
    m->byte[lane] = (is_down_first ? lane / rows : lane % across) * m->width;
  }
  m->down = rows;
  m->across = across * m->width;
}

/* A load, a store or a copy with lanes along the rows, with a map of rows and columns, or with an
 * expression that staggers the lanes of a row. */
static void draw_lanes(const asked *q, mover *m) {
  static const char *const names[] = {[COPY] = "cp.async", [LOAD] = "ld", [STORE] = "st"};
  unsigned wide, rows = 1u << draw(6), way = draw(4);
  m->lanes = LANES;
  m->width = m->kind == COPY ? 4u << draw(3) : q->element << draw(5);
  m->width = m->width > 16 ? 16 : m->width;
  int used = snprintf(m->text, sizeof m->text, "%s:%u", names[m->kind], m->width);
  char *rest = m->text + used;
  size_t room = sizeof m->text - (size_t)used;
  wide = q->row_bytes / m->width;
  if (way == 0) { /* as many beside each other as divide a row */
    unsigned across = LANES;
    while (LANES % across || wide % across || across > wide)
      across /= 2;
    set_lanes(m, LANES / across, false);
  } else if (way < 3) {
    set_lanes(m, rows, way == 2);
    snprintf(rest, room, "@%ux%u%s", rows, LANES / rows, way == 2 ? "t" : "");
  } else { /* 8 rows of 4, every row begins elsewhere */
    for (unsigned lane = 0; lane < LANES; lane++) {
      m->row[lane] = lane / 4;
      m->byte[lane] = (lane + lane / 4) % 4 * m->width;
    }
    m->down = 8, m->across = 4 * m->width;
    snprintf(rest, room, "@(l/4, (l + l/4) %% 4 * %u)", m->width / q->element);
  }
}

static void draw_matrices(const asked *q, mover *m) {
  unsigned matrices = m->is_write ? 4 : 1u << draw(3), down;
  m->width = 16;
  m->lanes = 8 * matrices;
  down = matrices > 1 && q->rows % 16 == 0 ? 2 : 1;
  set_lanes(m, 8 * down, true);
  snprintf(m->text, sizeof m->text, "%s.x%u%s", m->is_write ? "stmatrix" : "ldmatrix", matrices,
           q->element == 2 && draw(2) ? ".trans" : "");
}

static void draw_move(const asked *q, mover *m, bool is_write) {
  static const kind writers[] = {TMA, COPY, COPY, STORE, STORE, STORE, MATRIX};
  static const kind readers[] = {WGMMA, WGMMA, LOAD, LOAD, LOAD, MATRIX, TMA};
  static const char *const operands[] = {"wgmma:A", "wgmma:B", "wgmma:A.mn", "wgmma:B.mn"};
  memset(m, 0, sizeof *m);
  m->is_write = is_write;
  m->kind = (is_write ? writers : readers)[draw(7)];
  if (m->kind == TMA)
    snprintf(m->text, sizeof m->text, "tma");
  else if (m->kind == WGMMA)
    snprintf(m->text, sizeof m->text, "%s", operands[draw(4)]);
  else if (m->kind == MATRIX)
    draw_matrices(q, m);
  else
    draw_lanes(q, m);
  m->weight = 1 + draw(3);
}

static void draw_question(asked *q) {
  static const struct {
    const char *name;
    unsigned bytes;
  } types[] = {{"f16", 2}, {"bf16", 2}, {"f32", 4}, {"tf32", 4}, {"e4m3", 1}, {"f64", 8}};
  static const unsigned rows[] = {8, 16, 24, 32, 48, 64, 64, 96, 128};
  unsigned type = draw(6);
  q->type = types[type].name;
  q->element = types[type].bytes;
  do {
    q->rows = rows[draw(9)];
    q->row_bytes = 16 * (draw(2) ? 1u << draw(6) : 1 + draw(20));
  } while (q->rows * q->row_bytes > MOST_BYTES);
  snprintf(q->tile, sizeof q->tile, "%ux%u", q->rows, q->row_bytes / q->element);
  q->moves = 2 + draw(2);
  for (unsigned i = 0; i < q->moves; i++)
    draw_move(q, &q->move[i], i == 0);
}

/* ---- Places ---- */

/* A way to lay the tile: panels, gaps, swizzle. */
typedef struct way {
  unsigned panel, pitch, gap, bits, base;
  int shift;
} way;

static unsigned place_of(const asked *q, const way *w, unsigned row, unsigned byte) {
  unsigned at = byte / w->panel * (q->rows * w->pitch + w->gap) + row * w->pitch + byte % w->panel;
  for (unsigned bit = w->base; bit < w->base + w->bits; bit++) {
    unsigned to = w->shift < 0 ? bit + (unsigned)-w->shift : bit;
    unsigned from = w->shift < 0 ? bit : bit + (unsigned)w->shift;
    at ^= (at >> from & 1) << to; /* sources lie above or below all bits that change */
  }
  return at;
}

static unsigned size_of(const asked *q, const way *w) {
  return q->row_bytes / w->panel * (q->rows * w->pitch + w->gap);
}

/* ---- Wavefronts ---- */

/* The most different words that these lanes want of one bank. */
static unsigned words_of(const unsigned *at, unsigned lanes, unsigned width) {
  static unsigned seen[MOST_BYTES], turn; /* when each word was wanted last */
  unsigned most = 0, count[32] = {0};
  turn++;
  for (unsigned lane = 0; lane < lanes; lane++)
    for (unsigned byte = 0; byte < width; byte += 4) {
      unsigned word = (at[lane] + byte) / 4;
      if (seen[word] == turn)
        continue;
      seen[word] = turn;
      if (++count[word % 32] > most)
        most = count[word % 32];
    }
  return most;
}

/* Copies of 16 bytes: as many wavefronts as there are different pairs of lines with sectors that
 * move alike. */
static unsigned copies_of(const unsigned *to, const unsigned *from, unsigned lanes) {
  unsigned kinds = 0, known[LANES][4];
  for (unsigned lane = 0; lane < lanes; lane++) {
    bool is_whole = false;
    for (unsigned other = 0; other < lanes; other++)
      is_whole |= to[other] == (to[lane] ^ 16) && from[other] == (from[lane] ^ 16);
    unsigned halves = (to[lane] / 16 & 1) * 2 + (from[lane] / 16 & 1);
    unsigned own[4] = {to[lane] / 128, from[lane] / 128, (to[lane] / 32 + from[lane] / 32) % 2,
                       is_whole ? 4u + (halves == 1 || halves == 2) : halves};
    unsigned k = 0;
    while (k < kinds && memcmp(known[k], own, sizeof own) != 0)
      k++;
    if (k == kinds)
      memcpy(known[kinds++], own, sizeof own);
  }
  return kinds;
}

/* One step of a mover. */
static unsigned step_cost(const mover *m, const unsigned *at, const unsigned *from) {
  unsigned group = m->kind == MATRIX ? 8 : m->width == 16 ? 8 : m->width == 8 ? 16 : 32, cost = 0;
  if (m->kind == COPY && m->width == 16)
    return copies_of(at, from, m->lanes);
  for (unsigned lane = 0; lane < m->lanes; lane += group)
    cost += words_of(at + lane, group, m->width);
  return cost;
}

/* Of a mover, on the whole tile. Rows in global memory begin at multiples of 128 bytes. */
static unsigned mover_cost(const asked *q, const way *w, const mover *m) {
  unsigned cost = 0, line = (q->row_bytes + 127) / 128 * 128;
  if (m->kind == TMA)
    return 0;
  if (m->kind == WGMMA)
    return (q->rows * q->row_bytes + 127) / 128;
  for (unsigned row = 0; row < q->rows; row += m->down)
    for (unsigned byte = 0; byte < q->row_bytes; byte += m->across) {
      unsigned at[LANES], from[LANES];
      for (unsigned lane = 0; lane < m->lanes; lane++) {
        at[lane] = place_of(q, w, row + m->row[lane], byte + m->byte[lane]);
        from[lane] = (row + m->row[lane]) * line + byte + m->byte[lane];
      }
      cost += step_cost(m, at, from);
    }
  return cost;
}

/* ---- Everything that may be ---- */

static bool has(const asked *q, kind k) {
  for (unsigned i = 0; i < q->moves; i++)
    if (q->move[i].kind == k)
      return true;
  return false;
}

/* What every lane accesses stays together, every byte has a place of its own, and none is outside.
 */
static bool is_allowed(const asked *q, const way *w) {
  static bool used[4 * MOST_BYTES];
  unsigned size = size_of(q, w), granule = q->element;
  for (unsigned i = 0; i < q->moves; i++)
    granule = q->move[i].width > granule ? q->move[i].width : granule;
  if (size > sizeof used || w->panel % granule || w->pitch % granule ||
      (w->bits && w->base < (unsigned)__builtin_ctz(granule)))
    return false;
  memset(used, 0, size);
  for (unsigned row = 0; row < q->rows; row++)
    for (unsigned byte = 0; byte < q->row_bytes; byte += granule) {
      unsigned at = place_of(q, w, row, byte);
      if (at >= size || used[at])
        return false;
      used[at] = true;
    }
  return true;
}

typedef struct best {
  unsigned cost, size, tried;
} best;

static void try_way(const asked *q, const way *w, best *b) {
  unsigned cost = 0, size = size_of(q, w);
  if (!is_allowed(q, w))
    return;
  for (unsigned i = 0; i < q->moves; i++)
    cost += mover_cost(q, w, &q->move[i]) * q->move[i].weight;
  b->tried++;
  if (cost < b->cost || (cost == b->cost && size < b->size))
    b->cost = cost, b->size = size;
}

/* Tensor copies and wgmma: the modes, panels without one, and gaps where no tensor copy writes. */
static void try_modes(const asked *q, best *b) {
  bool is_copied = has(q, TMA), is_read = has(q, WGMMA);
  for (unsigned panel = 16; panel <= q->row_bytes; panel += 16) {
    bool is_power = (panel & (panel - 1)) == 0 && q->row_bytes % panel == 0;
    way plain = {.panel = panel, .pitch = panel};
    bool is_one = panel == q->row_bytes;
    bool can_copy = panel / q->element <= 256 && (is_one || q->rows * panel % 128 == 0);
    if ((!is_one && !is_power) || (is_copied && !can_copy) || (is_read && panel != 16))
      continue;
    try_way(q, &plain, b);
  }
  for (unsigned bits = 1; bits <= 3; bits++) {
    unsigned width = 16u << bits;
    way swizzled = {.panel = width, .pitch = width, .bits = bits, .base = 4, .shift = 3};
    if (q->row_bytes % width == 0 &&
        (!is_copied || q->row_bytes == width || q->rows * width % 128 == 0))
      try_way(q, &swizzled, b);
  }
  for (unsigned gap = 16; gap < 128 && !is_copied; gap += 16)
    try_way(q, &(way){.panel = 16, .pitch = 16, .gap = gap}, b);
}

/* Threads alone: every swizzle up to seven bits, every padding. */
static void try_all(const asked *q, best *b) {
  way w = {.panel = q->row_bytes, .pitch = q->row_bytes};
  try_way(q, &w, b);
  for (w.bits = 1; w.bits <= 7; w.bits++)
    for (w.base = 0; w.base < 13; w.base++)
      for (w.shift = -12; w.shift <= 12; w.shift++)
        if ((unsigned)abs(w.shift) >= w.bits && w.base + w.bits + (unsigned)abs(w.shift) <= 14)
          try_way(q, &w, b);
  w.bits = 0;
  for (unsigned pad = 1; pad < 128; pad++) {
    w.pitch = q->row_bytes + pad;
    try_way(q, &w, b);
  }
}

/* ---- Comparing ---- */

static bf_layouts *ask(const asked *q, const bf_machine *machine) {
  const char *read[MOST_MOVES], *write[1];
  char text[MOST_MOVES][80];
  bf_layout_options options;
  bf_layouts *layouts = NULL;
  bf_layout_default_options(&options);
  for (unsigned i = 0; i < q->moves; i++)
    snprintf(text[i], sizeof text[i], "%s*%u", q->move[i].text, q->move[i].weight);
  write[0] = text[0];
  for (unsigned i = 1; i < q->moves; i++)
    read[i - 1] = text[i];
  options.tile = q->tile, options.type = q->type;
  options.write = write, options.writes = 1;
  options.read = read, options.reads = q->moves - 1;
  return bf_layouts_find(machine, &options, &layouts, NULL) == BF_OK ? layouts : NULL;
}

/* Each of the room's layouts costs what its numbers cost here. */
static void compare_costs(const asked *q, const bf_layouts *layouts) {
  for (size_t n = 0; n < bf_layouts_size(layouts); n++) {
    const bf_layout_choice *c = bf_layouts_get(layouts, n);
    way w = {.panel = c->panel_bytes,
             .pitch = c->pitch_bytes,
             .gap = (unsigned)c->panel_stride_bytes - q->rows * c->pitch_bytes,
             .bits = c->swizzle_bits,
             .base = c->swizzle_base,
             .shift = c->swizzle_shift};
    for (unsigned i = 0; i < q->moves; i++) {
      bf_layout_access access;
      assert_true(bf_layouts_get_access(layouts, n, i, &access));
      if (access.wavefronts != mover_cost(q, &w, &q->move[i]))
        fail_msg("%s %s, layout %s: %s takes %u, not %u", q->tile, q->type, c->name,
                 q->move[i].text, mover_cost(q, &w, &q->move[i]), (unsigned)access.wavefronts);
    }
    if (n >= 8 && n + 8 < bf_layouts_size(layouts))
      n += draw(16); /* the first, the last, and some between */
  }
}

static void compare(const asked *q, const bf_layouts *layouts) {
  best b = {.cost = UINT32_MAX};
  compare_costs(q, layouts);
  if (has(q, TMA) || has(q, WGMMA))
    try_modes(q, &b);
  else
    try_all(q, &b);
  const bf_layout_choice *first = bf_layouts_get(layouts, 0);
  if (first->wavefronts != b.cost || first->bytes != b.size)
    fail_msg("%s %s, %s, %s, %s: %s takes %u in %u bytes, the best of %u takes %u in %u", q->tile,
             q->type, q->move[0].text, q->move[1].text, q->moves > 2 ? q->move[2].text : "-",
             first->name, (unsigned)first->wavefronts, (unsigned)first->bytes, b.tried, b.cost,
             b.size);
}

static void answers_are_the_best_there_is(void **state) {
  (void)state;
  bf_machine *machine;
  unsigned modes = 0, threads = 0;
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  state_of_draw = 20;
  for (unsigned i = 0; modes < WANTED / 2 || threads < WANTED / 2; i++) {
    asked q;
    assert_true(i < 400 * WANTED);
    draw_question(&q);
    bool is_fixed = has(&q, TMA) || has(&q, WGMMA);
    if (is_fixed ? modes == WANTED / 2 : threads == WANTED / 2)
      continue;
    bf_layouts *layouts = ask(&q, machine);
    if (!layouts)
      continue; /* lanes or operands that do not fit the tile */
    compare(&q, layouts);
    *(is_fixed ? &modes : &threads) += 1;
    bf_layouts_free(layouts);
  }
  bf_machine_free(machine);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(answers_are_the_best_there_is)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
