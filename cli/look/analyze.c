/* bankfold analyze: shared accesses of kernels as formulas, from the PTX alone. */
#include "analyze/analyze.h"
#include "analyze/given.h"
#include "cli/cli.h"
#include "cli/gate.h"
#include "ptx/block.h"
#include "ptx/fatbin.h"

#include <stdlib.h>
#include <string.h>

typedef struct settings {
  cli_common common;
  cli_gate gate;
  const char *block, *grid, *index, *kernel, *param, *trace;
  uint64_t columns;
} settings;

static const cli_option options[] = {
    {"block", CLI_TEXT, offsetof(settings, block), "XxYxZ", NULL,
     "threads of a block, e.g. 16x16 (default: what the kernel requires)"},
    {"kernel", CLI_TEXT, offsetof(settings, kernel), "KERNEL", NULL,
     "only the kernel of that name (default: all)"},
    {"param", CLI_TEXT, offsetof(settings, param), "P=V,...", NULL,
     "whole values of parameters, by name or number from 0: n=1024,3=16"},
    {"grid", CLI_TEXT, offsetof(settings, grid), "XxYxZ", NULL,
     "blocks of the grid (default: unknown)"},
    {"index", CLI_TEXT, offsetof(settings, index), "XxYxZ", NULL,
     "one block: its index, each part from 0 (default: any block)"},
    {"columns", CLI_NUMBER, offsetof(settings, columns), "N", NULL,
     "elements in a row of the 2-D array that is accessed, for M"},
    {"save-trace", CLI_TEXT, offsetof(settings, trace), "FILE", NULL,
     "write the accesses found as a trace"},
    CLI_GATE(settings),
    CLI_COMMON(settings),
};

enum { COLUMNS_MAX = 1 << 30 };

/* Sums over the sites of a kernel. */
typedef struct totals {
  uint32_t sites, exact, each;
  uint64_t accesses, wavefronts, ideal, conflicts;
} totals;

/* Everything that a run has open. */
typedef struct run_state {
  const settings *settings;
  const char *file;
  bf_machine *machine;
  bf_hash *hash;         /* none */
  bf_workload *workload; /* accesses for --trace */
  bf_arena arena;        /* texts of their sites */
  uint32_t block[3], grid[3], index[3];
  uint32_t kernels;
  bool color;
  bf_text text;
  bf_json json;
  bf_gate found; /* for limits: what a block does */
} run_state;

/* ---- Options ---- */

static int parse_options(run_state *s, bf_diagnostic *diagnostic) {
  const settings *o = s->settings;
  if (o->block)
    s->block[1] = s->block[2] = 1;
  if (o->grid)
    s->grid[1] = s->grid[2] = 1;
  BF_TRY(cli_parse_size("block", o->block, 1, s->block, diagnostic));
  BF_TRY(cli_parse_size("grid", o->grid, 1, s->grid, diagnostic));
  BF_TRY(cli_parse_size("index", o->index, 0, s->index, diagnostic));
  if (o->columns > COLUMNS_MAX)
    return bf_fail(diagnostic, BF_BAD_INPUT, "--columns is more than %d", COLUMNS_MAX);
  return BF_OK;
}

/* ---- One site ---- */

/* A site with what was counted. */
typedef struct finding {
  const bf_analysis *analysis;
  const bf_analyze_site *site;
  bf_analyze_cost cost;
  bool has_cost;
  bf_diagnostic fault; /* why there is no cost */
  bf_pattern pattern;  /* of the worst access, where there is one */
  bf_text explanation;
} finding;

static const char *plural(uint64_t number) { return number == 1 ? "" : "s"; }

static void print_pattern(run_state *s, const finding *f) {
  const bf_pattern *p = &f->pattern;
  bf_text_addf(&s->text, "    %s\n", f->explanation.data);
  if (p->class_ == BF_PATTERN_RANDOM)
    return;
  bf_text_addf(&s->text, "    M = [[%lld, %lld], [%lld, %lld]], o = (%lld, %lld)",
               (long long)p->m[0][0], (long long)p->m[0][1], (long long)p->m[1][0],
               (long long)p->m[1][1], (long long)p->origin[0], (long long)p->origin[1]);
  if (p->columns > 1)
    bf_text_addf(&s->text, " on rows of %lld", (long long)p->columns);
  bf_text_puts(&s->text, "\n");
}

