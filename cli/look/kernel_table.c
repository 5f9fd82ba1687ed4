/* Tables of kernels. */
#include "cli/look/kernel_table.h"
#include "cli/look/launch_table.h"
#include "cli/look/operand_table.h"
#include "ptx/ptx.h"
#include "sim/worth.h"
#include "tune/program.h"
#include "tune/remedy.h"

#include <stdio.h>
#include <string.h>

/* Kernels for which a remedy is searched, and lines that the table shows of each. */
enum { REMEDIES = 16, LINES_SHOWN = 3 };

/* The remedy of kernel number index; none beyond the worst ones. */
static int find_remedy(const cli_program_run *run, const bf_costs *costs, size_t index,
                       bf_remedy *remedy, bf_diagnostic *diagnostic) {
  const bf_costs_kernel *kernel = &costs->kernel[index];
  const char *lock_hash = kernel->lock_hash ? kernel->lock_hash : run->lock_hash;
  bf_lock_hash locks = !lock_hash || strcmp(lock_hash, "plain") == 0 ? BF_LOCK_PLAIN
                       : strcmp(lock_hash, "xor") == 0               ? BF_LOCK_XOR
                                                                     : BF_LOCK_ADD;
  *remedy = (bf_remedy){0};
  return index < REMEDIES ? bf_remedy_find(run->machine, kernel->hash ? kernel->hash : run->hash,
                                           locks, kernel, run->fix_seconds, remedy, diagnostic)
                          : BF_OK;
}

/* Whether the numbers of a kernel are estimates, from some of its blocks. */
static bool is_sampled(const bf_costs_kernel *kernel) {
  return kernel->counted_blocks < kernel->blocks;
}

/* ---- Text ---- */

/* A number of 12 places; an estimate has a mark. */
static void write_count(uint64_t count, bool is_estimate, bf_text *text) {
  char digits[24];
  snprintf(digits, sizeof digits, "%s%llu", is_estimate ? "~" : "", (unsigned long long)count);
  bf_text_addf(text, "%12s", digits);
}

/* "transpose.cu:12" or "PTX line 40". */
static void write_place(const bf_costs_line *line, bf_text *text) {
  if (line->file)
    bf_text_addf(text, "%s:%llu", line->file, (unsigned long long)line->line);
  else
    bf_text_addf(text, "PTX line %llu", (unsigned long long)line->line);
  if (line->inlined_file)
    bf_text_addf(text, ", inlined at %s:%llu", line->inlined_file,
                 (unsigned long long)line->inlined_line);
  if (line->inlined_further)
    bf_text_addf(text, ", inlined at %s", line->inlined_further);
}

/* A row of the table for a line of a kernel. */
static void write_line(const cli_program_run *run, const bf_costs_line *line, bool is_estimate,
                       bf_text *text) {
  write_count(line->conflicts, is_estimate, text);
  bf_text_puts(text, "  ");
  write_place(line, text);
  if (line->has_access) {
    bf_pattern pattern = bf_access_classify(&line->access, bf_machine_lanes(run->machine), 1);
    bf_text_puts(text, ": ");
    bf_pattern_explain(&pattern, &line->access, text);
  }
  bf_text_puts(text, "\n");
}

/* A row of the table for what helps. */
static void write_remedy(const bf_remedy *remedy, bf_text *text) {
  if (!remedy->exists) {
    bf_text_addf(text, "         fix  none: %s\n", remedy->reason);
    return;
  }
  bf_text_addf(text, "         fix  %s (%s): conflicts %llu -> %llu\n", remedy->name, remedy->hash,
               (unsigned long long)remedy->before, (unsigned long long)remedy->after);
  if (remedy->code[0])
    bf_text_addf(text, "              %s\n", remedy->code);
}

/* The head of the table. */
static void write_head(const cli_program_run *run, bf_text *text) {
  if (run->gpu)
    bf_text_addf(text, "\nsimulated on %s (%s)%s", run->gpu->name, run->gpu->title,
                 run->machine_code ? ", by the machine code that ptxas makes" : "");
  else
    bf_text_addf(text, "\nshared memory on %s", bf_machine_name(run->machine));
  if (strcmp(run->hash, "none") != 0)
    bf_text_addf(text, ", hash %s", run->hash);
  if (run->gpu && strcmp(run->lock_hash, "plain") != 0)
    bf_text_addf(text, ", lock hash %s", run->lock_hash);
  bf_text_addf(text, ":\n%12s %10s %12s %12s ", "conflicts", "launches", "accesses", "wavefronts");
  if (run->gpu)
    bf_text_addf(text, "%12s %12s  kernel\n", "cycles", "time");
  else
    bf_text_addf(text, "%12s  kernel\n", "ideal");
}

