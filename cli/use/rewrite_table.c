/* Results of rewrite in text and JSON. */
#include "cli/use/rewrite_table.h"

#include <string.h>

/* ---- Table ---- */

static void write_prediction(const bf_plan *plan, bf_text *text) {
  char wavefronts[64];
  const bf_evidence *before = &plan->comparison.before, *after = &plan->comparison.after;
  if (!plan->has_comparison) {
    bf_text_addf(text, "  %24s %11s %8s", "-", "-", "-");
    return;
  }
  snprintf(wavefronts, sizeof wavefronts, "%llu -> %llu", (unsigned long long)before->wavefronts,
           (unsigned long long)after->wavefronts);
  bf_text_addf(text, "  %24s %11.0f", wavefronts, bf_judge_gain(&plan->comparison));
  if (after->cycles)
    bf_text_addf(text, " %8.2f", (double)before->cycles / (double)after->cycles);
  else if (after->predicted_cycles > 0)
    bf_text_addf(text, " %8.2f", before->predicted_cycles / after->predicted_cycles);
  else
    bf_text_addf(text, " %8s", "-");
}

static void write_bytes(const bf_rewrite_kernel *kernel, bf_text *text) {
  char bytes[64];
  if (!kernel->is_rewritten || kernel->padded_bytes == kernel->shared_bytes)
    snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)kernel->shared_bytes);
  else
    snprintf(bytes, sizeof bytes, "%llu -> %llu", (unsigned long long)kernel->shared_bytes,
             (unsigned long long)kernel->padded_bytes);
  bf_text_addf(text, " %16s", bytes);
}

/* Whether arrays of the kernel have different hashes. */
static bool is_by_array(const bf_rewrite_kernel *kernel) {
  for (unsigned i = 1; i < kernel->arrays; i++) {
    const char *a = kernel->array[0].hash, *b = kernel->array[i].hash;
    if (!a != !b || (a && strcmp(a, b) != 0))
      return true;
  }
  return false;
}

/* The hash of a kernel, or of each array. */
static void write_hash(const bf_rewrite_kernel *kernel, bf_text *text) {
  if (!is_by_array(kernel)) {
    bf_text_puts(text,
                 kernel->arrays && kernel->array[0].hash ? kernel->array[0].hash : kernel->hash);
    return;
  }
  for (unsigned i = 0; i < kernel->arrays; i++) {
    bf_text_puts(text, i ? ", " : "");
    bf_ptx_readable_name(kernel->array[i].name, text);
    bf_text_addf(text, " %s", kernel->array[i].hash ? kernel->array[i].hash : "none");
  }
}

static void write_row(const bf_plan *plan, const bf_rewrite_kernel *kernel, bool color,
                      bf_text *text) {
  bf_text_addf(text, "%7u %8u %6u %6u", kernel->granule_bytes, kernel->accesses, kernel->hashed,
               kernel->added_instructions);
  write_bytes(kernel, text);
  write_prediction(plan, text);
  bf_text_puts(text, color && kernel->is_rewritten ? "  \033[1;32m" : "  ");
  bf_ptx_readable_name(kernel->name, text);
  if (kernel->is_rewritten) {
    bf_text_puts(text, ": ");
    write_hash(kernel, text);
    bf_text_addf(text, "%s\n", color ? "\033[0m" : "");
  } else {
    bf_text_puts(text, ": left alone: ");
    bf_plan_explain(plan, kernel, text);
    bf_text_puts(text, "\n");
  }
}

void cli_rewrite_table_write_text(const cli_rewrite_table *r, bool color, bf_text *text) {
  bf_text_addf(text, "%7s %8s %6s %6s %16s  %24s %11s %8s  %s\n", "granule", "accesses", "hashed",
               "added", "shared bytes", "predicted wavefronts", "gain", "speed-up", "kernel");
  for (unsigned i = 0; i < r->result->kernels; i++)
    if (r->plans->plan[i].is_asked)
      write_row(&r->plans->plan[i], &r->result->kernel[i], color, text);
  if (r->checked)
    bf_text_addf(text, "checked: %llu bytes of memory are equal after %llu launch%s\n",
                 (unsigned long long)r->checked->memory_bytes,
                 (unsigned long long)r->checked->launches, r->checked->launches == 1 ? "" : "es");
}

