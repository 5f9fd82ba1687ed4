/* A kernel, looked at without running it. */
#include "analyze/analyze.h"
#include "analyze/given.h"
#include "analyze/likely.h"
#include "ptx/block.h"
#include "ptx/demangle.h"
#include "ptx/site.h"
#include "scan/inner.h"
#include "tune/predict.h"

#include <stdlib.h>
#include <string.h>

/* Instructions that the analysis follows: loops beyond that are said to be too long. A tenth of
 * what `analyze` follows, as there are many kernels; more where a kernel has so many that it would
 * not come to its end. */
enum { MOST_STEPS = 400000, STEPS_PER_INSTRUCTION = 100 };

/* What is at hand while the kernels of a module are looked at. */
typedef struct looking {
  const char *unit;
  const bf_scan_options *options;
  const bf_source_launches *launches;
  const bf_ptx_module *module;
  bf_plans plans;
  bf_hash *none;
  scan_kernels *found;
  struct subject *subject; /* by plan: kernels for which something may help */
} looking;

/* A kernel with conflicts. */
typedef struct subject {
  bool is_open;
  size_t kernel; /* of those found */
  uint32_t block[3];
} subject;

/* ---- Lists ---- */

bf_scan_kernel *scan_add_kernel(scan_kernels *kernels) {
  if (kernels->count == kernels->capacity) {
    size_t capacity = kernels->capacity ? 2 * kernels->capacity : 16;
    bf_scan_kernel *larger = realloc(kernels->kernel, capacity * sizeof *larger);
    if (!larger)
      return NULL;
    kernels->kernel = larger;
    kernels->capacity = capacity;
  }
  bf_scan_kernel *own = &kernels->kernel[kernels->count++];
  *own = (bf_scan_kernel){.share = 1};
  return own;
}

void scan_kernels_free(scan_kernels *kernels) {
  free(kernels->kernel);
  bf_arena_free(&kernels->arena);
  *kernels = (scan_kernels){0};
}

/* ---- Lines ---- */

/* The line of a site among those of a kernel; a new one where there is none. */
static bf_scan_line *line_of(bf_scan_kernel *own, const bf_analyze_site *site) {
  const char *file = site->source_file;
  uint64_t number = file ? site->source_line : site->line;
  for (uint64_t i = 0; i < own->lines; i++) {
    bf_scan_line *line = &own->line[i];
    if (line->line == number && !line->file == !file && (!file || strcmp(line->file, file) == 0))
      return line;
  }
  own->line[own->lines] = (bf_scan_line){.file = file, .line = number};
  return &own->line[own->lines++];
}

/* The pattern of the worst access of a site, into the arena. */
static const char *explain(const looking *work, const bf_analyze_site *site,
                           const bf_analyze_cost *cost) {
  bf_text text = {0};
  bf_access access = bf_analyze_as_access(site, cost->worst, NULL);
  bf_pattern pattern = bf_access_classify(&access, bf_machine_lanes(work->options->machine), 1);
  bf_pattern_explain(&pattern, &access, &text);
  const char *kept = text.failed ? NULL : bf_arena_copy(&work->found->arena, text.data);
  bf_text_free(&text);
  return kept;
}

/* Counts a site that is not known exactly by the most that is unknown of it. */
static void count_reason(bf_scan_reasons *because, const bf_analyze_site *site, bool is_lost) {
  bool has[BF_UNKNOWN_VALUE + 1] = {false};
  for (unsigned i = 0; i < site->unknowns; i++)
    has[site->unknown[i].kind] = true;
  if (has[BF_UNKNOWN_VALUE] && !is_lost)
    because->data++;
  else if (is_lost || has[BF_UNKNOWN_ADDRESS])
    because->address++;
  else if (has[BF_UNKNOWN_LANES])
    because->lanes++;
  else if (has[BF_UNKNOWN_OFFSET])
    because->offset++;
  else
    because->count++;
}

