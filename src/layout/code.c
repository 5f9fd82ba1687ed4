/* Code for a layout: CuTe, inline PTX with the constants of descriptors, the arguments of
 * cuTensorMapEncodeTiled, Triton's layouts, and plain CUDA. */
#include "layout/layout.h"

#include "base/guess.h"

#include <string.h>

typedef struct writer {
  const bf_layouts *answers;
  const bf_layout_found *found;
  bf_text *text;
  bf_diagnostic *diagnostic;
} writer;

static unsigned log2_of(unsigned bytes) { return (unsigned)__builtin_ctz(bytes); }

/* The first lines: what it is and what it costs. */
static void head(const writer *w, const char *comment) {
  const bf_tile *tile = &w->answers->tile;
  const bf_layout_choice *choice = &w->found->choice;
  bf_text_addf(w->text,
               "%s layout %s of %u rows of %u %s, %llu bytes at a multiple of %u bytes\n%s "
               "%llu wavefronts, %llu would do:",
               comment, choice->name, tile->rows, tile->columns, tile->element->name,
               (unsigned long long)choice->bytes, choice->alignment_bytes, comment,
               (unsigned long long)choice->wavefronts, (unsigned long long)choice->ideal);
  for (unsigned i = 0; i < w->answers->moves; i++)
    bf_text_addf(w->text, "%s %s %llu", i ? "," : "", w->answers->move[i].text,
                 (unsigned long long)w->found->cost[i].wavefronts);
  bf_text_puts(w->text, "\n");
}

/* ---- CuTe ---- */

/* "(rows, (columns of a panel, panels))" with strides in elements. */
static void cute_layout(const writer *w) {
  const bf_tile *tile = &w->answers->tile;
  const bf_tile_layout *l = &w->found->layout;
  unsigned element = tile->element->bytes, across = l->panel_bytes / element;
  unsigned panels = tile->columns / across;
  if (panels == 1)
    bf_text_addf(w->text, "Layout<Shape<Int<%u>, Int<%u>>, Stride<Int<%u>, _1>>", tile->rows,
                 across, l->pitch_bytes / element);
  else
    bf_text_addf(w->text,
                 "Layout<Shape<Int<%u>, Shape<Int<%u>, Int<%u>>>, Stride<Int<%u>, Stride<_1, "
                 "Int<%llu>>>>",
                 tile->rows, across, panels, l->pitch_bytes / element,
                 (unsigned long long)(l->panel_stride_bytes / element));
}

/* What CUTLASS calls the layout that wgmma reads. */
static void cute_atom(const writer *w, const bf_move *move) {
  static const char *const names[] = {"INTER", "SW32", "SW64", "SW128"};
  const bf_tile *tile = &w->answers->tile;
  const bf_tile_layout *l = &w->found->layout;
  unsigned along_k = move->is_mn_major ? tile->rows : tile->columns;
  unsigned across = move->is_mn_major ? tile->columns : tile->rows;
  if (l->gap_bytes)
    return; /* tile_to_shape leaves no gaps */
  bf_text_addf(w->text,
               "// for %s the same, as (%c, K): tile_to_shape(GMMA::Layout_%s_%s_Atom<%s>{}, "
               "Shape<Int<%u>, Int<%u>>{}%s)\n",
               move->text, move->operand == 'A' ? 'M' : 'N', move->is_mn_major ? "MN" : "K",
               names[l->mode], tile->element->cute_type, across, along_k,
               move->is_mn_major ? ", Step<_2, _1>{}" : "");
}

static int write_cute(const writer *w) {
  const bf_tile_layout *l = &w->found->layout;
  unsigned element = w->answers->tile.element->bytes;
  if (l->bits && l->base < log2_of(element))
    return bf_fail(w->diagnostic, BF_UNSUPPORTED, "no such form: the swizzle tears elements apart");
  if (l->pitch_bytes % element)
    return bf_fail(w->diagnostic, BF_UNSUPPORTED,
                   "no such form: rows are not a whole number of elements apart");
  head(w, "//");
  bf_text_puts(w->text, "#include <cute/tensor.hpp>\nusing namespace cute;\n");
  if (l->bits)
    bf_text_addf(w->text, "auto tile_layout = composition(Swizzle<%u, %u, %d>{}, ", l->bits,
                 l->base - log2_of(element), l->shift);
  else
    bf_text_puts(w->text, "auto tile_layout = ");
  cute_layout(w);
  bf_text_puts(w->text, l->bits ? "{}); // offsets in elements\n" : "{}; // offsets in elements\n");
  for (unsigned i = 0; i < w->answers->moves; i++)
    if (w->answers->move[i].mover == BF_MOVER_WGMMA)
      cute_atom(w, &w->answers->move[i]);
  return BF_OK;
}