/* The numbers of a kernel, or of all of them together. */
static void write_numbers(const cli_program_run *run, const bf_costs_kernel *kernel,
                          bf_text *text) {
  write_count(kernel->conflicts, is_sampled(kernel), text);
  bf_text_addf(text, " %10llu ", (unsigned long long)kernel->launches);
  write_count(kernel->accesses, is_sampled(kernel), text);
  bf_text_puts(text, " ");
  write_count(kernel->wavefronts, is_sampled(kernel), text);
  bf_text_puts(text, " ");
  if (!run->gpu) {
    write_count(kernel->ideal, is_sampled(kernel), text);
    bf_text_puts(text, "  ");
    return;
  }
  bf_text time = {0};
  cli_write_time(kernel->simulated_seconds, &time);
  bf_text_addf(text, "%12llu %12s  ", (unsigned long long)kernel->cycles,
               time.data ? time.data : "");
  bf_text_free(&time);
}

/* The name of a kernel, and its hashes where they are not those of the whole run. */
static void write_name(const cli_program_run *run, const bf_costs_kernel *kernel, bf_text *text) {
  bf_ptx_readable_name(kernel->name, text);
  if (kernel->hash && strcmp(kernel->hash, run->hash) != 0)
    bf_text_addf(text, ", hash %s", kernel->hash);
  if (run->gpu && kernel->lock_hash && strcmp(kernel->lock_hash, run->lock_hash) != 0)
    bf_text_addf(text, ", lock hash %s", kernel->lock_hash);
}

/* A row that says how much of a kernel was counted, and how far its conflicts may be off. */
static void write_sampled(const bf_costs_kernel *kernel, bf_text *text) {
  bf_text_addf(text, "     sampled  %llu of %llu blocks",
               (unsigned long long)kernel->counted_blocks, (unsigned long long)kernel->blocks);
  if (kernel->conflicts_high >= kernel->conflicts)
    bf_text_addf(text, ": conflicts %llu to %llu (95%%)", (unsigned long long)kernel->conflicts_low,
                 (unsigned long long)kernel->conflicts_high);
  bf_text_puts(text, "\n");
}

/* A row that says how much more a GPU may count, where warps try again because others were faster.
 */
static void write_retries(const bf_costs_kernel *kernel, bf_text *text) {
  uint64_t most = 0;
  for (size_t i = 0; i < kernel->lines; i++)
    most += kernel->line[i].retries_most;
  if (most)
    bf_text_addf(text,
                 "     retries  0 to %llu wavefronts more, where atomics of several warps that try "
                 "again want the same words at the same time\n",
                 (unsigned long long)most);
}

/* What a simulated run takes, where the GPU's file says it. */
static void write_energy(const bf_costs *costs, bf_text *text) {
  double joules = 0, conflicts = 0;
  for (size_t i = 0; i < costs->kernels; i++) {
    joules += costs->kernel[i].joules;
    conflicts += costs->kernel[i].conflict_joules;
  }
  if (joules > 0)
    bf_text_addf(text, "energy %.3g mJ, of it conflicts %.3g mJ\n", 1e3 * joules, 1e3 * conflicts);
}

/* A row with the sums of a simulated run, where there are several kernels. */
static void write_sums(const cli_program_run *run, const bf_costs *costs, bf_text *text) {
  bf_costs_kernel sum = {0};
  if (!run->gpu || costs->kernels < 2)
    return;
  for (size_t i = 0; i < costs->kernels; i++) {
    const bf_costs_kernel *kernel = &costs->kernel[i];
    sum.conflicts += kernel->conflicts;
    sum.launches += kernel->launches;
    sum.accesses += kernel->accesses;
    sum.wavefronts += kernel->wavefronts;
    sum.cycles += kernel->cycles;
    sum.simulated_seconds += kernel->simulated_seconds;
  }
  write_numbers(run, &sum, text);
  bf_text_puts(text, "all together\n");
}

/* The cycles of all rows of a kernel together, in this run and in that of --what-if; false: that is
 * not known, or said in a row before this one. */
static bool find_worth(const cli_program_run *run, const bf_costs *costs, size_t index,
                       uint64_t *before, uint64_t *after) {
  const char *kernel = costs->kernel[index].name;
  if (!run->what_if)
    return false;
  for (size_t i = 0; i < index; i++)
    if (strcmp(costs->kernel[i].name, kernel) == 0)
      return false;
  *before = bf_program_evidence(costs, kernel).cycles;
  *after = bf_program_evidence(run->hashed, kernel).cycles;
  return *before && *after;
}