static void print_cost(run_state *s, const finding *f) {
  static const char *const certain[] = {" per block", " per block of the launch", ", assumed", ""};
  static const char *const each[] = {
      "; their number is assumed, what each costs holds for all values",
      "; their number is assumed, what each costs holds for the launch", ", assumed", ""};
  const bf_analyze_cost *c = &f->cost;
  bf_text *text = &s->text;
  bf_text_addf(text, "    %s%llu access%s%s: ",
               s->color ? (c->most_conflicts ? "\033[31m" : "\033[32m") : "",
               (unsigned long long)c->accesses, c->accesses == 1 ? "" : "es",
               (bf_analyze_is_counted(f->site) ? certain : each)[f->site->certainty]);
  if (c->conflicts != c->most_conflicts)
    bf_text_addf(text, "%llu to %llu wavefronts, ideal %llu, %llu to %llu conflicts",
                 (unsigned long long)c->wavefronts, (unsigned long long)c->most_wavefronts,
                 (unsigned long long)c->ideal, (unsigned long long)c->conflicts,
                 (unsigned long long)c->most_conflicts);
  else if (c->conflicts)
    bf_text_addf(text, "%llu wavefronts, ideal %llu, %llu conflict%s",
                 (unsigned long long)c->wavefronts, (unsigned long long)c->ideal,
                 (unsigned long long)c->conflicts, plural(c->conflicts));
  else
    bf_text_addf(text, "%llu wavefront%s, no conflicts", (unsigned long long)c->wavefronts,
                 plural(c->wavefronts));
  bf_text_addf(text, "%s%s\n", c->estimated ? " (an estimate)" : "", s->color ? "\033[0m" : "");
}

static void print_unknowns(run_state *s, const finding *f) {
  const bf_analyze_site *site = f->site;
  for (unsigned i = 0; i < site->unknowns; i++) {
    const bf_analyze_unknown *u = &site->unknown[i];
    bf_text_addf(&s->text, "    unknown %s: %s", bf_analyze_unknown_name(u->kind), u->because);
    if (u->kind == BF_UNKNOWN_OFFSET)
      bf_text_addf(&s->text, "; a multiple of %u bytes%s", site->offset_step_bytes,
                   f->has_cost && f->cost.conflicts == f->cost.most_conflicts
                       ? ", which does not change the conflicts"
                       : "");
    else if (u->kind == BF_UNKNOWN_ADDRESS)
      bf_text_puts(&s->text, strstr(u->because, "parameter") ? "; --param or a trace can tell"
                                                             : "; only a trace can tell");
    bf_text_puts(&s->text, "\n");
  }
}

static void print_site(run_state *s, const finding *f) {
  const bf_analyze_site *site = f->site;
  bf_text *text = &s->text;
  bf_text_addf(text, "  %s:%llu: ", s->file, (unsigned long long)site->line);
  if (site->source_file)
    bf_text_addf(text, "(%s:%llu) ", site->source_file, (unsigned long long)site->source_line);
  if (site->has_op)
    bf_text_addf(text, "%s %u", bf_op_name(site->op), site->width_bytes);
  else
    bf_text_addf(text, "%s",
                 bf_ptx_op_get(f->analysis->kernel->instruction[site->instruction]->opcode)->name);
  bf_text_addf(text, ": %s\n", site->formula ? site->formula : "not reached");
  if (site->is_copy && site->is_reached)
    bf_text_puts(text, "    a copy by the hardware: no wavefronts, no conflicts\n");
  else if (!site->has_op)
    bf_text_puts(text, "    an operation whose cost is not modelled\n");
  else if (!site->is_reached && site->is_exact)
    bf_text_puts(text, "    no thread of the block gets here\n");
  if (f->explanation.data)
    print_pattern(s, f);
  if (f->has_cost && f->cost.accesses)
    print_cost(s, f);
  if (!f->has_cost)
    bf_text_addf(text, "    not counted: %s\n", f->fault.message);
  print_unknowns(s, f);
}