/* ---- What stands in the way ---- */

/* The arrays of a kernel that has several. */
static void explain_arrays(const bf_rewrite_kernel *kernel, bf_text *text) {
  if (kernel->arrays < 2 || !kernel->accesses)
    return;
  bf_text_puts(text, "  arrays:");
  for (unsigned i = 0; i < kernel->arrays; i++) {
    bf_text_puts(text, i ? ", " : " ");
    bf_ptx_readable_name(kernel->array[i].name, text);
    bf_text_addf(text, " (%u)", kernel->array[i].accesses);
  }
  bf_text_puts(text, kernel->knows_arrays
                         ? "; they can have hashes of their own\n"
                         : "; one hash for all: some accesses are not known to be to one array\n");
}

/* What auto does about a kernel, from its PTX. */
static void explain_choice(const bf_plans *plans, const bf_plan *plan, bf_text *text) {
  const bf_rewrite_kernel *kernel = bf_plan_examined(plans, plan);
  if (!bf_plan_is_open(plans, plan))
    return;
  bf_text_puts(text, "  auto: ");
  if (!bf_plan_has_hash(plans, plan)) {
    bf_text_addf(text, "left alone: %s\n", plan->reason);
    return;
  }
  bf_text_puts(text, plan->is_by_array ? "" : bf_hash_text(plan->hash));
  for (unsigned i = 0, listed = 0; plan->is_by_array && i < kernel->arrays; i++) {
    bf_text_puts(text, listed++ ? ", " : "");
    bf_ptx_readable_name(kernel->array[i].name, text);
    bf_text_addf(text, " %s", plan->array_hash[i] ? bf_hash_text(plan->array_hash[i]) : "none");
  }
  bf_text_puts(text, ": ");
  bf_judge_explain(&plan->comparison, text);
  if (plan->comparison.after.least_blocks > 1)
    bf_text_addf(text, "; from grids of %llu blocks on",
                 (unsigned long long)plan->comparison.after.least_blocks);
  bf_text_puts(text, "\n");
}

void cli_rewrite_table_explain(const cli_rewrite_table *r, bf_text *text) {
  const bf_rewrite_result *examined = &r->plans->examined;
  for (unsigned i = 0; i < examined->kernels; i++) {
    const bf_rewrite_kernel *kernel = &examined->kernel[i];
    if (!r->plans->plan[i].is_asked)
      continue;
    bf_ptx_readable_name(kernel->name, text);
    if (kernel->obstacles)
      bf_text_puts(text, ": cannot be rewritten\n");
    else if (!kernel->accesses)
      bf_text_puts(text, ": no accesses to shared memory\n");
    else
      bf_text_addf(text, ": can be rewritten; %u access%s, granule %u bytes\n", kernel->accesses,
                   kernel->accesses == 1 ? "" : "es", kernel->granule_bytes);
    explain_arrays(kernel, text);
    explain_choice(r->plans, &r->plans->plan[i], text);
    for (unsigned j = 0; j < kernel->obstacles; j++) {
      bf_text_addf(text, "  %s:", r->file);
      if (kernel->obstacle[j].line)
        bf_text_addf(text, "%llu:", (unsigned long long)kernel->obstacle[j].line);
      bf_text_addf(text, " %s\n", kernel->obstacle[j].text);
    }
  }
}

/* ---- JSON ---- */

static void write_obstacles(bf_json *json, const bf_rewrite_kernel *kernel) {
  bf_json_begin(json, "obstacles", '[', kernel->obstacles == 0);
  for (unsigned i = 0; i < kernel->obstacles; i++) {
    bf_json_begin(json, NULL, '{', true);
    if (kernel->obstacle[i].line)
      bf_json_number(json, "line", kernel->obstacle[i].line);
    else
      bf_json_string(json, "line", NULL);
    bf_json_string(json, "text", kernel->obstacle[i].text);
    bf_json_end(json, '}');
  }
  bf_json_end(json, ']');
}