/* ---- PTX ---- */

/* The descriptor of an operand, and where its matrices start. */
static void write_operand(const writer *w, const bf_move *move) {
  const bf_tile *tile = &w->answers->tile;
  const bf_tile_layout *l = &w->found->layout;
  bf_matrix m = bf_layout_matrix(l, tile, move);
  static const char *const types[] = {"none", "128 bytes", "64 bytes", "32 bytes"};
  bf_text_addf(w->text,
               "\n// %s, %s-major: leading byte offset %u%s, stride byte offset %u, layout type %u "
               "(%s), base offset 0.\n",
               move->text, move->is_mn_major ? "MN" : "K", m.leading_bytes,
               m.uses_leading ? "" : " (not used)", m.stride_bytes, m.type, types[m.type]);
  bf_text_addf(w->text,
               "// A wgmma of k%u reads %u of %u along %c (block) and %u of %u along K (step); its "
               "transpose bit is %d.\n",
               m.depth, m.rows, m.rows * m.blocks, move->operand == 'A' ? 'M' : 'N', m.depth,
               m.depth * m.steps, move->is_mn_major);
  bf_text_addf(
      w->text,
      "__device__ inline uint64_t tile_descriptor_%c(uint32_t tile, int block, int step) {\n"
      "  static constexpr uint32_t start[%u][%u] = {",
      move->operand == 'A' ? 'a' : 'b', m.blocks, m.steps);
  for (unsigned block = 0; block < m.blocks; block++) {
    bf_text_addf(w->text, "%s{", block ? ", " : "");
    for (unsigned step = 0; step < m.steps; step++)
      bf_text_addf(w->text, "%s%u", step ? ", " : "",
                   bf_layout_matrix_start(l, tile, move, block, step));
    bf_text_puts(w->text, "}");
  }
  bf_text_addf(
      w->text,
      "}; // bytes\n"
      "  return 0x%016llxull | (uint64_t)(((tile + start[block][step]) & 0x3ffff) >> 4);\n}\n",
      (unsigned long long)m.bits);
}

static int write_ptx(const writer *w) {
  bool has_any = false;
  head(w, "//");
  bf_text_puts(w->text,
               "// tile is the shared address: (uint32_t)__cvta_generic_to_shared(pointer).\n"
               "#include <cstdint>\n");
  for (unsigned i = 0; i < w->answers->moves; i++)
    if (w->answers->move[i].mover == BF_MOVER_WGMMA) {
      write_operand(w, &w->answers->move[i]);
      has_any = true;
    }
  return has_any ? BF_OK
                 : bf_fail(w->diagnostic, BF_UNSUPPORTED,
                           "no such form: descriptors are for wgmma, which is not among the reads");
}

/* ---- Tensor maps ---- */

/* The copies that bring a tile. */
static void write_copies(const writer *w, bf_boxes boxes) {
  const bf_tile_layout *l = &w->found->layout;
  unsigned count = boxes.across * boxes.down;
  bf_text_addf(
      w->text,
      "// Brings the tile from element (row, column) of the tensor on, in %u box%s; tile and "
      "barrier are\n// shared addresses. One thread calls it; the barrier expects %llu bytes.\n"
      "__device__ inline void copy_tile(const CUtensorMap *map, unsigned tile, int row, int "
      "column, unsigned barrier) {\n",
      count, count == 1 ? "" : "es", (unsigned long long)l->bytes);
  bf_text_addf(
      w->text,
      "  for (int i = 0; i < %u; i++)   // panels\n"
      "    for (int j = 0; j < %u; j++) // rows\n"
      "      asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx"
      "::bytes [%%0], [%%1, {%%2, %%3}], [%%4];\"\n",
      boxes.across, boxes.down);
  bf_text_addf(
      w->text,
      "                   ::\"r\"(tile + %lluu * i + %lluu * j), \"l\"(map), \"r\"(column + %u "
      "* i), \"r\"(row + %u * j), \"r\"(barrier)\n"
      "                   : \"memory\");\n}\n",
      (unsigned long long)l->panel_stride_bytes, (unsigned long long)boxes.rows * l->pitch_bytes,
      boxes.columns, boxes.rows);
}