/* Pattern of the worst access; a random one, and a site without accesses, have null. */
static void write_pattern(bf_json *json, const finding *f) {
  const bf_pattern *p = &f->pattern;
  bool has_class = f->explanation.data != NULL;
  bf_json_string(json, "class", has_class ? bf_pattern_class_name(p->class_) : NULL);
  bf_json_string(json, "explanation", f->explanation.data);
  if (!has_class || p->class_ == BF_PATTERN_RANDOM) {
    bf_json_string(json, "matrix", NULL);
    bf_json_string(json, "origin", NULL);
    return;
  }
  bf_json_begin(json, "matrix", '[', true);
  for (int row = 0; row < 2; row++) {
    bf_json_begin(json, NULL, '[', true);
    bf_json_integer(json, NULL, p->m[row][0]);
    bf_json_integer(json, NULL, p->m[row][1]);
    bf_json_end(json, ']');
  }
  bf_json_end(json, ']');
  bf_json_begin(json, "origin", '[', true);
  bf_json_integer(json, NULL, p->origin[0]);
  bf_json_integer(json, NULL, p->origin[1]);
  bf_json_end(json, ']');
}

static void write_unknowns(bf_json *json, const bf_analyze_site *site) {
  bf_json_begin(json, "unknown", '[', false);
  for (unsigned i = 0; i < site->unknowns; i++) {
    bf_json_begin(json, NULL, '{', true);
    bf_json_string(json, "what", bf_analyze_unknown_name(site->unknown[i].kind));
    bf_json_string(json, "because", site->unknown[i].because);
    bf_json_end(json, '}');
  }
  bf_json_end(json, ']');
}

static void write_site(run_state *s, const finding *f) {
  const bf_analyze_site *site = f->site;
  bf_json *json = &s->json;
  bf_json_begin(json, NULL, '{', false);
  bf_json_number(json, "line", site->line);
  bf_json_string(json, "source_file", site->source_file);
  bf_json_number(json, "source_line", site->source_line);
  bf_json_string(json, "op", site->has_op ? bf_op_name(site->op) : NULL);
  bf_json_number(json, "width", site->width_bytes);
  bf_json_string(json, "formula", site->formula);
  bf_json_bool(json, "affine", site->formula && site->is_affine);
  bf_json_begin(json, "step_bytes", '[', true);
  for (unsigned i = 0; i < 3; i++)
    bf_json_integer(json, NULL, site->step_bytes[i]);
  bf_json_end(json, ']');
  write_pattern(json, f);
  bf_json_bool(json, "exact", site->is_exact);
  bf_json_string(json, "certainty", bf_analyze_certainty_name(site->certainty));
  bf_json_bool(json, "each", site->is_settled && !bf_analyze_is_counted(site));
  write_unknowns(json, site);
  bf_json_number(json, "offset_step_bytes", site->offset_step_bytes);
  bf_json_number(json, "accesses", site->accesses);
  bf_json_number(json, "wavefronts", f->cost.wavefronts);
  bf_json_number(json, "most_wavefronts", f->cost.most_wavefronts);
  bf_json_number(json, "ideal", f->cost.ideal);
  bf_json_number(json, "conflicts", f->cost.conflicts);
  bf_json_number(json, "most_conflicts", f->cost.most_conflicts);
  bf_json_string(json, "fault", f->has_cost ? NULL : f->fault.message);
  bf_json_end(json, '}');
}

/* Counts and classifies a site. */
static int look(run_state *s, finding *f, bf_diagnostic *diagnostic) {
  int error = bf_analyze_count(f->site, s->machine, s->hash, &f->cost, &f->fault);
  f->has_cost = !error;
  if (error == BF_NO_MEMORY)
    return bf_no_memory(diagnostic);
  if (!f->cost.worst)
    return BF_OK;
  int64_t columns = s->settings->columns ? (int64_t)s->settings->columns : 1;
  f->pattern = bf_analyze_classify(f->analysis, f->site, f->cost.worst,
                                   bf_machine_lanes(s->machine), columns);
  bf_access access = bf_analyze_as_access(f->site, f->cost.worst, NULL);
  bf_pattern plain = bf_access_classify(&access, bf_machine_lanes(s->machine), columns);
  bf_pattern_explain(&plain, &access, &f->explanation);
  return f->explanation.failed ? bf_no_memory(diagnostic) : BF_OK;
}