/* A row that says what another hash of the banks is worth to a kernel. */
static void write_worth(const cli_program_run *run, const bf_costs *costs, size_t index,
                        bf_text *text) {
  uint64_t before, after;
  if (!find_worth(run, costs, index, &before, &after))
    return;
  bf_sim_worth worth = bf_sim_worth_find(run->gpu->worth_share, (double)before, (double)after);
  bf_text_addf(text, "       worth  %s: %llu -> %llu cycles, gain %.3f", run->what_if,
               (unsigned long long)before, (unsigned long long)after, worth.gain);
  if (run->gpu->worth_share > 0)
    bf_text_addf(text, ", of 100 measured ones 80 from %.3f to %.3f", worth.low, worth.high);
  bf_text_puts(text, "\n");
}

/* The rows of the table for one kernel. */
static int write_kernel(const cli_program_run *run, const bf_costs *costs, size_t index, bool color,
                        bf_text *text, bf_diagnostic *diagnostic) {
  const bf_costs_kernel *kernel = &costs->kernel[index];
  bf_remedy remedy;
  bool is_bad = kernel->conflicts != 0;
  bf_text_puts(text, color && is_bad ? "\033[1m" : "");
  write_numbers(run, kernel, text);
  write_name(run, kernel, text);
  bf_text_puts(text, color && is_bad ? "\033[0m\n" : "\n");
  if (is_sampled(kernel))
    write_sampled(kernel, text);
  write_retries(kernel, text);
  size_t shown = 0;
  while (shown < kernel->lines && shown < LINES_SHOWN && kernel->line[shown].conflicts)
    write_line(run, &kernel->line[shown++], is_sampled(kernel), text);
  cli_write_operands(kernel, write_place, text);
  BF_TRY(find_remedy(run, costs, index, &remedy, diagnostic));
  if (remedy.exists || *remedy.reason)
    write_remedy(&remedy, text);
  write_worth(run, costs, index, text);
  return BF_OK;
}

/* A line for each kernel of which launches could not be run. */
static void write_refused(const bf_costs *costs, bf_text *text) {
  for (size_t i = 0; i < costs->kernels; i++) {
    const bf_costs_kernel *kernel = &costs->kernel[i];
    if (!kernel->refused)
      continue;
    bf_text_addf(text, "not run: %llu launch%s of ", (unsigned long long)kernel->refused,
                 kernel->refused == 1 ? "" : "es");
    bf_ptx_readable_name(kernel->name, text);
    bf_text_puts(text, ": results of the program are not what a GPU gives\n");
  }
}

/* Where a process did not end as it should: what was running then. */
static void write_unfinished(const cli_program_run *run, const bf_costs *costs, bf_text *text) {
  for (size_t i = 0; i < costs->kernels; i++) {
    const bf_costs_kernel *kernel = &costs->kernel[i];
    if (!kernel->unfinished)
      continue;
    bf_text_addf(text, "not done: %llu launch%s of ", (unsigned long long)kernel->unfinished,
                 kernel->unfinished == 1 ? "" : "es");
    bf_ptx_readable_name(kernel->name, text);
    bf_text_puts(text, ", counted as far as it came\n");
  }
  if (run->signal)
    bf_text_addf(text, "The program was ended by signal %d (%s); this is what it did up to then.\n",
                 run->signal, strsignal(run->signal));
}

/* Where blocks were not run: what that means. */
static void write_skipped(const cli_program_run *run, const bf_costs *costs, bf_text *text) {
  bool is_any = false;
  for (size_t i = 0; i < costs->kernels; i++)
    is_any |= is_sampled(&costs->kernel[i]);
  if (run->skipped_rest && is_any)
    bf_text_puts(text, "Blocks that are not counted were not run: results of the program are not "
                       "what a GPU gives.\n");
}

/* Whether a line has no source line. */
static bool lacks_source(const bf_costs *costs) {
  for (size_t i = 0; i < costs->kernels; i++)
    for (size_t j = 0; j < costs->kernel[i].lines; j++)
      if (!costs->kernel[i].line[j].file)
        return true;
  return false;
}

int cli_kernel_table_write_text(const cli_program_run *run, const bf_costs *costs, bool color,
                                bf_text *text, bf_diagnostic *diagnostic) {
  uint64_t launches = 0;
  for (size_t i = 0; i < costs->kernels; i++)
    launches += costs->kernel[i].launches + costs->kernel[i].unfinished;
  if (launches)
    write_head(run, text);
  for (size_t i = 0; i < costs->kernels; i++)
    if (costs->kernel[i].launches || costs->kernel[i].unfinished)
      BF_TRY(write_kernel(run, costs, i, color, text, diagnostic));
  write_sums(run, costs, text);
  if (run->gpu)
    write_energy(costs, text);
  write_refused(costs, text);
  write_unfinished(run, costs, text);
  write_skipped(run, costs, text);
  if (lacks_source(costs))
    bf_text_puts(text, "Build with nvcc -lineinfo to see source lines.\n");
  return BF_OK;
}