static void write_arrays(bf_json *json, const bf_rewrite_kernel *kernel) {
  bf_json_begin(json, "arrays", '[', kernel->arrays == 0);
  for (unsigned i = 0; i < kernel->arrays; i++) {
    bf_json_begin(json, NULL, '{', true);
    bf_json_string(json, "name", kernel->array[i].name);
    bf_json_string(json, "hash", kernel->is_rewritten ? kernel->array[i].hash : NULL);
    bf_json_number(json, "accesses", kernel->array[i].accesses);
    bf_json_number(json, "granule_bytes", kernel->array[i].granule_bytes);
    bf_json_end(json, '}');
  }
  bf_json_end(json, ']');
}

static void write_predicted(bf_json *json, const bf_plan *plan) {
  const bf_evidence *before = &plan->comparison.before, *after = &plan->comparison.after;
  if (!plan->has_comparison) {
    bf_json_string(json, "predicted", NULL);
    return;
  }
  bf_json_begin(json, "predicted", '{', true);
  bf_json_number(json, "wavefronts_before", before->wavefronts);
  bf_json_number(json, "wavefronts_after", after->wavefronts);
  bf_json_integer(json, "added_instructions", after->instructions - before->instructions);
  bf_json_real(json, "gain", bf_judge_gain(&plan->comparison));
  if (after->cycles) {
    bf_json_number(json, "cycles_before", before->cycles);
    bf_json_number(json, "cycles_after", after->cycles);
  }
  if (after->predicted_cycles > 0) {
    bf_json_real(json, "share", bf_judge_share(&plan->comparison));
    bf_json_real(json, "error", bf_judge_noise(&plan->comparison));
    bf_json_number(json, "least_blocks", plan->comparison.after.least_blocks);
  }
  bf_json_end(json, '}');
}

/* Why it was left alone; null where it was not, or was only examined and can be rewritten. */
static void write_reason(bf_json *json, const cli_rewrite_table *r, const bf_plan *plan,
                         const bf_rewrite_kernel *kernel) {
  bf_text reason = {0};
  if (!kernel->is_rewritten && (r->result || kernel->obstacles || plan->reason[0]))
    bf_plan_explain(plan, kernel, &reason);
  bf_json_string(json, "reason", reason.data);
  bf_text_free(&reason);
}

static void write_kernel(bf_json *json, const cli_rewrite_table *r, unsigned index) {
  const bf_plan *plan = &r->plans->plan[index];
  const bf_rewrite_kernel *kernel =
      r->result ? &r->result->kernel[index] : &r->plans->examined.kernel[index];
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "name", kernel->name);
  bf_json_bool(json, "rewritten", kernel->is_rewritten);
  bf_json_string(json, "hash", kernel->is_rewritten ? kernel->hash : NULL);
  write_reason(json, r, plan, kernel);
  bf_json_number(json, "granule_bytes", kernel->granule_bytes);
  bf_json_number(json, "accesses", kernel->accesses);
  bf_json_number(json, "hashed", kernel->hashed);
  bf_json_number(json, "exempt", kernel->exempt);
  bf_json_number(json, "added_instructions", kernel->added_instructions);
  bf_json_number(json, "shared_bytes", kernel->shared_bytes);
  bf_json_number(json, "padded_bytes", kernel->padded_bytes);
  bf_json_bool(json, "dynamic_shared", kernel->has_dynamic_shared);
  bf_json_bool(json, "arrays_known", kernel->knows_arrays);
  write_arrays(json, kernel);
  write_obstacles(json, kernel);
  write_predicted(json, plan);
  bf_json_end(json, '}');
}

static void write_checked(bf_json *json, const bf_trial *checked) {
  if (!checked) {
    bf_json_string(json, "checked", NULL);
    return;
  }
  bf_json_begin(json, "checked", '{', true);
  bf_json_number(json, "launches", checked->launches);
  bf_json_number(json, "bytes", checked->memory_bytes);
  bf_json_end(json, '}');
}

void cli_rewrite_table_write_json(const cli_rewrite_table *r, bf_text *text) {
  bf_json json = {.text = text};
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "file", r->file);
  bf_json_string(&json, "output", r->output);
  bf_json_bool(&json, "changed", r->result && r->result->is_changed);
  write_checked(&json, r->checked);
  bf_json_begin(&json, "kernels", '[', false);
  for (unsigned i = 0; i < r->plans->count; i++)
    write_kernel(&json, r, i);
  bf_json_end(&json, ']');
  bf_json_end(&json, '}');
}