/* Adds the accesses of a site to the trace, with site KERNEL:LINE. */
static int keep_accesses(run_state *s, const finding *f, bf_diagnostic *diagnostic) {
  char name[512];
  snprintf(name, sizeof name, "%.400s:%llu", f->analysis->kernel->name,
           (unsigned long long)f->site->line);
  char *kept = bf_arena_copy(&s->arena, name);
  if (!kept)
    return bf_no_memory(diagnostic);
  for (size_t i = 0; i < f->site->accesses; i++) {
    bf_access access = bf_analyze_as_access(f->site, &f->site->access[i], kept);
    int error = bf_workload_add(s->workload, &access);
    if (error)
      return bf_fail(diagnostic, error, "the trace grows too large");
  }
  return BF_OK;
}

/* What the site costs, for limits. */
static int keep_finding(run_state *s, const finding *f, bf_diagnostic *diagnostic) {
  bf_text name = {0};
  bf_ptx_readable_name(f->analysis->kernel->name, &name);
  bool has_source = f->site->source_file != NULL;
  bf_finding own = {.file = has_source ? f->site->source_file : s->file,
                    .line = has_source ? f->site->source_line : f->site->line,
                    .name = name.data,
                    .what = f->explanation.data,
                    .wavefronts = f->cost.wavefronts,
                    .conflicts = f->cost.conflicts};
  int error = f->has_cost ? bf_gate_add(&s->found, &own, diagnostic) : BF_OK;
  bf_text_free(&name);
  return error;
}

static int show_site(run_state *s, const bf_analysis *analysis, const bf_analyze_site *site,
                     totals *total, bf_diagnostic *diagnostic) {
  finding f = {.analysis = analysis, .site = site};
  int error = look(s, &f, diagnostic);
  if (!error && s->settings->trace && f.has_cost && site->has_op)
    error = keep_accesses(s, &f, diagnostic);
  if (!error && s->settings->common.json)
    write_site(s, &f);
  else if (!error)
    print_site(s, &f);
  if (!error)
    error = keep_finding(s, &f, diagnostic);
  total->sites++;
  total->exact += site->is_exact;
  total->each += !site->is_exact && site->is_settled;
  total->accesses += f.cost.accesses;
  total->wavefronts += f.cost.wavefronts;
  total->ideal += f.cost.ideal;
  total->conflicts += f.cost.conflicts;
  bf_text_free(&f.explanation);
  return error;
}

/* ---- Matrices ---- */

static void print_matrix(run_state *s, const bf_analyze_matrix *m, uint64_t a, uint64_t b) {
  bf_text *text = &s->text;
  bf_text_addf(text, "  %s:%llu: ", s->file, (unsigned long long)m->line);
  if (m->source_file)
    bf_text_addf(text, "(%s:%llu) ", m->source_file, (unsigned long long)m->source_line);
  bf_text_addf(text, "wgmma: A 64x%u %s%s, B %ux%u %s\n", m->depth, m->a_type,
               m->a_bytes ? "" : " in registers", m->columns, m->depth, m->b_type);
  bf_text_addf(text, "    %llu product%s%s: %llu wavefronts of A, %llu of B, no conflicts\n",
               (unsigned long long)m->times, plural(m->times), m->open_loops ? "" : " per block",
               (unsigned long long)a, (unsigned long long)b);
  if (m->open_loops)
    bf_text_addf(text, "    unknown count: %u loop%s around it, each taken once\n", m->open_loops,
                 plural(m->open_loops));
}

