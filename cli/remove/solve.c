/* solve: finds a hash, or walks the whole ladder of fixes. */
#include "cli/cli.h"
#include "cli/progress.h"
#include "search/ladder.h"

#include <stdlib.h>
#include <string.h>

typedef struct settings {
  cli_common common;
  const char *from, *method, *class_, *granule;
  bool pairs, all_candidates;
  const char *time_limit;
  uint64_t threads;
} settings;

static const cli_option options[] = {
    CLI_COMMON(settings),
    CLI_FROM(settings),
    {"method", CLI_TEXT, offsetof(settings, method), "METHOD",
     "ladder bit-vector givargis givargis-literal min-imbalance padding exact",
     "how to search (default ladder: all of them, with a recommendation)"},
    {"pairs", CLI_FLAG, offsetof(settings, pairs), NULL, NULL,
     "givargis (and -literal), min-imbalance: choose among XORs of two bits too"},
    {"class", CLI_TEXT, offsetof(settings, class_), "CLASS", "general row cute one-term two-term",
     "the hashes that exact searches (default general: all of them)"},
    {"granule", CLI_TEXT, offsetof(settings, granule), "BYTES", "4 8 16",
     "bytes that must stay together (default 4; in the ladder, the widest access)"},
    {"time-limit", CLI_TEXT, offsetof(settings, time_limit), "SECONDS", NULL,
     "exact: stop after this long with the best so far (default 10; 0 = no limit)"},
    {"all-candidates", CLI_FLAG, offsetof(settings, all_candidates), NULL, NULL,
     "bit-vector: try every candidate, also where strides rule them out"},
    {"threads", CLI_NUMBER, offsetof(settings, threads), "N", NULL,
     "threads to use (default one per core)"},
};

static const struct {
  const char *name;
  bf_method method;
} methods[] = {
    {"bit-vector", BF_METHOD_BIT_VECTOR},
    {"givargis", BF_METHOD_GIVARGIS},
    {"givargis-literal", BF_METHOD_GIVARGIS_LITERAL},
    {"min-imbalance", BF_METHOD_MIN_IMBALANCE},
    {"padding", BF_METHOD_PADDING},
    {"exact", BF_METHOD_EXACT},
};

static const char *const class_names[] = {"general", "row", "cute", "one-term", "two-term"};

/* ---- JSON ---- */

/* Single bits as numbers, XORs of several as "1^5". */
static void write_bits(bf_json *json, const uint64_t *row, unsigned count) {
  bf_json_begin(json, "bits", '[', true);
  for (unsigned i = 0; i < count; i++) {
    if ((row[i] & (row[i] - 1)) == 0) {
      bf_json_number(json, NULL, (uint64_t)__builtin_ctzll(row[i]));
      continue;
    }
    bf_text name = {0};
    for (uint64_t left = row[i]; left; left &= left - 1)
      bf_text_addf(&name, "%s%d", left == row[i] ? "" : "^", __builtin_ctzll(left));
    bf_json_string(json, NULL, name.data);
    bf_text_free(&name);
  }
  bf_json_end(json, ']');
}

static void write_cost(bf_json *json, const bf_hash *hash, uint64_t bytes_wasted) {
  bf_hash_cost cost = bf_hash_get_cost(hash);
  bf_json_begin(json, "cost", '{', true);
  bf_json_number(json, "xor_inputs", cost.xor_inputs);
  bf_json_number(json, "instructions", cost.instructions);
  bf_json_number(json, "gate_depth", cost.gate_depth);
  bf_json_number(json, "gates", cost.gates);
  bf_json_number(json, "bytes_wasted", bytes_wasted);
  bf_json_end(json, '}');
}

static double removed(uint64_t before, uint64_t after) {
  return before ? 1 - (double)after / (double)before : 0;
}

