/* Findings against limits and baselines. */
#include "cli/gate.h"

static bool read_limit(const char *text, bool *is_given, uint64_t *limit) {
  *is_given = text != NULL;
  return !text || (bf_parse_number(&text, limit) && !*text);
}

static bool read_limits(const cli_gate *gate, bf_gate_limits *limits, const char **bad) {
  *limits = (bf_gate_limits){.conflicts = 0};
  *bad = "max-conflicts";
  if (!read_limit(gate->max_conflicts, &limits->has_conflicts, &limits->conflicts))
    return false;
  *bad = "max-wavefronts";
  return read_limit(gate->max_wavefronts, &limits->has_wavefronts, &limits->wavefronts);
}

int cli_gate_check(const cli_command *command, const cli_gate *gate) {
  bf_gate_limits limits;
  const char *bad;
  if (read_limits(gate, &limits, &bad))
    return -1;
  bool is_first = bad[4] == 'c';
  return cli_usage_error(command, "--%s takes a whole number, not '%s'", bad,
                         is_first ? gate->max_conflicts : gate->max_wavefronts);
}

bool cli_gate_is_wanted(const cli_gate *gate) {
  return gate->max_conflicts || gate->max_wavefronts || gate->baseline || gate->save_baseline ||
         gate->sarif || gate->annotate;
}

/* Writes a file, unless path is NULL. */
static int write_file(const char *path, bf_text *text) {
  int status = path ? cli_write(path, text) : CLI_OK;
  if (!path)
    bf_text_free(text);
  return status;
}

/* Writes what is asked for. */
static int write_all(const cli_gate *gate, const bf_gate *found) {
  bf_text sarif = {0}, saved = {0}, notes = {0};
  bf_gate_write_sarif(found, gate->baseline != NULL, &sarif);
  bf_gate_write_baseline(found, &saved);
  bf_gate_write_annotations(found, gate->baseline != NULL, &notes);
  if (gate->annotate && notes.size)
    fwrite(notes.data, 1, notes.size, stderr);
  bf_text_free(&notes);
  int first = write_file(gate->sarif, &sarif), second = write_file(gate->save_baseline, &saved);
  return first ? first : second;
}

int cli_gate_finish(const cli_gate *gate, bf_gate *found, int status) {
  bf_gate_limits limits;
  const char *bad;
  bf_text baseline = {0}, said = {0};
  bf_diagnostic diagnostic = {.caret = -1};
  bool is_bad = false;
  if (status != CLI_OK || !cli_gate_is_wanted(gate) || !read_limits(gate, &limits, &bad)) {
    bf_gate_free(found);
    return status;
  }
  int error =
      gate->baseline ? bf_read_file(gate->baseline, SIZE_MAX, &baseline, &diagnostic) : BF_OK;
  if (!error)
    error = bf_gate_judge(found, &limits, gate->baseline, gate->baseline ? baseline.data : NULL,
                          &is_bad, &said, &diagnostic);
  status = error ? cli_complain(&diagnostic) : write_all(gate, found);
  if (status == CLI_OK && is_bad) {
    fprintf(stderr, "bankfold: too many conflicts or wavefronts:\n%s", said.data ? said.data : "");
    status = CLI_FINDINGS;
  }
  bf_text_free(&said);
  bf_text_free(&baseline);
  bf_gate_free(found);
  return status;
}