static void write_matrix(run_state *s, const bf_analyze_matrix *m, uint64_t a, uint64_t b) {
  bf_json *json = &s->json;
  bf_json_begin(json, NULL, '{', false);
  bf_json_number(json, "line", m->line);
  bf_json_string(json, "source_file", m->source_file);
  bf_json_number(json, "source_line", m->source_line);
  bf_json_number(json, "n", m->columns);
  bf_json_number(json, "k", m->depth);
  bf_json_string(json, "a_type", m->a_type);
  bf_json_string(json, "b_type", m->b_type);
  bf_json_bool(json, "a_in_registers", m->a_bytes == 0);
  bf_json_number(json, "products", m->times);
  bf_json_bool(json, "exact", m->open_loops == 0);
  bf_json_number(json, "a_wavefronts", a);
  bf_json_number(json, "b_wavefronts", b);
  bf_json_number(json, "conflicts", 0);
  bf_json_end(json, '}');
}

/* The products of wgmma of a kernel, behind its sites. */
static int show_matrices(run_state *s, const bf_ptx_module *module, bf_analysis *analysis,
                         totals *total, bf_diagnostic *diagnostic) {
  const bf_analyze_matrix *list;
  size_t count;
  BF_TRY(bf_analyze_matrices(module, analysis, &list, &count, diagnostic));
  if (s->settings->common.json) {
    bf_json_end(&s->json, ']');
    bf_json_begin(&s->json, "matrices", '[', false);
  }
  for (size_t i = 0; i < count; i++) {
    const bf_analyze_matrix *m = &list[i];
    uint64_t a = m->times * bf_memory_operand_wavefronts(s->machine, m->a_bytes);
    uint64_t b = m->times * bf_memory_operand_wavefronts(s->machine, m->b_bytes);
    if (s->settings->common.json)
      write_matrix(s, m, a, b);
    else
      print_matrix(s, m, a, b);
    total->sites++;
    total->exact += m->open_loops == 0;
    total->accesses += m->times;
    total->wavefronts += a + b;
    total->ideal += a + b;
  }
  return BF_OK;
}

/* ---- One kernel ---- */

static void begin_kernel(run_state *s, const bf_analysis *analysis) {
  const bf_ptx_function *kernel = analysis->kernel;
  const uint32_t *block = analysis->block;
  if (s->settings->common.json) {
    bf_json_begin(&s->json, NULL, '{', false);
    bf_json_string(&s->json, "name", kernel->name);
    bf_json_number(&s->json, "line", kernel->line);
    bf_json_begin(&s->json, "block", '[', true);
    for (unsigned i = 0; i < 3; i++)
      bf_json_number(&s->json, NULL, block[i]);
    bf_json_end(&s->json, ']');
    bf_json_number(&s->json, "warps", analysis->warps);
    bf_json_begin(&s->json, "sites", '[', false);
    return;
  }
  bf_text_puts(&s->text, s->kernels ? "\n" : "");
  bf_ptx_readable_name(kernel->name, &s->text);
  bf_text_addf(&s->text, " (%s:%llu), block %ux%u", s->file, (unsigned long long)kernel->line,
               block[0], block[1]);
  if (block[2] > 1)
    bf_text_addf(&s->text, "x%u", block[2]);
  bf_text_addf(&s->text, ": %u warp%s\n", analysis->warps, plural(analysis->warps));
}

static void end_kernel(run_state *s, const bf_analysis *analysis, const totals *t) {
  bf_json *json = &s->json;
  if (s->settings->common.json) {
    bf_json_end(json, ']');
    bf_json_begin(json, "total", '{', true);
    bf_json_number(json, "sites", t->sites);
    bf_json_number(json, "exact", t->exact);
    bf_json_number(json, "each", t->each);
    bf_json_number(json, "accesses", t->accesses);
    bf_json_number(json, "wavefronts", t->wavefronts);
    bf_json_number(json, "ideal", t->ideal);
    bf_json_number(json, "conflicts", t->conflicts);
    bf_json_end(json, '}');
    bf_json_begin(json, "notes", '[', false);
    for (unsigned i = 0; i < analysis->notes; i++)
      bf_json_string(json, NULL, analysis->note[i]);
    bf_json_end(json, ']');
    bf_json_end(json, '}');
    return;
  }
  for (unsigned i = 0; i < analysis->notes; i++)
    bf_text_addf(&s->text, "  note: %s\n", analysis->note[i]);
  if (t->sites == 0)
    bf_text_puts(&s->text, "  no access to shared memory\n");
  else {
    bf_text_addf(&s->text, "  %u of %u instructions on shared memory are fully known", t->exact,
                 t->sites);
    if (t->each)
      bf_text_addf(&s->text, ", %u more but for their number or an offset", t->each);
    bf_text_addf(&s->text, "; %llu access%s, %llu wavefront%s, ideal %llu, %llu conflict%s on %s\n",
                 (unsigned long long)t->accesses, t->accesses == 1 ? "" : "es",
                 (unsigned long long)t->wavefronts, plural(t->wavefronts),
                 (unsigned long long)t->ideal, (unsigned long long)t->conflicts,
                 plural(t->conflicts), bf_machine_name(s->machine));
  }
}