static void write_solution_json(const settings *own, const bf_solution *solution, bf_text *text) {
  bf_json json = {.text = text};
  bool linear = solution->hash->kind == BF_HASH_LINEAR;
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "method", own->method);
  bf_json_string(&json, "hash", bf_hash_text(solution->hash));
  if (solution->chosen_count)
    write_bits(&json, solution->chosen, solution->chosen_count);
  else
    write_bits(&json, solution->hash->forward.row, linear ? solution->hash->geometry.bank_bits : 0);
  bf_json_number(&json, "conflicts_before", solution->conflicts_before);
  bf_json_number(&json, "conflicts_after", solution->conflicts_after);
  bf_json_real(&json, "removed", removed(solution->conflicts_before, solution->conflicts_after));
  bf_json_number(&json, "lower_bound", solution->lower_bound);
  bf_json_bool(&json, "proven", solution->proven);
  write_cost(&json, solution->hash, solution->bytes_wasted);
  if (solution->candidates_total) {
    bf_json_begin(&json, "candidates", '{', true);
    bf_json_number(&json, "tested", solution->candidates_tested);
    bf_json_number(&json, "of", solution->candidates_total);
    bf_json_end(&json, '}');
  }
  bf_json_real(&json, "seconds", solution->seconds);
  bf_json_begin(&json, "ladder", '[', true);
  bf_json_end(&json, ']');
  bf_json_end(&json, '}');
}

static int write_ladder_json(const bf_machine *machine, const bf_ladder *ladder, bf_text *text,
                             bf_diagnostic *diagnostic) {
  const bf_ladder_step *chosen = &ladder->step[ladder->recommended];
  bf_hash *hash;
  BF_TRY(cli_load_hash(chosen->hash, machine, &hash, diagnostic));
  bf_json json = {.text = text};
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "method", "ladder");
  bf_json_string(&json, "hash", chosen->hash);
  write_bits(&json, hash->forward.row, hash->kind == BF_HASH_LINEAR ? hash->geometry.bank_bits : 0);
  bf_json_number(&json, "conflicts_before", ladder->conflicts_before);
  bf_json_number(&json, "conflicts_after", chosen->conflicts);
  bf_json_real(&json, "removed", removed(ladder->conflicts_before, chosen->conflicts));
  bf_json_number(&json, "lower_bound", ladder->lower_bound);
  bf_json_bool(&json, "proven", chosen->conflicts == ladder->lower_bound && chosen->proven);
  write_cost(&json, hash, chosen->bytes_wasted);
  bf_json_real(&json, "seconds", ladder->seconds);
  bf_json_number(&json, "granule", ladder->granule_bytes);
  bf_json_string(&json, "recommended", chosen->name);
  bf_json_string(&json, "reason", ladder->reason);
  bf_json_begin(&json, "ladder", '[', false);
  for (unsigned i = 0; i < ladder->count; i++) {
    const bf_ladder_step *step = &ladder->step[i];
    bf_json_begin(&json, NULL, '{', true);
    bf_json_string(&json, "name", step->name);
    bf_json_string(&json, "hash", step->hash);
    bf_json_number(&json, "conflicts", step->conflicts);
    bf_json_number(&json, "bytes_wasted", step->bytes_wasted);
    bf_json_number(&json, "instructions", step->instructions);
    bf_json_number(&json, "gates", step->gates);
    bf_json_number(&json, "gate_delays", step->gate_delays);
    bf_json_bool(&json, "proven", step->proven);
    bf_json_end(&json, '}');
  }
  bf_json_end(&json, ']');
  bf_json_end(&json, '}');
  bf_hash_free(hash);
  return BF_OK;
}

/* ---- Text ---- */

