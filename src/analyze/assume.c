/* As much as can be said of a kernel: what holds for all values, for a launch, or on assumptions.
 */
#include "analyze/analyze.h"

#include <stdlib.h>
#include <string.h>

const char *bf_analyze_certainty_name(bf_analyze_certainty certainty) {
  static const char *const names[] = {"for all values", "exact", "assumed", "unknown"};
  return names[certainty];
}

/* ---- How good an analysis is ---- */

static bool has_unknown(const bf_analyze_site *site, bf_analyze_unknown_kind kind) {
  for (unsigned i = 0; i < site->unknowns; i++)
    if (site->unknown[i].kind == kind)
      return true;
  return false;
}

/* Whether an access of a site lies outside shared memory. An offset that is not known may bring it
 * back. */
static bool strays(const bf_analysis *analysis, const bf_analyze_site *site) {
  if (site->leaves_variable)
    return true;
  for (size_t i = 0; site->has_op && !site->offset_step_bytes && i < site->accesses; i++)
    for (uint32_t left = site->access[i].mask; left; left &= left - 1) {
      uint32_t address = site->access[i].address[__builtin_ctz(left)];
      if ((uint64_t)address + site->width_bytes > analysis->shared_bytes ||
          address % site->width_bytes)
        return true;
    }
  return false;
}

uint32_t bf_analysis_strays(const bf_analysis *analysis) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < analysis->sites; i++)
    count += strays(analysis, &analysis->site[i]);
  return count;
}

int bf_analysis_open_bytes(const bf_analysis *analysis, uint64_t *bytes) {
  uint8_t *is_stored = calloc(1, analysis->shared_bytes + 1);
  *bytes = 0;
  if (!is_stored)
    return BF_NO_MEMORY;
  for (uint32_t i = 0; i < analysis->sites; i++) {
    const bf_analyze_site *site = &analysis->site[i];
    bool stores = site->has_op && bf_op_side(site->op) == BF_SIDE_STORE && !site->offset_step_bytes;
    for (size_t k = 0; stores && k < site->accesses; k++)
      for (uint32_t left = site->access[k].mask; left; left &= left - 1) {
        uint64_t address = site->access[k].address[__builtin_ctz(left)];
        for (unsigned b = 0; b < site->width_bytes && address + b < analysis->shared_bytes; b++)
          is_stored[address + b] = 1;
      }
  }
  for (uint64_t i = 0; i < analysis->shared_bytes; i++)
    *bytes += !is_stored[i];
  free(is_stored);
  return BF_OK;
}

/* Whether something is said of a site's addresses that can be. */
static bool is_usable(const bf_analysis *analysis, const bf_analyze_site *site) {
  return site->has_op && site->accesses && !has_unknown(site, BF_UNKNOWN_ADDRESS) &&
         !strays(analysis, site);
}

static uint32_t usable_sites(const bf_analysis *analysis) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < analysis->sites; i++)
    count += is_usable(analysis, &analysis->site[i]);
  return count;
}

static bool is_all_exact(const bf_analysis *analysis) {
  uint32_t i = 0;
  while (i < analysis->sites && analysis->site[i].is_exact)
    i++;
  return i == analysis->sites;
}

/* ---- Assumptions ---- */

/* A value for whole numbers that are not known, and the index of the block. */
typedef struct guess {
  uint32_t number, index;
} guess;

static const guess guesses[] = {{1024, 1}, {4096, 1}, {256, 0}, {32, 0}, {8, 0}, {1, 0}};
enum { GRID = 64 };

/* A launch with its unknowns filled in. */
typedef struct filled {
  bf_analyze_options options;
  uint8_t *bytes, *is_known;
} filled;

static void free_filled(filled *f) {
  free(f->bytes);
  free(f->is_known);
  *f = (filled){0};
}

/* Gives a parameter of the kernel its value, where it is not known: pointers are far apart, whole
 * numbers the guess; of structs each word is. */
static void fill_parameter(filled *f, const bf_ptx_variable *own, uint64_t offset, unsigned index,
                           uint32_t number) {
  bool is_pointer = own->is_pointer && own->bytes == 8;
  unsigned step = own->bytes == 8 ? 8 : 4;
  for (uint64_t i = 0; i < own->bytes; i++) {
    uint64_t value = is_pointer ? ((uint64_t)index + 1) << 40 : number;
    if (!f->is_known[offset + i])
      f->bytes[offset + i] = (uint8_t)(value >> 8 * (i % step));
    f->is_known[offset + i] = 1;
  }
}

