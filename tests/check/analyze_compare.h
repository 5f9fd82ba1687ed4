/* Compares what the analysis says about a launch with what the emulator has seen.
 *
 * Each launch is analysed four times: with parameters, grid and block index known, with nothing
 * but the block size, with the launch known and all that can be assumed besides, and with the
 * launch known and so few steps that most kernels with loops are cut short. Of a site that is
 * called exact, the accesses of every block looked at must be equal, in order. Where the addresses
 * are known but for an offset, lanes or count, every access must be one of those listed, moved by a
 * multiple of the step; and where the conflicts of each access are said to be the same for all
 * values, it must have those of the one listed. */
#ifndef ANALYZE_COMPARE_H
#define ANALYZE_COMPARE_H

#include "analyze/analyze.h"
#include "emu/emu.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_EVENTS = 1 << 20, MOST_BLOCKS = 3, MOST_COMPLAINTS = 4 };

typedef struct seen {
  uint64_t line, block;
  uint32_t warp, order;
  uint32_t mask;
  bf_op op;
  unsigned width_bytes;
  uint32_t address[BF_ANALYZE_LANES];
} seen;

typedef struct tally {
  unsigned sites, exact, partial, settled;
  uint64_t accesses;
  unsigned faults;
} tally;

typedef struct checker {
  const char *program;       /* what faults are reported of */
  const bf_machine *machine; /* that conflicts are of */
  const bf_ptx_module *ptx;
  const bf_emu_kernel *kernel;
  bf_emu_observer observer;
  uint64_t blocks[MOST_BLOCKS]; /* that are looked at */
  unsigned block_count;
  seen *event;
  size_t events;
  bool overflows;
  tally known, open, assumed, cut;
  unsigned complaints;
} checker;

static bool is_looked_at(const checker *c, uint64_t block) {
  for (unsigned i = 0; i < c->block_count; i++)
    if (c->blocks[i] == block)
      return true;
  return false;
}

static void observe(void *context, const bf_emu_event *event) {
  checker *c = context;
  if (event->space != BF_PTX_SPACE_SHARED || !is_looked_at(c, event->block))
    return;
  bf_emu_site site = bf_emu_kernel_site(c->kernel, event->site);
  if (strcmp(site.function->name, bf_emu_kernel_name(c->kernel)) != 0)
    return;
  if (c->events == MOST_EVENTS) {
    c->overflows = true;
    return;
  }
  seen *s = &c->event[c->events];
  *s = (seen){.line = site.line, .block = event->block, .warp = event->warp};
  s->order = (uint32_t)c->events++;
  s->mask = event->mask;
  s->op = event->op;
  s->width_bytes = event->width_bytes;
  memcpy(s->address, event->shared_address, sizeof s->address);
}

static int compare_seen(const void *x, const void *y) {
  const seen *a = x, *b = y;
  if (a->line != b->line)
    return a->line < b->line ? -1 : 1;
  if (a->block != b->block)
    return a->block < b->block ? -1 : 1;
  if (a->warp != b->warp)
    return a->warp < b->warp ? -1 : 1;
  return a->order < b->order ? -1 : 1;
}

/* ---- Comparing ---- */

static bool lists(const bf_analyze_site *site, bf_analyze_unknown_kind kind) {
  for (unsigned i = 0; i < site->unknowns; i++)
    if (site->unknown[i].kind == kind)
      return true;
  return false;
}

/* Whether listed, moved by a multiple of the site's step, is the access seen. */
static bool agrees(const bf_analyze_site *site, const bf_analyze_access *listed, const seen *s) {
  bool open = lists(site, BF_UNKNOWN_LANES);
  uint32_t step = site->offset_step_bytes;
  if (open ? (s->mask & ~listed->mask) != 0 : s->mask != listed->mask)
    return false;
  unsigned first = (unsigned)__builtin_ctz(s->mask);
  uint32_t moved = s->address[first] - listed->address[first];
  if (step ? moved % step != 0 : moved != 0)
    return false;
  for (unsigned i = 0; i < BF_ANALYZE_LANES; i++)
    if (s->mask >> i & 1 && s->address[i] != listed->address[i] + moved)
      return false;
  return true;
}