/* The stores that take a tile away. */
static void write_stores(const writer *w, bf_boxes boxes) {
  const bf_tile_layout *l = &w->found->layout;
  bf_text_addf(
      w->text,
      "// Stores the tile to element (row, column) of the tensor on. Whoever wrote the tile "
      "does fence.proxy.async, then a barrier; one\n// thread calls it, and waits "
      "(cp.async.bulk.wait_group.read 0) before the tile is written again.\n"
      "__device__ inline void store_tile(const CUtensorMap *map, unsigned tile, int row, "
      "int column) {\n"
      "  for (int i = 0; i < %u; i++)   // panels\n"
      "    for (int j = 0; j < %u; j++) // rows\n",
      boxes.across, boxes.down);
  bf_text_addf(
      w->text,
      "      asm volatile(\"cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%%0, {%%1, "
      "%%2}], [%%3];\"\n"
      "                   ::\"l\"(map), \"r\"(column + %u * i), \"r\"(row + %u * j), \"r\"(tile + "
      "%lluu * i + %lluu * j)\n"
      "                   : \"memory\");\n"
      "  asm volatile(\"cp.async.bulk.commit_group;\" ::: \"memory\");\n}\n",
      boxes.columns, boxes.rows, (unsigned long long)l->panel_stride_bytes,
      (unsigned long long)boxes.rows * l->pitch_bytes);
}

/* Whether tensor copies write the tile, or read it. */
static bool is_moved(const bf_layouts *answers, bool is_write) {
  for (unsigned i = 0; i < answers->moves; i++)
    if (answers->move[i].mover == BF_MOVER_TMA && answers->move[i].is_write == is_write)
      return true;
  return false;
}

static int write_tma(const writer *w) {
  const bf_tile *tile = &w->answers->tile;
  const bf_tile_layout *l = &w->found->layout;
  bf_move any = {.mover = BF_MOVER_TMA};
  char why[BF_WHY_BYTES];
  const char *said = bf_layout_objection(l, tile, &any, why);
  if (said || !tile->element->map_type)
    return bf_fail(w->diagnostic, BF_UNSUPPORTED, "no such form: %s",
                   said ? said : "tensor maps have no such type");
  bf_boxes boxes = bf_layout_boxes(l, tile);
  head(w, "//");
  bf_text_addf(
      w->text,
      "// tensor: global address, a multiple of 16; rows, columns, row_bytes: of the whole "
      "tensor.\n#include <cuda.h>\n"
      "static CUresult make_tile_map(CUtensorMap *map, void *tensor, cuuint64_t rows, "
      "cuuint64_t columns, cuuint64_t row_bytes) {\n"
      "  cuuint64_t size[2] = {columns, rows}, stride[1] = {row_bytes};\n"
      "  cuuint32_t box[2] = {%u, %u}, step[2] = {1, 1};\n"
      "  return cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_%s, 2, tensor, size, "
      "stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,\n"
      "                                %s, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, "
      "CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);\n}\n",
      boxes.columns, boxes.rows, tile->element->map_type, w->found->choice.tma_mode);
  if (is_moved(w->answers, true) || !is_moved(w->answers, false))
    write_copies(w, boxes);
  if (is_moved(w->answers, false))
    write_stores(w, boxes);
  return BF_OK;
}

/* ---- Triton ---- */

/* vec, per_phase and max_phase of a swizzle whose source bits are those of the row. */
static int write_triton_swizzle(const writer *w) {
  const bf_tile_layout *l = &w->found->layout;
  unsigned element = w->answers->tile.element->bytes, row_bytes = l->pitch_bytes, row = 0;
  while (1u << row < row_bytes)
    row++;
  bool fits = 1u << row == row_bytes && l->shift > 0 && l->base >= log2_of(element) &&
              l->base + l->bits <= row && l->base + (unsigned)l->shift >= row;
  if (l->bits && !fits)
    return bf_fail(
        w->diagnostic, BF_UNSUPPORTED,
        "no such form: Triton moves columns by rows, in rows of a power of two of bytes");
  bf_text_addf(
      w->text,
      "tile_layout = gl.SwizzledSharedLayout(vec=%u, per_phase=%u, max_phase=%u, order=[1, "
      "0])\n",
      l->bits ? 1u << (l->base - log2_of(element)) : 1,
      l->bits ? 1u << (l->base + (unsigned)l->shift - row) : 1, 1u << l->bits);
  return BF_OK;
}