/* Fills in all that options leave open. */
static int fill(const bf_ptx_function *kernel, const bf_analyze_options *options, guess own,
                filled *f) {
  uint64_t offset = 0, bytes = 0;
  if (kernel->parameters.count)
    bf_analyze_parameter(kernel, kernel->parameters.count - 1, &offset, &bytes);
  *f = (filled){.options = *options};
  f->bytes = calloc(1, offset + bytes + 8);
  f->is_known = calloc(1, offset + bytes + 8);
  if (!f->bytes || !f->is_known)
    return BF_NO_MEMORY;
  uint64_t given =
      options->parameter_bytes < offset + bytes ? options->parameter_bytes : offset + bytes;
  if (options->parameter) {
    memcpy(f->bytes, options->parameter, given);
    memcpy(f->is_known, options->is_known, given);
  }
  f->options.parameter_bytes = offset + bytes;
  for (unsigned i = 0; i < kernel->parameters.count; i++) {
    bf_analyze_parameter(kernel, i, &offset, &bytes);
    fill_parameter(f, &kernel->parameters.item[i], offset, i, own.number);
  }
  f->options.parameter = f->bytes;
  f->options.is_known = f->is_known;
  f->options.spreads_data = true;
  f->options.machine = NULL;
  for (unsigned i = 0; i < 3; i++) {
    if (!options->grid[i])
      f->options.grid[i] = i < 2 ? GRID : 1;
    if (!options->has_block_index)
      f->options.block_index[i] = f->options.grid[i] > own.index && i < 2 ? own.index : 0;
  }
  f->options.has_block_index = true;
  return BF_OK;
}

/* Whether a parameter that is no pointer has bytes that options do not give. */
static bool has_open_numbers(const bf_ptx_function *kernel, const bf_analyze_options *options) {
  for (unsigned i = 0; i < kernel->parameters.count; i++) {
    uint64_t offset, bytes;
    const bf_ptx_variable *own = &kernel->parameters.item[i];
    bf_analyze_parameter(kernel, i, &offset, &bytes);
    for (uint64_t k = offset; k < offset + bytes && !(own->is_pointer && bytes == 8); k++)
      if (!options->parameter || k >= options->parameter_bytes || !options->is_known[k])
        return true;
  }
  return false;
}

/* Says in words what was filled in; nothing where nothing was. */
static int explain(const bf_ptx_function *kernel, const bf_analyze_options *options,
                   const filled *f, guess own, bf_analysis *analysis) {
  char text[240] = "";
  const uint32_t *index = f->options.block_index, *grid = f->options.grid;
  size_t used = 0;
  if (has_open_numbers(kernel, options))
    used +=
        (size_t)snprintf(text, sizeof text,
                         "whole numbers among parameters that are not known are %u, ", own.number);
  if (!options->grid[0])
    used += (size_t)snprintf(text + used, sizeof text - used, "the grid is %ux%ux%u, ", grid[0],
                             grid[1], grid[2]);
  if (!options->has_block_index)
    used += (size_t)snprintf(text + used, sizeof text - used, "the block is number %u,%u,%u, ",
                             index[0], index[1], index[2]);
  text[used > 2 ? used - 2 : 0] = 0;
  analysis->assumed = text[0] ? bf_arena_copy(&analysis->arena, text) : NULL;
  return analysis->assumed || !text[0] ? BF_OK : BF_NO_MEMORY;
}

/* The analysis on the assumptions under which most sites are usable. */
static int assume(const bf_ptx_module *module, const bf_ptx_function *kernel,
                  const bf_analyze_options *options, bf_analysis **best,
                  bf_diagnostic *diagnostic) {
  const size_t count = sizeof guesses / sizeof *guesses;
  uint32_t most = 0;
  int error = BF_OK;
  *best = NULL;
  for (size_t i = 0; !error && i < count; i++) {
    filled f;
    bf_analysis *own = NULL;
    error = fill(kernel, options, guesses[i], &f) ? bf_no_memory(diagnostic) : BF_OK;
    if (!error)
      error = bf_analyze(module, kernel, &f.options, &own, diagnostic);
    if (!error && explain(kernel, options, &f, guesses[i], own))
      error = bf_no_memory(diagnostic);
    free_filled(&f);
    uint32_t usable = error ? 0 : usable_sites(own);
    bool is_whole = own && usable == own->sites;
    if (own && own->is_cut) /* others are as long, but where numbers are small */
      i = i + 2 < count ? count - 2 : i;
    if (!error && (!*best || usable > most)) {
      bf_analysis_free(*best);
      *best = own;
      own = NULL;
      most = usable;
    }
    bf_analysis_free(own);
    if (is_whole)
      break;
  }
  return error;
}

/* ---- All together ---- */

static bool has_launch(const bf_analyze_options *options) {
  return options->grid[0] || options->has_block_index || options->parameter;
}

