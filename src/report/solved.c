/* Answers of searches as text and JSON, each with its bound and the gap to it. */
#include "report/solved.h"

#include <string.h>

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

/* What is not known: the share of the conflicts left that no bound forbids to remove. */
static double gap(uint64_t after, uint64_t lower) {
  return after ? (double)(after - lower) / (double)after : 0;
}

static double removed(uint64_t before, uint64_t after) {
  return before ? 1 - (double)after / (double)before : 0;
}

/* Whether numbers are those of a part of the accesses alone. */
static void write_kept(bf_json *json, const bf_loaded_cases *cases) {
  bf_json_real(json, "read", cases->read);
  bf_json_real(json, "kept", cases->kept);
}

static void tell_kept(const bf_loaded_cases *cases, bf_text *text) {
  if (cases->kept < 1)
    bf_text_addf(text,
                 "All numbers are those of 1 in %.0f of the different accesses, which are too many "
                 "to keep.\n",
                 1 / cases->kept);
  if (cases->read == 0)
    bf_text_puts(text, "All numbers are those of what was read before Ctrl-C.\n");
  else if (cases->read < 1)
    bf_text_addf(text,
                 "All numbers are those of what was read before half of the time limit or Ctrl-C: "
                 "%.1f%% of %s.\n",
                 100 * cases->read, cases->workloads > 1 ? "a trace" : "the trace");
}

static void write_cases(bf_json *json, const bf_loaded_cases *cases) {
  write_kept(json, cases);
  bf_json_real(json, "counted", cases->counted);
  bf_json_begin(json, "cases", '[', false);
  for (size_t i = 0; cases->count > 1 && i < cases->count; i++) {
    bf_json_begin(json, NULL, '{', true);
    bf_json_string(json, "file", cases->result[i].file);
    bf_json_string(json, "machine", cases->result[i].machine);
    bf_json_number(json, "conflicts_before", cases->result[i].before);
    bf_json_number(json, "conflicts_after", cases->result[i].after);
    bf_json_end(json, '}');
  }
  bf_json_end(json, ']');
}

/* "pad:32+1", or "none". */
static void name_padding(const bf_joint *joint, char name[64]) {
  if (joint->pad_words)
    snprintf(name, 64, "pad:%llu+%llu", (unsigned long long)joint->row_words,
             (unsigned long long)joint->pad_words);
  else
    snprintf(name, 64, "none");
}

static void write_joint(bf_json *json, const bf_joint *joint) {
  char name[64];
  name_padding(joint, name);
  bf_json_begin(json, "joint", '{', true);
  bf_json_string(json, "padding", name);
  bf_json_number(json, "base_bytes", joint->base_bytes);
  bf_json_number(json, "tried", joint->tried);
  bf_json_number(json, "of", joint->all);
  bf_json_end(json, '}');
}

void bf_report_solution_json(const char *method, const bf_solution *solution, const bf_joint *joint,
                             const bf_loaded_cases *cases, bf_text *text) {
  bf_json json = {.text = text};
  bool linear = solution->hash->kind == BF_HASH_LINEAR;
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "method", method);
  bf_json_string(&json, "hash", bf_hash_text(solution->hash));
  if (solution->chosen_count)
    write_bits(&json, solution->chosen, solution->chosen_count);
  else
    write_bits(&json, solution->hash->forward.row, linear ? solution->hash->geometry.bank_bits : 0);
  bf_json_number(&json, "conflicts_before", solution->conflicts_before);
  bf_json_number(&json, "conflicts_after", solution->conflicts_after);
  bf_json_real(&json, "removed", removed(solution->conflicts_before, solution->conflicts_after));
  bf_json_number(&json, "lower_bound", solution->lower_bound);
  bf_json_real(&json, "gap", gap(solution->conflicts_after, solution->lower_bound));
  bf_json_bool(&json, "proven", solution->proven);
  write_cost(&json, solution->hash, solution->bytes_wasted);
  if (joint)
    write_joint(&json, joint);
  if (solution->candidates_total) {
    bf_json_begin(&json, "candidates", '{', true);
    bf_json_number(&json, "tested", solution->candidates_tested);
    bf_json_number(&json, "of", solution->candidates_total);
    bf_json_end(&json, '}');
  }
  bf_json_real(&json, "seconds", solution->seconds);
  write_cases(&json, cases);
  bf_json_begin(&json, "ladder", '[', true);
  bf_json_end(&json, ']');
  bf_json_end(&json, '}');
}

