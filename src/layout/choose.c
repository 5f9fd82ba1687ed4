/* Counting layouts and putting them in order. */
#include "layout/layout.h"

#include <stdlib.h>
#include <string.h>

/* ---- Counting ---- */

enum { LINE_BYTES = 128 }; /* of global memory, which copies of 16 bytes see */

/* One step of a move, whose corner is element (row, column), as an access, and where in global
 * memory lanes find what they copy: rows of a tensor begin at multiples of 128 bytes, and no line
 * holds two of them. */
static void fill_access(const bf_tile_layout *layout, const bf_tile *tile, const bf_move *move,
                        unsigned row, unsigned column, bf_access *access,
                        uint64_t source[BF_MAX_LANES]) {
  unsigned row_lines = (bf_tile_row_bytes(tile) + LINE_BYTES - 1) / LINE_BYTES;
  access->op = move->op;
  access->width_bytes = move->width_bytes;
  access->count = 1;
  access->mask = move->lanes == 64 ? UINT64_MAX : ((uint64_t)1 << move->lanes) - 1;
  for (unsigned lane = 0; lane < move->lanes; lane++) {
    unsigned own = row + move->row[lane];
    unsigned byte = (column + move->column[lane]) * tile->element->bytes;
    access->address[lane] = bf_layout_place(layout, own, byte);
    source[lane] = (uint64_t)own * row_lines * LINE_BYTES + byte;
  }
}

static int count_access(const bf_layouts *answers, const bf_access *access, const uint64_t *source,
                        bf_count *count, bf_diagnostic *diagnostic) {
  return access->op == BF_OP_CP16 ? bf_memory_count_copy(answers->machine, NULL, access, source,
                                                         false, count, diagnostic)
                                  : bf_counter_count(answers->counter, access, count, diagnostic);
}

/* One pass of a move over the tile. */
static int count_move(const bf_layouts *answers, const bf_tile_layout *layout, const bf_move *move,
                      bf_move_cost *cost, bf_diagnostic *diagnostic) {
  const bf_tile *tile = &answers->tile;
  uint64_t bytes = (uint64_t)tile->rows * bf_tile_row_bytes(tile);
  if (move->mover == BF_MOVER_TMA)
    return BF_OK; /* counted nowhere: tests/data/h200/hopper.csv */
  if (move->mover == BF_MOVER_WGMMA) {
    cost->wavefronts = cost->ideal = bf_memory_operand_wavefronts(answers->machine, bytes);
    return BF_OK;
  }
  bf_access access = {0};
  for (unsigned row = 0; row < tile->rows; row += move->step_rows)
    for (unsigned column = 0; column < tile->columns; column += move->step_columns) {
      bf_count count;
      uint64_t source[BF_MAX_LANES];
      fill_access(layout, tile, move, row, column, &access, source);
      BF_TRY(count_access(answers, &access, source, &count, diagnostic));
      cost->wavefronts += bf_count_wavefronts(&count);
      cost->ideal += count.ideal;
      cost->estimated |= count.estimated;
    }
  return BF_OK;
}

/* ---- Keeping ---- */

/* Makes room for one more of size bytes. */
static void *grow(bf_arena *arena, void *list, size_t count, size_t *capacity, size_t size) {
  if (count < *capacity)
    return list;
  size_t more = *capacity ? 2 * *capacity : 16;
  void *longer = bf_arena_alloc(arena, more * size);
  if (longer && count)
    memcpy(longer, list, count * size);
  *capacity = longer ? more : *capacity;
  return longer;
}

int bf_layouts_refuse(bf_layouts *answers, const char *name, const char *why) {
  bf_layout_refused *longer = grow(&answers->arena, answers->refused, answers->refused_count,
                                   &answers->refused_capacity, sizeof *longer);
  char *own_name = bf_arena_copy(&answers->arena, name),
       *own_why = bf_arena_copy(&answers->arena, why);
  if (!longer || !own_name || !own_why)
    return BF_NO_MEMORY;
  answers->refused = longer;
  answers->refused[answers->refused_count++] = (bf_layout_refused){own_name, own_why};
  return BF_OK;
}

static const char *const map_modes[] = {"CU_TENSOR_MAP_SWIZZLE_NONE", "CU_TENSOR_MAP_SWIZZLE_32B",
                                        "CU_TENSOR_MAP_SWIZZLE_64B", "CU_TENSOR_MAP_SWIZZLE_128B",
                                        NULL};