/* What options say without the launch. */
static bf_analyze_options without_launch(const bf_analyze_options *options) {
  bf_analyze_options open = *options;
  memset(open.grid, 0, sizeof open.grid);
  open.has_block_index = false;
  open.parameter = open.is_known = NULL;
  open.parameter_bytes = 0;
  return open;
}

/* The launch, and a block in the middle of its grid. */
static bf_analyze_options in_the_middle(const bf_analyze_options *options) {
  bf_analyze_options one = *options;
  for (unsigned i = 0; i < 3 && !options->has_block_index; i++)
    one.block_index[i] = one.grid[i] / 2;
  one.has_block_index |= one.grid[0] && one.grid[1] && one.grid[2];
  return one;
}

static const bf_analyze_site *find_site(const bf_analysis *analysis, uint32_t instruction) {
  uint32_t low = 0, high = analysis ? analysis->sites : 0;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (analysis->site[middle].instruction < instruction)
      low = middle + 1;
    else
      high = middle;
  }
  bool is_there =
      analysis && low < analysis->sites && analysis->site[low].instruction == instruction;
  return is_there ? &analysis->site[low] : NULL;
}

bool bf_analyze_is_counted(const bf_analyze_site *site) {
  for (unsigned i = 0; i < site->unknowns; i++)
    if (site->unknown[i].kind != BF_UNKNOWN_OFFSET)
      return false;
  return true;
}

/* Whether nothing but how often lanes are here, and which, is unknown of a site. */
static bool is_placed(const bf_analyze_site *site) {
  for (unsigned i = 0; i < site->unknowns; i++)
    if (site->unknown[i].kind != BF_UNKNOWN_COUNT && site->unknown[i].kind != BF_UNKNOWN_LANES)
      return false;
  return site->has_op;
}

enum { MOST_COMPARED = 1 << 24 }; /* pairs of accesses */

/* Whether each access of a site is one of another list. */
static bool is_among(const bf_analyze_site *site, const bf_analyze_site *list) {
  if (site->accesses && list->accesses > MOST_COMPARED / site->accesses)
    return false;
  for (size_t i = 0, found = 0; i < site->accesses; i++) {
    size_t tried = 0;
    while (tried < list->accesses &&
           memcmp(&site->access[i], &list->access[found], sizeof *site->access) != 0) {
      found = found + 1 < list->accesses ? found + 1 : 0;
      tried++;
    }
    if (tried == list->accesses)
      return false;
  }
  return true;
}

/* Gives a site the reasons for which it is not exact, and what data was taken to be. */
static int keep_reasons(bf_analysis *whole, const bf_analyze_site *open,
                        const bf_analyze_site *likely, bf_analyze_site *site) {
  bf_analyze_unknown *all =
      bf_arena_alloc(&whole->arena, (open->unknowns + likely->unknowns + 1) * sizeof *all);
  if (!all)
    return BF_NO_MEMORY;
  memcpy(all, open->unknown, open->unknowns * sizeof *all);
  site->unknowns = open->unknowns;
  for (unsigned i = 0; i < likely->unknowns; i++)
    if (likely->unknown[i].kind == BF_UNKNOWN_VALUE)
      all[site->unknowns++] = likely->unknown[i];
  site->unknown = all;
  return BF_OK;
}

/* Puts in the place of a site of whole that is not exact what a launch or assumptions tell. What
 * each access costs can be certain without them; then they tell how many there are. */
static int improve(bf_analysis *whole, bf_analyze_site *site) {
  const bf_analysis *launch = whole->part[0], *assumed = whole->part[1];
  const bf_analyze_site *exact = find_site(launch, site->instruction);
  const bf_analyze_site *likely = find_site(assumed, site->instruction);
  if (site->is_exact)
    return BF_OK;
  if (exact && exact->is_exact) {
    *site = *exact;
    site->is_placed = true;
    site->certainty = BF_CERTAIN_LAUNCH;
    return BF_OK;
  }
  if (!site->is_settled && exact && exact->is_settled) {
    *site = *exact;
    site->is_placed = is_placed(exact);
    site->certainty = BF_CERTAIN_LAUNCH;
  }
  bf_analyze_site open = *site; /* its formula is that for all values */
  const bf_analyze_site *placed = site->is_placed             ? &open
                                  : exact && is_placed(exact) ? exact
                                                              : NULL;
  /* fewest and most wavefronts of all offsets say more than those of one */
  if (bf_analyze_is_counted(site) || !likely || !is_usable(assumed, likely))
    return BF_OK;
  *site = *likely;
  site->is_exact = false;
  site->is_placed = placed && is_among(placed, likely);
  site->is_settled = open.is_settled;
  site->certainty = open.is_settled ? open.certainty : BF_CERTAIN_ASSUMED;
  if (open.formula) {
    site->formula = open.formula;
    site->is_affine = open.is_affine;
    memcpy(site->step_bytes, open.step_bytes, sizeof site->step_bytes);
  }
  return keep_reasons(whole, &open, likely, site);
}