static void write_solution_text(const settings *own, const bf_solution *solution, bf_text *text) {
  bf_text_addf(text, "%s: %s\n", own->method, bf_hash_text(solution->hash));
  bf_text_addf(text, "conflicts: %llu -> %llu (%.1f%% removed)",
               (unsigned long long)solution->conflicts_before,
               (unsigned long long)solution->conflicts_after,
               100 * removed(solution->conflicts_before, solution->conflicts_after));
  if (solution->proven)
    bf_text_puts(text, ", proven: no hash of the class leaves fewer\n");
  else if (strcmp(own->method, "exact") == 0)
    bf_text_addf(text, ", not proven: no hash of the class leaves fewer than %llu\n",
                 (unsigned long long)solution->lower_bound);
  else
    bf_text_puts(text, "\n");
  bf_hash_sharing sharing;
  if (bf_hash_find_sharing(solution->hash, &sharing))
    bf_text_addf(text,
                 "bank bits depend on each other (rank %u): words share places, as %llu and %llu; "
                 "of no use but for counting\n",
                 sharing.rank, (unsigned long long)sharing.word[0],
                 (unsigned long long)sharing.word[1]);
  bf_text_addf(text, "cost: %u XOR inputs, %u gate levels, %u instructions per address",
               solution->cost.xor_inputs, solution->cost.gate_depth, solution->cost.instructions);
  if (solution->bytes_wasted)
    bf_text_addf(text, ", %llu bytes unused", (unsigned long long)solution->bytes_wasted);
  bf_text_puts(text, "\n");
  if (solution->candidates_total)
    bf_text_addf(text, "candidates: %llu tested of %llu\n",
                 (unsigned long long)solution->candidates_tested,
                 (unsigned long long)solution->candidates_total);
  bf_text_addf(text, "time: %.3f s\n", solution->seconds);
}

static void write_ladder_text(const bf_ladder *ladder, bool color, bf_text *text) {
  bf_text_addf(text, "%-12s %12s %9s %12s %12s %5s %6s  %s\n", "step", "conflicts", "removed",
               "bytes unused", "instructions", "gates", "delays", "hash");
  for (unsigned i = 0; i < ladder->count; i++) {
    const bf_ladder_step *step = &ladder->step[i];
    bool chosen = i == ladder->recommended;
    bf_text_addf(
        text, "%s%-12s %12llu %8.1f%% %12llu %12u %5u %6u  %s%s%s\n",
        color && chosen ? "\033[1;32m" : "", step->name, (unsigned long long)step->conflicts,
        100 * removed(ladder->conflicts_before, step->conflicts),
        (unsigned long long)step->bytes_wasted, step->instructions, step->gates, step->gate_delays,
        step->hash, i + 1 == ladder->count && step->proven ? "  (proven minimum)" : "",
        color && chosen ? "\033[0m" : "");
  }
  const bf_ladder_step *best = &ladder->step[ladder->recommended];
  if (ladder->granule_bytes > 4)
    bf_text_addf(text, "\nEvery step keeps %u bytes together (--granule 4 allows more).\n",
                 ladder->granule_bytes);
  bf_text_addf(text, "\nrecommended: %s%s%s%s - %s\n",
               ladder->recommended ? best->name : "do nothing", ladder->recommended ? " (" : "",
               ladder->recommended ? best->hash : "", ladder->recommended ? ")" : "",
               ladder->reason);
}

/* ---- Running ---- */

static int fill_options(const settings *own, bf_solve_options *to, cli_progress *progress) {
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
    if (strcmp(own->method, methods[i].name) == 0)
      to->method = methods[i].method;
  for (size_t i = 0; own->class_ && i < sizeof class_names / sizeof *class_names; i++)
    if (strcmp(own->class_, class_names[i]) == 0)
      to->class_ = (bf_class)i;
  if (own->class_ && strcmp(own->method, "exact") != 0)
    return cli_usage_error(&cli_solve, "--class goes with --method exact");
  if (own->granule)
    to->granule_bytes = own->granule[0] == '1' ? 16 : (unsigned)(own->granule[0] - '0');
  to->pairs = own->pairs;
  to->all_candidates = own->all_candidates;
  to->time_limit_seconds = 10;
  int status = cli_seconds(&cli_solve, "time-limit", own->time_limit, &to->time_limit_seconds);
  if (status >= 0)
    return status;
  if (own->threads > 1024)
    return cli_usage_error(&cli_solve, "--threads takes at most 1024");
  to->threads = (unsigned)own->threads;
  to->progress = cli_progress_step;
  to->progress_context = progress;
  return -1;
}