/* Adds what a site costs to its line. */
static int add_site(const looking *work, bf_scan_kernel *own, const bf_analyze_site *site,
                    bf_diagnostic *diagnostic) {
  bf_analyze_cost cost;
  bf_diagnostic unused;
  int error = bf_analyze_count(site, work->options->machine, work->none, &cost, &unused);
  if (error == BF_NO_MEMORY)
    return bf_no_memory(diagnostic);
  bf_scan_line *line = line_of(own, site);
  bool is_worse = !error && cost.worst && cost.conflicts > 0 && !line->what;
  if (is_worse && !(line->what = explain(work, site, &cost)))
    return bf_no_memory(diagnostic);
  line->sites++;
  bool is_lost = error || (!site->has_op && !site->is_copy) || site->certainty == BF_CERTAIN_NOT;
  bool is_exact = site->is_exact || site->is_settled;
  line->exact += is_exact && !is_lost;
  line->each += is_exact && !site->is_exact && !is_lost;
  line->assumed += !is_exact && !is_lost;
  line->unknown += is_lost;
  if (!is_exact || is_lost)
    count_reason(&own->because, site, is_lost);
  if (error)
    return BF_OK; /* it cannot be on this machine */
  line->accesses += cost.accesses;
  line->wavefronts += cost.wavefronts;
  line->ideal += cost.ideal;
  line->conflicts += cost.conflicts;
  return BF_OK;
}

static int compare_lines(const void *a, const void *b) {
  const bf_scan_line *one = a, *other = b;
  if (one->conflicts != other->conflicts)
    return one->conflicts < other->conflicts ? 1 : -1;
  return one->line < other->line ? -1 : one->line > other->line;
}

/* Adds up the lines, and keeps their files. */
static int finish_lines(const looking *work, bf_scan_kernel *own, bf_diagnostic *diagnostic) {
  for (uint64_t i = 0; i < own->lines; i++) {
    bf_scan_line *line = &own->line[i];
    if (line->file && !(line->file = bf_arena_copy(&work->found->arena, line->file)))
      return bf_no_memory(diagnostic);
    own->accesses += line->accesses;
    own->wavefronts += line->wavefronts;
    own->ideal += line->ideal;
    own->conflicts += line->conflicts;
    own->sites += line->sites;
    own->exact += line->exact;
    own->each += line->each;
    own->assumed += line->assumed;
    own->unknown += line->unknown;
  }
  if (own->lines)
    qsort(own->line, own->lines, sizeof *own->line, compare_lines);
  return BF_OK;
}

/* What the numbers of a kernel rest on: the launch, the assumptions, or nothing. */
static const char *foundation(bf_arena *arena, const bf_analysis *analysis, const char *from,
                              const bf_scan_kernel *own) {
  char text[600];
  bool has_launch = false, has_assumed = own->assumed + own->each != 0;
  for (uint32_t i = 0; i < analysis->sites; i++)
    has_launch |= analysis->site[i].certainty == BF_CERTAIN_LAUNCH;
  snprintf(text, sizeof text, "%s%s%s%s%s%s", has_launch ? from : "", has_launch ? ", " : "",
           has_launch ? analysis->launch : "", has_launch && has_assumed ? "; " : "",
           has_assumed ? "assumed: " : "",
           has_assumed && analysis->assumed ? analysis->assumed
           : has_assumed                    ? "all lanes take part, loops are gone through once"
                                            : "");
  return bf_arena_copy(arena, text);
}

/* How well a shape of blocks fits a kernel. */
typedef struct fitting {
  uint32_t strays;     /* instructions with accesses outside of their arrays */
  uint64_t open_bytes; /* of shared memory that the block does not write */
} fitting;

static bool is_likelier(const fitting *a, const fitting *b) {
  return a->strays != b->strays ? a->strays < b->strays : a->open_bytes < b->open_bytes;
}