/* The block that the kernel requires (.reqntid), where none was given. */
static int find_block(const run_state *s, const bf_ptx_function *kernel, uint32_t block[3],
                      bf_diagnostic *diagnostic) {
  memcpy(block, s->block, sizeof s->block);
  if (!block[0] && !bf_ptx_required_block(kernel, block))
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "--block is needed: kernel '%s' does not say how many threads a block has",
                   kernel->name);
  return BF_OK;
}

static int analyze_kernel(run_state *s, const bf_ptx_module *module, const bf_ptx_function *kernel,
                          bf_diagnostic *diagnostic) {
  bf_analyze_options o = {.has_block_index = s->settings->index != NULL, .machine = s->machine};
  bf_analyze_given given = {0};
  bf_analysis *analysis = NULL;
  totals total = {0};
  memcpy(o.grid, s->grid, sizeof o.grid);
  memcpy(o.block_index, s->index, sizeof o.block_index);
  int error = find_block(s, kernel, o.block, diagnostic);
  if (!error)
    error = bf_analyze_read_given(kernel, s->settings->param, &given, diagnostic);
  o.parameter = given.bytes;
  o.is_known = given.is_known;
  o.parameter_bytes = given.size;
  if (!error)
    error = bf_analyze_assuming(module, kernel, &o, &analysis, diagnostic);
  if (!error)
    begin_kernel(s, analysis);
  for (uint32_t i = 0; !error && i < analysis->sites; i++)
    error = show_site(s, analysis, &analysis->site[i], &total, diagnostic);
  if (!error)
    error = show_matrices(s, module, analysis, &total, diagnostic);
  if (!error)
    end_kernel(s, analysis, &total);
  s->kernels++;
  bf_analysis_free(analysis);
  bf_analyze_given_free(&given);
  return error;
}

/* ---- The whole file ---- */

static bool is_wanted(const run_state *s, const bf_ptx_item *item) {
  return item->kind == BF_PTX_ITEM_FUNCTION && item->function->is_entry &&
         item->function->has_body &&
         (!s->settings->kernel || bf_ptx_is_called(item->function->name, s->settings->kernel));
}

static int analyze_text(run_state *s, const bf_text *ptx, bool is_last, bf_diagnostic *diagnostic) {
  bf_ptx_module *module;
  BF_TRY(bf_ptx_parse(s->file, ptx->data ? ptx->data : "", ptx->size, &module, diagnostic));
  int error = BF_OK;
  for (const bf_ptx_item *item = module->first; item && !error; item = item->next)
    if (is_wanted(s, item))
      error = analyze_kernel(s, module, item->function, diagnostic);
  if (!error && s->kernels == 0 && s->settings->kernel && is_last)
    error = bf_ptx_no_kernel(module, s->file, s->settings->kernel, diagnostic);
  bf_ptx_free(module);
  return error;
}