void bf_report_arrays_json(const bf_arrays *arrays, const bf_loaded_cases *cases, bf_text *text) {
  bf_json json = {.text = text};
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "method", "exact");
  bf_json_number(&json, "conflicts_before", arrays->conflicts_before);
  bf_json_number(&json, "conflicts_after", arrays->conflicts_after);
  bf_json_real(&json, "removed", removed(arrays->conflicts_before, arrays->conflicts_after));
  bf_json_number(&json, "lower_bound", arrays->lower_bound);
  bf_json_real(&json, "gap", gap(arrays->conflicts_after, arrays->lower_bound));
  bf_json_bool(&json, "proven", arrays->proven);
  bf_json_real(&json, "seconds", arrays->seconds);
  write_kept(&json, cases);
  bf_json_real(&json, "counted", arrays->counted);
  bf_json_begin(&json, "arrays", '[', false);
  for (unsigned i = 0; i < arrays->count; i++) {
    const bf_array_solution *own = &arrays->item[i];
    const bf_solution *solution = &own->solution;
    bf_json_begin(&json, NULL, '{', true);
    bf_json_number(&json, "begin_bytes", own->begin_bytes);
    bf_json_number(&json, "accesses", own->accesses);
    bf_json_string(&json, "hash", bf_hash_text(solution->hash));
    bf_json_number(&json, "conflicts_before", solution->conflicts_before);
    bf_json_number(&json, "conflicts_after", solution->conflicts_after);
    bf_json_number(&json, "lower_bound", solution->lower_bound);
    bf_json_bool(&json, "proven", solution->proven);
    write_cost(&json, solution->hash, solution->bytes_wasted);
    bf_json_end(&json, '}');
  }
  bf_json_end(&json, ']');
  bf_json_end(&json, '}');
}

/* Padding may leave less than any XOR hash, of which the bound speaks. */
static double ladder_gap(const bf_ladder *ladder, const bf_ladder_step *step) {
  return step->conflicts < ladder->lower_bound ? 0 : gap(step->conflicts, ladder->lower_bound);
}

int bf_report_ladder_json(const bf_ladder *ladder, const bf_loaded_cases *cases, bf_text *text,
                          bf_diagnostic *diagnostic) {
  const bf_ladder_step *chosen = &ladder->step[ladder->recommended];
  bf_hash *hash;
  bf_geometry geometry = bf_machine_geometry(cases->machine[0]);
  BF_TRY(bf_hash_parse(chosen->hash, &geometry, &hash, diagnostic));
  bf_json json = {.text = text};
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "method", "ladder");
  bf_json_string(&json, "hash", chosen->hash);
  write_bits(&json, hash->forward.row, hash->kind == BF_HASH_LINEAR ? hash->geometry.bank_bits : 0);
  bf_json_number(&json, "conflicts_before", ladder->conflicts_before);
  bf_json_number(&json, "conflicts_after", chosen->conflicts);
  bf_json_real(&json, "removed", removed(ladder->conflicts_before, chosen->conflicts));
  bf_json_number(&json, "lower_bound", ladder->lower_bound);
  bf_json_real(&json, "gap", ladder_gap(ladder, chosen));
  bf_json_bool(&json, "proven", chosen->conflicts == ladder->lower_bound && chosen->proven);
  write_cost(&json, hash, chosen->bytes_wasted);
  bf_json_real(&json, "seconds", ladder->seconds);
  bf_json_number(&json, "granule", ladder->granule_bytes);
  bf_json_string(&json, "recommended", chosen->name);
  bf_json_string(&json, "reason", ladder->reason);
  write_cases(&json, cases);
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

static void add_joint(const bf_joint *joint, bf_text *text) {
  char name[64];
  name_padding(joint, name);
  bf_text_addf(text, "data: padding %s, beginning %llu bytes later; %u of %u ways were tried\n",
               name, (unsigned long long)joint->base_bytes, joint->tried, joint->all);
}