/* What a kernel does in blocks of one of its shapes, and how well that fits it. */
static int look_in_block(const looking *work, const bf_ptx_function *kernel,
                         const bf_launched *shapes, unsigned which, bf_scan_kernel *own,
                         fitting *fit, bf_diagnostic *diagnostic) {
  uint64_t steps = (uint64_t)kernel->instructions * STEPS_PER_INSTRUCTION;
  bf_analyze_options options = {.accesses_only = true,
                                .machine = work->options->machine,
                                .most_steps = steps > MOST_STEPS ? steps : MOST_STEPS};
  bf_analyze_given given = {0};
  bf_analysis *analysis = NULL;
  memcpy(options.block, shapes->block[which], sizeof options.block);
  memcpy(options.grid, shapes->grid[which], sizeof options.grid);
  int error = bf_analyze_read_launch(kernel, shapes->values[which], &given, diagnostic);
  if (shapes->values[which] && *shapes->values[which]) {
    options.parameter = given.bytes;
    options.is_known = given.is_known;
    options.parameter_bytes = given.size;
  }
  if (!error)
    error = bf_analyze_assuming(work->module, kernel, &options, &analysis, diagnostic);
  bf_analyze_given_free(&given);
  if (error)
    return error;
  own->line = bf_arena_alloc(&work->found->arena, (analysis->sites + 1) * sizeof *own->line);
  error = own->line ? BF_OK : bf_no_memory(diagnostic);
  for (uint32_t i = 0; !error && i < analysis->sites; i++)
    if (analysis->site[i].is_reached || !analysis->site[i].is_exact)
      error = add_site(work, own, &analysis->site[i], diagnostic);
  if (!error)
    error = finish_lines(work, own, diagnostic);
  if (!error &&
      !(own->rests_on = foundation(&work->found->arena, analysis, shapes->from[which], own)))
    error = bf_no_memory(diagnostic);
  fit->strays = bf_analysis_strays(analysis);
  if (!error && bf_analysis_open_bytes(analysis, &fit->open_bytes))
    error = bf_no_memory(diagnostic);
  bf_analysis_free(analysis);
  return error;
}

/* ---- Blocks ---- */

/* The file near which launches of a kernel are looked for: of PTX, the source that its line
 * information names. */
static const char *home_of(const looking *work, const bf_ptx_function *kernel) {
  const char *file = NULL;
  uint64_t line;
  bool is_ptx = scan_ends_with(work->unit, ".ptx");
  for (uint32_t i = 0; i < kernel->instructions && is_ptx && !file; i++)
    bf_ptx_user_line(work->module, kernel->instruction[i], &file, &line);
  return file ? file : work->unit;
}

/* The blocks to look at a kernel with, and why these: what it requires, what the user says, what
 * launches have, or what is likely. */
static bf_launched shapes_of(const looking *work, const bf_ptx_function *kernel,
                             const char *readable) {
  bf_launched own = {.count = 1, .from = {"required"}};
  if (bf_ptx_required_block(kernel, own.block[0]))
    return own;
  own.from[0] = "--block";
  memcpy(own.block[0], work->options->block, sizeof own.block[0]);
  if (own.block[0][0])
    return own;
  bf_launched launched;
  if (bf_source_launches_find(work->launches, home_of(work, kernel), readable, &launched))
    return launched;
  bf_likely likely;
  bool is_guess = bf_likely_find(kernel, &likely) || !likely.count;
  own.count = !is_guess ? 1 : likely.count < BF_MOST_LAUNCHED ? likely.count : BF_MOST_LAUNCHED;
  for (unsigned i = 0; i < own.count; i++) {
    own.from[i] = is_guess ? "assumed" : "launch bounds";
    memcpy(own.block[i], likely.block[i], sizeof own.block[i]);
  }
  if (own.count)
    return own;
  own = (bf_launched){.count = 1, .block = {{32, 1, 1}}, .from = {"assumed"}};
  return own;
}

static const char *name_block(bf_arena *arena, const uint32_t block[3]) {
  char text[48];
  snprintf(text, sizeof text,
           block[2] > 1   ? "%ux%ux%u"
           : block[1] > 1 ? "%ux%u"
                          : "%u",
           block[0], block[1], block[2]);
  return bf_arena_copy(arena, text);
}

/* ---- What helps ---- */