/* The best PTX of every module of the file. */
static int analyze_all(run_state *s, const bf_fatbin *fatbin, bf_diagnostic *diagnostic) {
  bool found = false;
  for (unsigned module = 1; module <= fatbin->module_count; module++) {
    const bf_image *image = bf_fatbin_pick(fatbin, module, (bf_arch){0});
    bf_text ptx = {0};
    if (!image)
      continue;
    found = true;
    int error = bf_fatbin_text(fatbin, image, &ptx, diagnostic);
    if (!error)
      error = analyze_text(s, &ptx, module == fatbin->module_count, diagnostic);
    bf_text_free(&ptx);
    if (error)
      return error;
  }
  if (!found)
    return bf_fatbin_no_ptx(fatbin, 0, (bf_arch){0}, diagnostic);
  if (s->kernels == 0 && s->settings->kernel)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, s->file, "no kernel '%s'; ptx kernels lists them",
                        s->settings->kernel);
  return s->kernels ? BF_OK : bf_fail_file(diagnostic, BF_BAD_INPUT, s->file, "no kernel");
}

static int write_trace(run_state *s, bf_diagnostic *diagnostic) {
  if (bf_workload_size(s->workload) == 0)
    return bf_fail(diagnostic, BF_BAD_INPUT, "--trace: no access is known; nothing was written");
  return bf_workload_write(s->workload, s->settings->trace, diagnostic);
}

static int analyze_file(run_state *s, const char *path, bf_diagnostic *diagnostic) {
  bf_fatbin *fatbin;
  bool json = s->settings->common.json;
  BF_TRY(parse_options(s, diagnostic));
  BF_TRY(cli_load_machine(&s->settings->common, &s->machine, diagnostic));
  BF_TRY(cli_load_hash(NULL, s->machine, &s->hash, diagnostic));
  if (bf_workload_create(&s->workload) != BF_OK)
    return bf_no_memory(diagnostic);
  BF_TRY(bf_fatbin_open(path, &fatbin, diagnostic));
  s->file = fatbin->name;
  if (json) {
    bf_json_begin(&s->json, NULL, '{', false);
    bf_json_string(&s->json, "file", s->file);
    bf_json_string(&s->json, "machine", bf_machine_name(s->machine));
    bf_json_begin(&s->json, "kernels", '[', false);
  }
  int error = analyze_all(s, fatbin, diagnostic);
  if (json) {
    bf_json_end(&s->json, ']');
    bf_json_end(&s->json, '}');
  }
  if (!error && s->settings->trace)
    error = write_trace(s, diagnostic);
  bf_fatbin_close(fatbin);
  return error;
}

static int run(const void *given, int count, char **arguments) {
  (void)count;
  run_state s = {.settings = given};
  s.json.text = &s.text;
  s.color = cli_wants_color(&s.settings->common);
  bf_diagnostic diagnostic;
  int status = cli_gate_check(&cli_analyze, &s.settings->gate);
  if (status >= 0)
    return status;
  int error = analyze_file(&s, arguments[0], &diagnostic);
  status = !error ? cli_print(&s.text) : cli_complain(&diagnostic);
  status = cli_gate_finish(&s.settings->gate, &s.found, status);
  if (error)
    bf_text_free(&s.text);
  bf_workload_free(s.workload);
  bf_arena_free(&s.arena);
  bf_hash_free(s.hash);
  bf_machine_free(s.machine);
  return status;
}

const cli_command cli_analyze = {
    .name = "analyze",
    .summary = "derive the shared accesses of kernels from their PTX, without running them",
    .arguments = "FILE",
    .details =
        "FILE (\"-\": standard input) is PTX, or a program or library that holds PTX. For each\n"
        "instruction on shared memory, the address is given as a formula of the thread index (tx,\n"
        "ty, tz), the block index (bx, by, bz), loop counters (k40: the loop at line 40) and\n"
        "parameters, with its pattern and what all its executions in a block of --block threads\n"
        "cost. What cannot be known without running the kernel is named. --param gives values of\n"
        "parameters, so that more is known.",
    .examples = "bankfold analyze kernel.ptx --block 16x16                    # all kernels\n"
                "bankfold analyze app --block 256 --kernel reduce --param 2=4096\n"
                "bankfold analyze kernel.ptx --block 16x16 --trace kernel.trace && bankfold solve "
                "kernel.trace\n",
    CLI_OPTIONS(options, settings),
    .least_arguments = 1,
    .most_arguments = 1,
    .run = run,
};