static int write_triton(const writer *w) {
  const bf_tile *tile = &w->answers->tile;
  const bf_tile_layout *l = &w->found->layout;
  unsigned element = tile->element->bytes, pad = l->pitch_bytes - l->panel_bytes;
  if (l->mode == BF_MODE_NONE && l->bytes > l->panel_stride_bytes)
    return bf_fail(w->diagnostic, BF_UNSUPPORTED,
                   "no such form: Triton cuts rows into panels with a swizzle only");
  if (pad && (tile->columns & (tile->columns - 1) || pad % element))
    return bf_fail(w->diagnostic, BF_UNSUPPORTED,
                   "no such form: Triton pads rows of a power of two of elements");
  head(w, "#");
  bf_text_puts(w->text, "from triton.experimental.gluon import language as gl\n\n");
  if (l->mode != BF_MODE_NONE && l->mode != BF_MODE_OTHER) {
    bf_text_addf(w->text,
                 "# TritonGPU: #ttg.nvmma_shared<{swizzlingByteWidth = %u, transposed = false, "
                 "elementBitWidth = %u}>\n"
                 "tile_layout = gl.NVMMASharedLayout(swizzle_byte_width=%u, element_bitwidth=%u, "
                 "rank=2)\n",
                 bf_mode_bytes(l->mode), 8 * element, bf_mode_bytes(l->mode), 8 * element);
    return BF_OK;
  }
  if (!pad)
    return write_triton_swizzle(w);
  bf_text_addf(
      w->text,
      "tile_layout = gl.PaddedSharedLayout.with_identity_for([[%u, %u]], [%u, %u], [1, 0])\n",
      tile->columns, pad / element, tile->rows, tile->columns);
  return BF_OK;
}

/* ---- CUDA ---- */

static int write_cuda(const writer *w) {
  const bf_tile *tile = &w->answers->tile;
  const bf_tile_layout *l = &w->found->layout;
  unsigned element = tile->element->bytes;
  head(w, "//");
  bf_text_addf(
      w->text,
      "// The byte offset of element (row, column) in the tile.\n"
      "__host__ __device__ constexpr unsigned tile_offset(unsigned row, unsigned column) {\n"
      "  unsigned offset = ");
  if (l->bytes > l->panel_stride_bytes)
    bf_text_addf(w->text, "column / %u * %llu + row * %u + column %% %u * %u;\n",
                 l->panel_bytes / element, (unsigned long long)l->panel_stride_bytes,
                 l->pitch_bytes, l->panel_bytes / element, element);
  else
    bf_text_addf(w->text, "row * %u + column * %u;\n", l->pitch_bytes, element);
  unsigned mask = ((1u << l->bits) - 1) << l->base;
  if (l->shift >= 0)
    bf_text_addf(w->text,
                 l->bits ? "  return offset ^ (offset >> %d & 0x%x);\n}\n"
                         : "  return offset;\n}\n",
                 l->shift, mask);
  else
    bf_text_addf(w->text, "  return offset ^ (offset & 0x%x) << %d;\n}\n", mask, -l->shift);
  return BF_OK;
}

/* ---- Forms ---- */

static const struct {
  const char *name;
  int (*write)(const writer *w);
} forms[] = {{"cute", write_cute},
             {"ptx", write_ptx},
             {"tma", write_tma},
             {"triton", write_triton},
             {"cuda", write_cuda}};

int bf_layouts_emit(const bf_layouts *layouts, size_t index, const char *form, char **out,
                    bf_diagnostic *diagnostic) {
  bf_guess guess = bf_guess_begin(form);
  char likely[BF_GUESS_BYTES];
  *out = NULL;
  if (index >= layouts->count)
    return bf_fail(diagnostic, BF_BAD_INPUT, "there is no layout number %zu", index);
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    bf_guess_offer(&guess, forms[i].name, strlen(forms[i].name));
    if (strcmp(forms[i].name, form) != 0)
      continue;
    bf_text text = {0};
    writer w = {layouts, &layouts->found[index], &text, diagnostic};
    int error = forms[i].write(&w);
    if (!error && text.failed)
      error = bf_no_memory(diagnostic);
    if (error)
      bf_text_free(&text);
    else
      *out = text.data;
    return error;
  }
  return bf_fail(diagnostic, BF_BAD_INPUT,
                 "no form '%.40s'%s; there are cute, ptx, tma, triton and cuda", form,
                 bf_guess_text(&guess, likely));
}