/* Says which launch and block sites are exact for. */
static int name_launch(const bf_analyze_options *one, bf_analysis *analysis) {
  char text[160];
  const uint32_t *index = one->block_index, *grid = one->grid;
  if (one->has_block_index)
    snprintf(text, sizeof text, "block %u,%u,%u of a grid of %ux%ux%u", index[0], index[1],
             index[2], grid[0], grid[1], grid[2]);
  else
    snprintf(text, sizeof text, "the parameters given, in any block");
  analysis->launch = bf_arena_copy(&analysis->arena, text);
  return analysis->launch ? BF_OK : BF_NO_MEMORY;
}

/* Adds to what is assumed that data is spread evenly, where sites rest on that. */
static int name_data(bf_analysis *analysis) {
  char text[400];
  bool is_used = false;
  for (uint32_t i = 0; i < analysis->sites; i++)
    for (unsigned k = 0; k < analysis->site[i].unknowns; k++)
      is_used |= analysis->site[i].accesses && analysis->site[i].certainty != BF_CERTAIN_NOT &&
                 analysis->site[i].unknown[k].kind == BF_UNKNOWN_VALUE;
  if (!is_used)
    return BF_OK;
  snprintf(text, sizeof text, "%s%sdata that is not known is spread evenly",
           analysis->assumed ? analysis->assumed : "", analysis->assumed ? ", " : "");
  analysis->assumed = bf_arena_copy(&analysis->arena, text);
  return analysis->assumed ? BF_OK : BF_NO_MEMORY;
}

/* Adds notes on what sites rest on. */
static int note(bf_analysis *analysis) {
  const char **list = bf_arena_alloc(&analysis->arena, (analysis->notes + 2) * sizeof *list);
  char text[400];
  bool is_used[2] = {false}; /* the launch, assumptions */
  if (!list)
    return BF_NO_MEMORY;
  if (analysis->notes)
    memcpy(list, analysis->note, analysis->notes * sizeof *list);
  for (uint32_t i = 0; i < analysis->sites; i++) {
    const bf_analyze_site *site = &analysis->site[i];
    bool is_launch = site->certainty == BF_CERTAIN_LAUNCH;
    is_used[0] |= site->accesses && is_launch;
    is_used[1] |= site->accesses && !site->is_exact && site->certainty != BF_CERTAIN_NOT;
  }
  analysis->note = list;
  for (unsigned i = 0; i < 2; i++) {
    const char *what = i ? analysis->assumed : analysis->launch;
    if (!what || !is_used[i])
      continue;
    snprintf(text, sizeof text, "%s: %s", i ? "assumed" : "of the launch", what);
    if (!(list[analysis->notes] = bf_arena_copy(&analysis->arena, text)))
      return BF_NO_MEMORY;
    analysis->notes++;
  }
  return BF_OK;
}

int bf_analyze_assuming(const bf_ptx_module *module, const bf_ptx_function *kernel,
                        const bf_analyze_options *options, bf_analysis **analysis,
                        bf_diagnostic *diagnostic) {
  bf_analyze_options open = without_launch(options), one = in_the_middle(options);
  bf_analysis *whole;
  *analysis = NULL;
  BF_TRY(bf_analyze(module, kernel, &open, &whole, diagnostic));
  int error = BF_OK;
  bool is_done = is_all_exact(whole);
  if (!is_done && has_launch(options)) {
    error = bf_analyze(module, kernel, &one, &whole->part[0], diagnostic);
    if (!error && name_launch(&one, whole))
      error = bf_no_memory(diagnostic);
    is_done = !error && is_all_exact(whole->part[0]);
  }
  if (!error && !is_done)
    error = assume(module, kernel, &one, &whole->part[1], diagnostic);
  for (uint32_t i = 0; i < whole->sites; i++)
    whole->site[i].is_placed = is_placed(&whole->site[i]);
  for (uint32_t i = 0; !error && i < whole->sites; i++)
    error = improve(whole, &whole->site[i]) ? bf_no_memory(diagnostic) : BF_OK;
  if (!error && whole->part[1])
    whole->assumed = whole->part[1]->assumed;
  if (!error && name_data(whole))
    error = bf_no_memory(diagnostic);
  if (!error && note(whole))
    error = bf_no_memory(diagnostic);
  if (error)
    bf_analysis_free(whole);
  else
    *analysis = whole;
  return error;
}