static int solve_ladder(const settings *own, const bf_machine *machine, const bf_workload *workload,
                        const bf_solve_options *to, const bf_search_watch *watch, bf_text *text,
                        bf_diagnostic *diagnostic) {
  bf_ladder ladder;
  BF_TRY(bf_solve_ladder_watched(machine, workload, to, watch, &ladder, diagnostic));
  if (own->common.json)
    return write_ladder_json(machine, &ladder, text, diagnostic);
  write_ladder_text(&ladder, cli_wants_color(&own->common), text);
  return BF_OK;
}

static int solve_one(const settings *own, const bf_machine *machine, const bf_workload *workload,
                     const bf_solve_options *to, const bf_search_watch *watch, bf_text *text,
                     bf_diagnostic *diagnostic) {
  bf_solution solution;
  BF_TRY(bf_solve_watched(machine, workload, to, watch, &solution, diagnostic));
  if (own->common.json)
    write_solution_json(own, &solution, text);
  else
    write_solution_text(own, &solution, text);
  bf_solution_clear(&solution);
  return BF_OK;
}

static int solve(const void *given, int count, char **arguments) {
  settings own = *(const settings *)given;
  (void)count;
  if (!own.method)
    own.method = own.class_ ? "exact" : "ladder";
  bool ladder = strcmp(own.method, "ladder") == 0;
  bf_solve_options to = {.struct_bytes = sizeof to, .method = BF_METHOD_EXACT};
  cli_progress progress;
  int status = fill_options(&own, &to, &progress);
  if (status >= 0)
    return status;
  bf_diagnostic diagnostic = {.caret = -1};
  bf_machine *machine = NULL;
  bf_workload *workload = NULL;
  bf_text text = {0};
  int error = cli_load_machine(&own.common, &machine, &diagnostic);
  if (!error)
    error = bf_workload_read_form(arguments[0], cli_trace_form(own.from), machine, &workload,
                                  &diagnostic);
  if (!error) {
    cli_progress_begin(&progress, to.time_limit_seconds);
    cli_block_bar bar = cli_block_bar_begin(NULL);
    bf_search_watch watch = {cli_block_bar_tell, &bar, own.method};
    bar.unit = NULL;
    error = ladder ? solve_ladder(&own, machine, workload, &to, &watch, &text, &diagnostic)
                   : solve_one(&own, machine, workload, &to, &watch, &text, &diagnostic);
    cli_progress_end(&progress);
    cli_block_bar_end(&bar);
  }
  bf_workload_free(workload);
  bf_machine_free(machine);
  if (error) {
    bf_text_free(&text);
    return cli_complain(&diagnostic);
  }
  return cli_print(&text);
}

const cli_command cli_solve = {
    .name = "solve",
    .summary = "find the hash that removes the most conflicts",
    .arguments = "FILE",
    .details = "Without --method, walks the ladder of fixes - nothing, padding, a CuTe swizzle, "
               "bit-vector and\nbitwise hashes, and the provably best hash - and recommends one, "
               "or recommends doing nothing.\nThe exact search gives bounds and says whether they "
               "meet; Ctrl-C takes the best so far.",
    .examples =
        "bankfold solve kernel.trace\n"
        "bankfold solve kernel.trace --method exact --class row --json\n"
        "bankfold solve kernel.trace --method exact --granule 16   # keep 16-byte accesses\n"
        "bankfold solve kernel.trace --method min-imbalance --pairs --machine fermi\n"
        "bankfold solve kernel.trace --method givargis-literal --pairs   # as published",
    CLI_OPTIONS(options, settings),
    .least_arguments = 1,
    .most_arguments = 1,
    .run = solve,
};