/* Says what is wrong, for the first few faults. */
static void complain(checker *c, const bf_analyze_site *site, const char *what, const seen *s) {
  if (c->complaints++ >= MOST_COMPLAINTS)
    return;
  printf("%s: %s, line %llu (%s): %s", c->program, bf_emu_kernel_name(c->kernel),
         (unsigned long long)site->line, site->formula ? site->formula : "not reached", what);
  if (s)
    printf("; block %llu, warp %u, mask %08x, first address %u", (unsigned long long)s->block,
           s->warp, s->mask, s->address[__builtin_ctz(s->mask)]);
  printf("\n");
}

/* The accesses of one warp of one block against those of an exact site. */
static bool compare_warp(checker *c, const bf_analyze_site *site, const seen *s, size_t count,
                         unsigned warp) {
  size_t at = 0;
  for (size_t i = 0; i < site->accesses; i++) {
    if (site->access[i].warp != warp)
      continue;
    if (at == count || !agrees(site, &site->access[i], &s[at])) {
      complain(c, site, "not what the emulator did", at < count ? &s[at] : NULL);
      return false;
    }
    at++;
  }
  if (at < count)
    complain(c, site, "the emulator did more", &s[at]);
  return at == count;
}

static bool is_listed(const bf_analyze_site *site, const seen *s) {
  for (size_t i = 0; i < site->accesses; i++)
    if (site->access[i].warp == s->warp && agrees(site, &site->access[i], s))
      return true;
  return false;
}

/* The conflicts of lanes at these addresses; UINT32_MAX where the machine has no such access. */
static uint32_t conflicts_of(const checker *c, const bf_analyze_site *site, uint32_t mask,
                             const uint32_t *address) {
  bf_analyze_access own = {.mask = mask};
  bf_count count;
  memcpy(own.address, address, sizeof own.address);
  bf_access access = bf_analyze_as_access(site, &own, NULL);
  return bf_memory_count(c->machine, NULL, &access, &count, NULL) ? UINT32_MAX : count.conflicts;
}

/* Whether an access has the conflicts of those listed that it may be. */
static bool is_settled(const checker *c, const bf_analyze_site *site, const seen *s) {
  uint32_t own = conflicts_of(c, site, s->mask, s->address);
  for (size_t i = 0; i < site->accesses; i++) {
    const bf_analyze_access *listed = &site->access[i];
    if (listed->warp == s->warp && agrees(site, listed, s) &&
        conflicts_of(c, site, listed->mask, listed->address) != own)
      return false;
  }
  return true;
}

/* The events of site in block: a run of the sorted list. */
static const seen *find_events(const checker *c, const bf_analyze_site *site, uint64_t block,
                               size_t *count) {
  const seen *first = NULL;
  *count = 0;
  for (size_t i = 0; i < c->events; i++)
    if (c->event[i].line == site->line && c->event[i].block == block) {
      first = first ? first : &c->event[i];
      ++*count;
    }
  return first ? first : c->event;
}

static bool compare_exact(checker *c, const bf_analyze_site *site, unsigned warps, const seen *s,
                          size_t count) {
  for (unsigned warp = 0; warp < warps; warp++) {
    size_t begin = 0, end;
    while (begin < count && s[begin].warp < warp)
      begin++;
    for (end = begin; end < count && s[end].warp == warp;)
      end++;
    if (!compare_warp(c, site, s + begin, end - begin, warp))
      return false;
  }
  return true;
}

static void compare_site(checker *c, const bf_analysis *analysis, const bf_analyze_site *site,
                         uint64_t block, tally *t) {
  size_t count;
  const seen *s = find_events(c, site, block, &count);
  t->sites++;
  for (size_t i = 0; i < count; i++)
    if (site->has_op && (s[i].op != site->op || s[i].width_bytes != site->width_bytes)) {
      complain(c, site, "another operation", &s[i]);
      t->faults++;
      return;
    }
  if (site->is_exact) {
    t->exact++;
    t->accesses += count;
    t->faults += !compare_exact(c, site, analysis->warps, s, count);
    return;
  }
  if (lists(site, BF_UNKNOWN_ADDRESS) || lists(site, BF_UNKNOWN_VALUE) || !site->has_op)
    return;
  t->partial++;
  t->settled += site->is_settled;
  for (size_t i = 0; i < count; i++) {
    bool is_there = is_listed(site, &s[i]);
    if (is_there && (!site->is_settled || is_settled(c, site, &s[i])))
      continue;
    complain(c, site, is_there ? "other conflicts" : "an access that is not listed", &s[i]);
    t->faults++;
    return;
  }
}