/* ---- JSON ---- */

/* What the worst access of a line is, or null. */
static void write_pattern_json(const cli_program_run *run, const bf_costs_line *line,
                               bf_json *json) {
  if (!line->has_access) {
    bf_json_string(json, "class", NULL);
    bf_json_string(json, "explanation", NULL);
    return;
  }
  bf_pattern pattern = bf_access_classify(&line->access, bf_machine_lanes(run->machine), 1);
  bf_text explanation = {0};
  bf_pattern_explain(&pattern, &line->access, &explanation);
  bf_json_string(json, "class", bf_pattern_class_name(pattern.class_));
  bf_json_string(json, "explanation", explanation.data);
  bf_text_free(&explanation);
}

/* Between which numbers conflicts are, or null where that is not known. */
static void write_bounds_json(uint64_t conflicts, uint64_t low, uint64_t high, bf_json *json) {
  if (high < conflicts) {
    bf_json_string(json, "conflicts_low", NULL);
    bf_json_string(json, "conflicts_high", NULL);
    return;
  }
  bf_json_number(json, "conflicts_low", low);
  bf_json_number(json, "conflicts_high", high);
}

/* How much of a kernel was counted, where that was not all. */
static void write_sampled_json(const bf_costs_kernel *kernel, bf_json *json) {
  if (!is_sampled(kernel))
    return;
  bf_json_begin(json, "sampled", '{', false);
  bf_json_number(json, "blocks", kernel->blocks);
  bf_json_number(json, "counted_blocks", kernel->counted_blocks);
  bf_json_real(json, "confidence", 0.95);
  write_bounds_json(kernel->conflicts, kernel->conflicts_low, kernel->conflicts_high, json);
  bf_json_end(json, '}');
}

/* A line of a kernel. */
static void write_line_json(const cli_program_run *run, const bf_costs_line *line, bool is_estimate,
                            bf_json *json) {
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "file", line->file);
  if (line->file) {
    bf_json_number(json, "line", line->line);
    bf_json_string(json, "ptx_line", NULL);
  } else {
    bf_json_string(json, "line", NULL);
    bf_json_number(json, "ptx_line", line->line);
  }
  bf_json_string(json, "inlined_file", line->inlined_file);
  bf_json_number(json, "inlined_line", line->inlined_line);
  bf_json_string(json, "inlined_further", line->inlined_further);
  bf_json_number(json, "accesses", line->accesses);
  bf_json_number(json, "wavefronts", line->wavefronts);
  bf_json_number(json, "ideal", line->ideal);
  bf_json_number(json, "conflicts", line->conflicts);
  if (is_estimate)
    write_bounds_json(line->conflicts, line->conflicts_low, line->conflicts_high, json);
  bf_json_number(json, "worst", line->worst);
  bf_json_bool(json, "estimated", line->estimated);
  bf_json_number(json, "retries_most", line->retries_most);
  if (run->gpu)
    bf_json_number(json, "waited_cycles", line->waited_cycles);
  write_pattern_json(run, line, json);
  cli_write_operands_json(line, json);
  bf_json_end(json, '}');
}

/* What helps, or null. */
static void write_remedy_json(const bf_remedy *remedy, bf_json *json) {
  if (!remedy->exists) {
    bf_json_string(json, "fix", NULL);
    return;
  }
  bf_json_begin(json, "fix", '{', false);
  bf_json_string(json, "name", remedy->name);
  bf_json_string(json, "hash", remedy->hash);
  bf_json_string(json, "code", remedy->code[0] ? remedy->code : NULL);
  bf_json_number(json, "conflicts_before", remedy->before);
  bf_json_number(json, "conflicts_after", remedy->after);
  bf_json_string(json, "reason", remedy->reason);
  bf_json_end(json, '}');
}