/* Keeps what was chosen for a kernel, or why nothing was. */
static int keep_choice(const looking *work, const bf_plan *plan, bf_scan_kernel *own,
                       bf_diagnostic *diagnostic) {
  bf_text change = {0}, reason = {0};
  bool has_hash = bf_plan_has_hash(&work->plans, plan);
  if (has_hash)
    bf_plan_write(&work->plans, plan, &change);
  if (has_hash && plan->has_comparison) {
    bf_judge_explain(&plan->comparison, &reason);
    own->share = bf_judge_share(&plan->comparison);
  } else {
    bf_plan_explain(plan, bf_plan_examined(&work->plans, plan), &reason);
  }
  bf_arena *arena = &work->found->arena;
  if (change.size && change.data[change.size - 1] == '\n')
    change.data[--change.size] = 0;
  own->change = has_hash && change.data ? bf_arena_copy(arena, change.data) : NULL;
  own->reason = bf_arena_copy(arena, reason.data ? reason.data : "");
  bool is_good = own->reason && (!has_hash || own->change) && !change.failed && !reason.failed;
  bf_text_free(&change);
  bf_text_free(&reason);
  return is_good ? BF_OK : bf_no_memory(diagnostic);
}

/* Chooses for all kernels that have blocks as the first of them. */
static int choose_alike(looking *work, unsigned first, bf_diagnostic *diagnostic) {
  bf_predict_launch launch = {0};
  memcpy(launch.block, work->subject[first].block, sizeof launch.block);
  for (unsigned i = 0; i < work->plans.count; i++)
    work->plans.plan[i].is_asked =
        work->subject[i].is_open &&
        memcmp(work->subject[i].block, launch.block, sizeof launch.block) == 0;
  bf_predict_options options = {.machine = work->options->machine, .launch = &launch};
  BF_TRY(bf_predict_choose(&work->plans, &options, diagnostic));
  for (unsigned i = first; i < work->plans.count; i++)
    if (work->plans.plan[i].is_asked) {
      work->subject[i].is_open = false;
      BF_TRY(keep_choice(work, &work->plans.plan[i], &work->found->kernel[work->subject[i].kernel],
                         diagnostic));
      /* else it is rewritten again with those of other blocks */
      bf_plan_forget(&work->plans, &work->plans.plan[i], false);
    }
  return BF_OK;
}

/* Chooses what is predicted to win, if anything is. */
static int choose(looking *work, bf_diagnostic *diagnostic) {
  for (unsigned i = 0; i < work->plans.count; i++)
    if (work->subject[i].is_open)
      BF_TRY(choose_alike(work, i, diagnostic));
  return BF_OK;
}

/* Whether it is worth to look for what helps: banks as GPUs of today have them, and a share of
 * conflicts that counts. */
static bool is_open(const looking *work, const bf_scan_kernel *own) {
  const bf_geometry geometry = bf_machine_geometry(work->options->machine);
  return geometry.bank_bits == 5 && geometry.word_bytes == 4 &&
         own->conflicts * 20 > own->wavefronts;
}

/* ---- Kernels ---- */

/* Keeps a kernel that cannot be looked at, with the reason. */
static int keep_fault(const looking *work, const bf_scan_kernel *named, bf_diagnostic *diagnostic) {
  bf_scan_kernel *kept = scan_add_kernel(work->found);
  const char *reason = bf_arena_copy(&work->found->arena, diagnostic->message);
  if (!kept || !reason)
    return bf_no_memory(diagnostic);
  *kept = *named;
  kept->block = kept->block_from = "-";
  kept->reason = reason;
  return BF_OK;
}