/* What is known of a launch when it is compared. */
typedef enum manner { LAUNCH_KNOWN, ONLY_BLOCK, ASSUMING, CUT_SHORT } manner;

/* Steps that are followed of a kernel that is cut short. */
enum { FEW_STEPS = 500 };

static int compare_block(checker *c, const bf_emu_launch *launch, uint64_t block, manner how,
                         uint8_t *known_bytes, bf_diagnostic *diagnostic) {
  bool is_known = how != ONLY_BLOCK;
  const bf_ptx_function *kernel = bf_ptx_find(c->ptx, bf_emu_kernel_name(c->kernel));
  bf_analyze_options o = {.has_block_index = is_known, .machine = c->machine};
  memcpy(o.block, launch->block, sizeof o.block);
  o.most_steps = how == CUT_SHORT ? FEW_STEPS : 0;
  if (is_known) {
    memcpy(o.grid, launch->grid, sizeof o.grid);
    o.block_index[0] = (uint32_t)(block % launch->grid[0]);
    o.block_index[1] = (uint32_t)(block / launch->grid[0] % launch->grid[1]);
    o.block_index[2] = (uint32_t)(block / launch->grid[0] / launch->grid[1]);
    o.parameter = launch->parameters;
    o.is_known = known_bytes;
    o.parameter_bytes = launch->parameter_bytes;
  }
  bf_analysis *analysis;
  BF_TRY((how == ASSUMING ? bf_analyze_assuming : bf_analyze)(c->ptx, kernel, &o, &analysis,
                                                              diagnostic));
  tally *into[] = {&c->known, &c->open, &c->assumed, &c->cut};
  for (uint32_t i = 0; (how != CUT_SHORT || analysis->is_cut) && i < analysis->sites; i++)
    compare_site(c, analysis, &analysis->site[i], block, into[how]);
  bf_analysis_free(analysis);
  return BF_OK;
}

/* ---- Launches ---- */

/* Makes the emulator tell of the shared accesses of the first, middle and last block. */
static void watch(checker *c, bf_emu_launch *launch) {
  uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
  const uint64_t wanted[MOST_BLOCKS] = {0, blocks / 2, blocks - 1};
  c->kernel = launch->kernel;
  c->events = 0;
  c->overflows = false;
  c->block_count = 0;
  for (unsigned i = 0; i < MOST_BLOCKS; i++)
    if (!is_looked_at(c, wanted[i]))
      c->blocks[c->block_count++] = wanted[i];
  c->observer = (bf_emu_observer){.access = observe, .context = c};
  launch->observer = &c->observer;
  launch->workers = 1;
}

/* Compares what was seen since watch with what the analysis says. */
static int compare_launch(checker *c, const bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  if (c->overflows)
    return BF_OK;
  qsort(c->event, c->events, sizeof *c->event, compare_seen);
  uint8_t *all = malloc(launch->parameter_bytes + 1);
  if (!all)
    return bf_no_memory(diagnostic);
  memset(all, 1, launch->parameter_bytes + 1);
  int error = BF_OK;
  for (unsigned i = 0; i < c->block_count && error == BF_OK; i++) {
    for (manner how = LAUNCH_KNOWN; how <= CUT_SHORT && error == BF_OK; how++)
      error = compare_block(c, launch, c->blocks[i], how, all, diagnostic);
  }
  free(all);
  return error;
}

static void print_tally(const char *what, const tally *t) {
  printf("  %s: of %u sites, %u exact (%llu accesses equal), %u in part (%u settled)", what,
         t->sites, t->exact, (unsigned long long)t->accesses, t->partial, t->settled);
}

#endif