/* What is told of a layout, all moves together. */
static bf_layout_choice sum_up(const bf_layouts *answers, const bf_tile_layout *layout,
                               const bf_move_cost *cost) {
  bf_layout_choice choice = {.bytes = layout->bytes,
                             .panel_stride_bytes = layout->panel_stride_bytes,
                             .tma_mode = map_modes[layout->mode],
                             .alignment_bytes = layout->alignment_bytes,
                             .panel_bytes = layout->panel_bytes,
                             .pitch_bytes = layout->pitch_bytes,
                             .swizzle_bits = layout->bits,
                             .swizzle_base = layout->base,
                             .swizzle_shift = layout->shift};
  for (unsigned i = 0; i < answers->moves; i++) {
    choice.wavefronts += cost[i].wavefronts * answers->move[i].weight;
    choice.ideal += cost[i].ideal * answers->move[i].weight;
    choice.estimated |= cost[i].estimated;
  }
  choice.conflicts = choice.wavefronts - choice.ideal;
  return choice;
}

int bf_layouts_consider(bf_layouts *answers, const bf_tile_layout *layout,
                        bf_diagnostic *diagnostic) {
  char why[BF_WHY_BYTES];
  for (unsigned i = 0; i < answers->moves; i++) {
    const char *said = bf_layout_objection(layout, &answers->tile, &answers->move[i], why);
    if (said)
      return bf_layouts_refuse(answers, layout->name, said);
  }
  if (layout->bytes > answers->machine->capacity_bytes) {
    snprintf(why, sizeof why, "its %llu bytes are more than the %llu of a block",
             (unsigned long long)layout->bytes,
             (unsigned long long)answers->machine->capacity_bytes);
    return bf_layouts_refuse(answers, layout->name, why);
  }
  bf_layout_found *longer =
      grow(&answers->arena, answers->found, answers->count, &answers->capacity, sizeof *longer);
  bf_move_cost *cost = bf_arena_alloc(&answers->arena, (answers->moves + 1) * sizeof *cost);
  if (!longer || !cost)
    return bf_no_memory(diagnostic);
  answers->found = longer;
  for (unsigned i = 0; i < answers->moves; i++)
    BF_TRY(count_move(answers, layout, &answers->move[i], &cost[i], diagnostic));
  bf_layout_found *added = &answers->found[answers->count++];
  *added = (bf_layout_found){.layout = *layout, .cost = cost};
  for (unsigned i = 0; i < answers->moves; i++)
    if (answers->move[i].op == BF_OP_CP16 && added->layout.alignment_bytes < LINE_BYTES)
      added->layout.alignment_bytes = LINE_BYTES; /* these copies see lines of shared memory, too */
  added->choice = sum_up(answers, &added->layout, cost);
  return BF_OK;
}

/* ---- Order ---- */

/* How much there is to a layout beyond plain rows: nothing; a mode; other swizzles, simple ones
 * first; panels count as boxes do. */
static uint64_t effort(const bf_tile_layout *l) {
  unsigned shift = (unsigned)(l->shift < 0 ? -l->shift : l->shift);
  bool is_mode = l->bits == 0 || (l->base == 4 && l->shift == 3 && l->bits <= 3);
  uint64_t panels = l->bytes / l->panel_stride_bytes;
  return (uint64_t)!is_mode << 60 | panels << 40 | (uint64_t)l->bits << 32 |
         (uint64_t)(l->shift < 0) << 31 | (uint64_t)shift << 16 | (0xffff - l->base);
}

static int by_wavefronts(const void *left, const void *right) {
  const bf_layout_found *a = left, *b = right;
  if (a->choice.wavefronts != b->choice.wavefronts)
    return a->choice.wavefronts < b->choice.wavefronts ? -1 : 1;
  if (a->layout.bytes != b->layout.bytes)
    return a->layout.bytes < b->layout.bytes ? -1 : 1;
  uint64_t x = effort(&a->layout), y = effort(&b->layout);
  return x < y ? -1 : x > y;
}

/* ---- The question ---- */

static int read_moves(bf_layouts *answers, const bf_layout_options *options,
                      bf_diagnostic *diagnostic) {
  unsigned total = options->writes + options->reads;
  answers->move = bf_arena_alloc(&answers->arena, (total + 1) * sizeof *answers->move);
  if (!answers->move)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < total; i++) {
    bool is_write = i < options->writes;
    const char *text = is_write ? options->write[i] : options->read[i - options->writes];
    BF_TRY(bf_move_parse(text, is_write, &answers->tile, answers->machine, &answers->move[i],
                         diagnostic));
    answers->moves++;
  }
  return BF_OK;
}

/* Says why nothing is left. */
static int fail_empty(const bf_layouts *answers, bf_diagnostic *diagnostic) {
  const bf_layout_refused *first = answers->refused;
  if (!first)
    return bf_fail(diagnostic, BF_BAD_INPUT, "no layout serves all of these accesses");
  return bf_fail(diagnostic, BF_BAD_INPUT, "%s cannot be: %s%s",
                 answers->refused_count == 1 ? "this layout" : first->name, first->why,
                 answers->refused_count == 1 ? "" : "; nor can any other layout");
}