/* Looks at a kernel in its blocks, and keeps the one with most conflicts. */
static int look_at(looking *work, unsigned number, const bf_ptx_function *kernel,
                   bf_diagnostic *diagnostic) {
  bf_arena *arena = &work->found->arena;
  bf_text readable = {0};
  bf_ptx_readable_name(kernel->name, &readable);
  bf_scan_kernel named = {.unit = work->unit,
                          .name = bf_arena_copy(arena, kernel->name),
                          .readable = bf_arena_copy(arena, readable.data ? readable.data : "?"),
                          .rests_on = "",
                          .share = 1};
  bf_text_free(&readable);
  if (!named.name || !named.readable)
    return bf_no_memory(diagnostic);
  bf_launched shapes = shapes_of(work, kernel, named.readable);
  bf_scan_kernel best = named;
  unsigned taken = 0;
  fitting least = {0};
  for (unsigned i = 0; i < shapes.count; i++) {
    bf_scan_kernel own = named;
    fitting fit;
    int error = look_in_block(work, kernel, &shapes, i, &own, &fit, diagnostic);
    if (error)
      return error == BF_NO_MEMORY ? error : keep_fault(work, &named, diagnostic);
    bool is_guess = strcmp(shapes.from[i], "assumed") == 0;
    if (i == 0 || (is_guess ? is_likelier(&fit, &least) : own.conflicts > best.conflicts)) {
      best = own;
      taken = i;
      least = fit;
    }
    if (is_guess && !least.strays && least.open_bytes == 0)
      break; /* a shape in which all accesses stay inside shared memory, and all of it is written */
  }
  if (!best.sites)
    return BF_OK;
  best.block = name_block(arena, shapes.block[taken]);
  best.block_from = bf_arena_copy(arena, shapes.from[taken]);
  best.reason = "";
  if (number < work->plans.count) {
    subject *own = &work->subject[number];
    *own = (subject){.is_open = is_open(work, &best), .kernel = work->found->count};
    memcpy(own->block, shapes.block[taken], sizeof own->block);
  }
  bf_scan_kernel *kept = scan_add_kernel(work->found);
  if (!best.block || !best.block_from || !kept)
    return bf_no_memory(diagnostic);
  *kept = best;
  return BF_OK;
}

/* The plan of a kernel by its name; as many as there are plans: it has none. */
static unsigned plan_of(const looking *work, const char *name) {
  unsigned i = 0;
  while (i < work->plans.count && strcmp(work->plans.plan[i].name, name) != 0)
    i++;
  return i;
}

/* Kernels with bodies of a module. */
static size_t count_kernels(const bf_ptx_module *module) {
  size_t count = 0;
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    count +=
        item->kind == BF_PTX_ITEM_FUNCTION && item->function->is_entry && item->function->has_body;
  return count;
}

int scan_module(const char *unit, const bf_text *ptx, size_t expected,
                const bf_scan_options *options, const bf_source_launches *launches,
                scan_kernels *found, bf_diagnostic *diagnostic) {
  bf_ptx_module *module;
  bf_diagnostic unused;
  BF_TRY(bf_ptx_parse(unit, ptx->data ? ptx->data : "", ptx->size, &module, diagnostic));
  looking work = {
      .unit = unit, .options = options, .launches = launches, .module = module, .found = found};
  if (expected != SIZE_MAX && count_kernels(module) != expected) {
    bf_ptx_free(module);
    return bf_fail(diagnostic, BF_BAD_INPUT, "another number of kernels than expected");
  }
  const bf_geometry geometry = bf_machine_geometry(options->machine);
  int error = bf_hash_parse("none", &geometry, &work.none, diagnostic);
  /* A module without plans, as one without kernels, is still looked at. */
  if (!error && bf_plans_make(module, unit, NULL, &work.plans, &unused) == BF_NO_MEMORY)
    error = bf_no_memory(diagnostic);
  work.subject = calloc((size_t)work.plans.count + 1, sizeof *work.subject);
  if (!error && !work.subject)
    error = bf_no_memory(diagnostic);
  unsigned at = 0;
  for (const bf_ptx_item *item = module->first; item && !error; item = item->next) {
    const bf_ptx_function *kernel = item->kind == BF_PTX_ITEM_FUNCTION ? item->function : NULL;
    if (!kernel || !kernel->is_entry || !kernel->has_body)
      continue;
    bool is_next = at < work.plans.count && strcmp(work.plans.plan[at].name, kernel->name) == 0;
    at = is_next ? at : plan_of(&work, kernel->name);
    error = look_at(&work, at++, kernel, diagnostic);
  }
  if (!error)
    error = choose(&work, diagnostic);
  free(work.subject);
  bf_plans_free(&work.plans);
  bf_hash_free(work.none);
  bf_ptx_free(module);
  return error;
}