/* What the hash of --what-if is worth to a kernel, where that is known. */
static void write_worth_json(const cli_program_run *run, const bf_costs *costs, size_t index,
                             bf_json *json) {
  uint64_t before, after;
  if (!find_worth(run, costs, index, &before, &after))
    return;
  bf_sim_worth worth = bf_sim_worth_find(run->gpu->worth_share, (double)before, (double)after);
  bf_json_begin(json, "worth", '{', false);
  bf_json_string(json, "hash", run->what_if);
  bf_json_number(json, "cycles_before", before);
  bf_json_number(json, "cycles_after", after);
  bf_json_real(json, "gain", worth.gain);
  if (run->gpu->worth_share > 0) {
    bf_json_real(json, "gain_low", worth.low);
    bf_json_real(json, "gain_high", worth.high);
  }
  bf_json_end(json, '}');
}

/* One kernel. */
static int write_kernel_json(const cli_program_run *run, const bf_costs *costs, size_t index,
                             bf_json *json, bf_diagnostic *diagnostic) {
  const bf_costs_kernel *kernel = &costs->kernel[index];
  bf_remedy remedy;
  bf_text name = {0};
  BF_TRY(find_remedy(run, costs, index, &remedy, diagnostic));
  bf_ptx_readable_name(kernel->name, &name);
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "name", name.data);
  bf_json_string(json, "mangled", kernel->name);
  bf_text_free(&name);
  bf_json_string(json, "hash", kernel->hash ? kernel->hash : run->hash);
  bf_json_number(json, "launches", kernel->launches);
  bf_json_number(json, "unfinished", kernel->unfinished);
  bf_json_number(json, "refused", kernel->refused);
  bf_json_number(json, "faults", kernel->faults);
  bf_json_number(json, "accesses", kernel->accesses);
  bf_json_number(json, "wavefronts", kernel->wavefronts);
  bf_json_number(json, "ideal", kernel->ideal);
  bf_json_number(json, "conflicts", kernel->conflicts);
  bf_json_number(json, "warp_instructions", kernel->warp_instructions);
  bf_json_number(json, "thread_instructions", kernel->thread_instructions);
  bf_json_real(json, "seconds", kernel->seconds);
  write_sampled_json(kernel, json);
  if (run->gpu) {
    bf_json_string(json, "lock_hash", kernel->lock_hash);
    bf_json_number(json, "cycles", kernel->cycles);
    bf_json_real(json, "simulated_seconds", kernel->simulated_seconds);
    if (kernel->joules > 0) {
      bf_json_real(json, "joules", kernel->joules);
      bf_json_real(json, "conflict_joules", kernel->conflict_joules);
    }
  }
  bf_json_begin(json, "lines", '[', false);
  for (size_t i = 0; i < kernel->lines; i++)
    write_line_json(run, &kernel->line[i], is_sampled(kernel), json);
  bf_json_end(json, ']');
  write_remedy_json(&remedy, json);
  write_worth_json(run, costs, index, json);
  bf_json_end(json, '}');
  return BF_OK;
}

int cli_kernel_table_write_json(const cli_program_run *run, const bf_costs *costs, bf_text *text,
                                bf_diagnostic *diagnostic) {
  bf_json json = {.text = text};
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "program", run->program);
  bf_json_integer(&json, "status", run->status);
  bf_json_integer(&json, "own_status", run->own_status);
  bf_json_integer(&json, "signal", run->signal);
  bf_json_string(&json, "machine", bf_machine_name(run->machine));
  bf_json_string(&json, "hash", run->hash);
  if (run->gpu) {
    bf_json_string(&json, "gpu", run->gpu->name);
    bf_json_string(&json, "lock_hash", run->lock_hash);
  }
  bf_json_begin(&json, "kernels", '[', false);
  for (size_t i = 0; i < costs->kernels; i++)
    BF_TRY(write_kernel_json(run, costs, i, &json, diagnostic));
  bf_json_end(&json, ']');
  bf_json_end(&json, '}');
  return BF_OK;
}

/* ---- Limits ---- */

int cli_kernel_table_gate(const cli_gate *gate, const bf_costs *costs, int status) {
  bf_gate found = {.findings = 0};
  bf_diagnostic diagnostic = {.caret = -1};
  for (size_t i = 0; i < costs->kernels && status == CLI_OK; i++) {
    const bf_costs_kernel *kernel = &costs->kernel[i];
    bf_text name = {0};
    bf_ptx_readable_name(kernel->name, &name);
    for (size_t k = 0; k < kernel->lines && status == CLI_OK; k++) {
      bf_finding own = {.file = kernel->line[k].file,
                        .line = kernel->line[k].line,
                        .name = name.data,
                        .wavefronts = kernel->line[k].wavefronts,
                        .conflicts = kernel->line[k].conflicts};
      if (bf_gate_add(&found, &own, &diagnostic) != BF_OK)
        status = cli_complain(&diagnostic);
    }
    bf_text_free(&name);
  }
  return cli_gate_finish(gate, &found, status);
}