static int find(bf_layouts *answers, const bf_layout_options *options, bf_diagnostic *diagnostic) {
  BF_TRY(bf_tile_parse(options->tile, &answers->tile, diagnostic));
  answers->tile.element = bf_element_find(options->type ? options->type : "f16", diagnostic);
  if (!answers->tile.element)
    return BF_BAD_INPUT;
  uint64_t bytes = (uint64_t)answers->tile.rows * bf_tile_row_bytes(&answers->tile);
  if (bytes > answers->machine->capacity_bytes)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "the tile's %llu bytes are more than the %llu of a block",
                   (unsigned long long)bytes, (unsigned long long)answers->machine->capacity_bytes);
  BF_TRY(read_moves(answers, options, diagnostic));
  BF_TRY(bf_counter_create(answers->machine, NULL, &answers->counter, diagnostic));
  BF_TRY(bf_family_visit(answers, options->layout, diagnostic));
  if (answers->count == 0)
    return fail_empty(answers, diagnostic);
  qsort(answers->found, answers->count, sizeof *answers->found, by_wavefronts);
  for (size_t i = 0; i < answers->count; i++) {
    bf_layout_found *found = &answers->found[i];
    found->choice.name = found->layout.name; /* where it stays from now on */
  }
  return BF_OK;
}

int bf_layouts_find(const bf_machine *machine, const bf_layout_options *given, bf_layouts **out,
                    bf_diagnostic *diagnostic) {
  bf_layout_options options;
  *out = NULL;
  BF_TRY(bf_take_options(given, &options, sizeof options, "bf_layout_options", diagnostic));
  if (!options.tile)
    return bf_fail(diagnostic, BF_BAD_INPUT, "no tile was given");
  bf_layouts *answers = calloc(1, sizeof *answers);
  if (!answers)
    return bf_no_memory(diagnostic);
  answers->machine = machine;
  int error = machine ? BF_OK : bf_machine_load("hopper", NULL, &answers->own_machine, diagnostic);
  if (!machine)
    answers->machine = answers->own_machine;
  if (!error)
    error = find(answers, &options, diagnostic);
  if (error)
    bf_layouts_free(answers);
  else
    *out = answers;
  return error;
}

void bf_layouts_free(bf_layouts *answers) {
  if (!answers)
    return;
  bf_counter_free(answers->counter);
  bf_machine_free(answers->own_machine);
  bf_arena_free(&answers->arena);
  free(answers);
}

/* ---- Answers ---- */

size_t bf_layouts_size(const bf_layouts *layouts) { return layouts->count; }

const bf_layout_choice *bf_layouts_get(const bf_layouts *layouts, size_t index) {
  return index < layouts->count ? &layouts->found[index].choice : NULL;
}

bool bf_layouts_get_access(const bf_layouts *layouts, size_t index, unsigned access,
                           bf_layout_access *out) {
  if (index >= layouts->count || access >= layouts->moves)
    return false;
  const bf_layout_found *found = &layouts->found[index];
  const bf_move *move = &layouts->move[access];
  const bf_move_cost *cost = &found->cost[access];
  *out = (bf_layout_access){.text = move->text,
                            .is_write = move->is_write,
                            .weight = move->weight,
                            .wavefronts = cost->wavefronts,
                            .ideal = cost->ideal,
                            .estimated = cost->estimated};
  if (move->mover != BF_MOVER_WGMMA)
    return true;
  bf_matrix matrix = bf_layout_matrix(&found->layout, &layouts->tile, move);
  out->has_descriptor = true;
  out->descriptor = matrix.bits;
  out->leading_bytes = matrix.leading_bytes;
  out->stride_bytes = matrix.stride_bytes;
  out->layout_type = matrix.type;
  return true;
}

const char *bf_layouts_get_refused(const bf_layouts *layouts, size_t index, const char **why) {
  if (index >= layouts->refused_count)
    return NULL;
  *why = layouts->refused[index].why;
  return layouts->refused[index].name;
}

int bf_layouts_place(const bf_layouts *layouts, size_t index, unsigned row, unsigned column,
                     uint32_t *offset_bytes) {
  *offset_bytes = 0;
  if (index >= layouts->count || row >= layouts->tile.rows || column >= layouts->tile.columns)
    return BF_BAD_INPUT;
  *offset_bytes =
      bf_layout_place(&layouts->found[index].layout, row, column * layouts->tile.element->bytes);
  return BF_OK;
}