void bf_report_solution_text(const char *method, const bf_solution *solution, const bf_joint *joint,
                             bf_text *text) {
  bf_text_addf(text, "%s: %s\n", method, bf_hash_text(solution->hash));
  if (joint)
    add_joint(joint, text);
  bf_text_addf(text, "conflicts: %llu -> %llu (%.1f%% removed)",
               (unsigned long long)solution->conflicts_before,
               (unsigned long long)solution->conflicts_after,
               100 * removed(solution->conflicts_before, solution->conflicts_after));
  if (solution->proven)
    bf_text_puts(text, ", proven: no hash of the class leaves fewer\n");
  else
    bf_text_addf(text, ", not proven: no hash of the class leaves fewer than %llu (gap %.1f%%)\n",
                 (unsigned long long)solution->lower_bound,
                 100 * gap(solution->conflicts_after, solution->lower_bound));
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

void bf_report_arrays_text(const bf_arrays *arrays, const bf_loaded_cases *cases, bf_text *text) {
  bf_text_addf(text, "%10s %12s %12s %12s %12s  %s\n", "array at", "accesses", "before", "after",
               "at least", "hash of the offset");
  for (unsigned i = 0; i < arrays->count; i++) {
    const bf_array_solution *own = &arrays->item[i];
    bf_text_addf(text, "%10llu %12llu %12llu %12llu %12llu  %s\n",
                 (unsigned long long)own->begin_bytes, (unsigned long long)own->accesses,
                 (unsigned long long)own->solution.conflicts_before,
                 (unsigned long long)own->solution.conflicts_after,
                 (unsigned long long)own->solution.lower_bound, bf_hash_text(own->solution.hash));
  }
  bf_text_addf(text, "conflicts: %llu -> %llu (%.1f%% removed), %s\n",
               (unsigned long long)arrays->conflicts_before,
               (unsigned long long)arrays->conflicts_after,
               100 * removed(arrays->conflicts_before, arrays->conflicts_after),
               arrays->proven ? "proven: no hashes of the class leave fewer" : "not proven");
  tell_kept(cases, text);
  if (arrays->counted < 1)
    bf_text_addf(text, "Conflicts are estimated from %.1f%% of the accesses of an array.\n",
                 100 * arrays->counted);
  bf_text_addf(text, "time: %.3f s\n", arrays->seconds);
}

void bf_report_cases_text(const bf_loaded_cases *cases, bf_text *text) {
  tell_kept(cases, text);
  if (cases->counted < 1)
    bf_text_addf(text,
                 "Conflicts are estimated from %.1f%% of the accesses: the time limit is too short "
                 "to count all.\n",
                 100 * cases->counted);
  if (cases->count < 2)
    return;
  bf_text_addf(text, "\n%-12s %12s %12s %9s  %s\n", "machine", "before", "after", "removed",
               "trace");
  for (size_t i = 0; i < cases->count; i++) {
    const bf_case_result *own = &cases->result[i];
    bf_text_addf(text, "%-12s %12llu %12llu %8.1f%%  %s\n", own->machine,
                 (unsigned long long)own->before, (unsigned long long)own->after,
                 100 * removed(own->before, own->after), own->file);
  }
}

void bf_report_ladder_text(const bf_ladder *ladder, bool color, bf_text *text) {
  bf_text_addf(text, "%-12s %12s %9s %12s %12s %5s %6s  %s\n", "step", "conflicts", "removed",
               "bytes unused", "instructions", "gates", "delays", "hash");
  for (unsigned i = 0; i < ladder->count; i++) {
    const bf_ladder_step *step = &ladder->step[i];
    bool chosen = i == ladder->recommended;
    bf_text_addf(text, "%s%-12s %12llu %8.1f%% %12llu %12u %5u %6u  %s%s%s\n",
                 color && chosen ? "\033[1;32m" : "", step->name,
                 (unsigned long long)step->conflicts,
                 100 * removed(ladder->conflicts_before, step->conflicts),
                 (unsigned long long)step->bytes_wasted, step->instructions, step->gates,
                 step->gate_delays, step->hash,
                 i + 1 == ladder->count && step->proven && step->conflicts == ladder->lower_bound
                     ? "  (proven minimum)"
                     : "",
                 color && chosen ? "\033[0m" : "");
  }
  const bf_ladder_step *best = &ladder->step[ladder->recommended];
  if (ladder->granule_bytes > 4)
    bf_text_addf(text, "\nEvery step keeps %u bytes together (--granule 4 allows more).\n",
                 ladder->granule_bytes);
  const bf_ladder_step *last = &ladder->step[ladder->count - 1];
  if (!last->proven && ladder->lower_bound < last->conflicts && strcmp(last->name, "padding") != 0)
    bf_text_addf(text, "\nNo XOR hash leaves fewer than %llu (gap %.1f%%).\n",
                 (unsigned long long)ladder->lower_bound, 100 * ladder_gap(ladder, last));
  bf_text_addf(text, "\nrecommended: %s%s%s%s - %s\n",
               ladder->recommended ? best->name : "do nothing", ladder->recommended ? " (" : "",
               ladder->recommended ? best->hash : "", ladder->recommended ? ")" : "",
               ladder->reason);
}
