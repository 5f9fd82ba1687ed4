/* Findings, kept within limits. */
#include "report/gate.h"

#include <stdlib.h>
#include <string.h>

static const char head[] = "bankfold baseline 1\n";

/* ---- Findings ---- */

static bool same(const char *a, const char *b) { return strcmp(a ? a : "", b ? b : "") == 0; }

static const char *copy(bf_gate *gate, const char *text, bool *has_failed) {
  const char *own = text ? bf_arena_copy(&gate->arena, text) : NULL;
  *has_failed |= text && !own;
  return own;
}

static bf_finding *find(const bf_gate *gate, const bf_finding *like) {
  for (size_t i = 0; i < gate->findings; i++) {
    bf_finding *own = &gate->finding[i];
    if (own->line == like->line && same(own->file, like->file) && same(own->name, like->name))
      return own;
  }
  return NULL;
}

int bf_gate_add(bf_gate *gate, const bf_finding *finding, bf_diagnostic *diagnostic) {
  bf_finding *own = find(gate, finding);
  bool has_failed = false;
  gate->wavefronts += finding->wavefronts;
  gate->conflicts += finding->conflicts;
  if (own) {
    own->wavefronts += finding->wavefronts;
    own->conflicts += finding->conflicts;
    return BF_OK;
  }
  if (gate->findings == gate->capacity) {
    size_t capacity = gate->capacity ? 2 * gate->capacity : 32;
    bf_finding *more = realloc(gate->finding, capacity * sizeof *more);
    if (!more)
      return bf_no_memory(diagnostic);
    gate->finding = more;
    gate->capacity = capacity;
  }
  own = &gate->finding[gate->findings++];
  *own = *finding;
  own->file = copy(gate, finding->file, &has_failed);
  own->name = copy(gate, finding->name, &has_failed);
  own->what = copy(gate, finding->what, &has_failed);
  return has_failed ? bf_no_memory(diagnostic) : BF_OK;
}

void bf_gate_free(bf_gate *gate) {
  free(gate->finding);
  bf_arena_free(&gate->arena);
  *gate = (bf_gate){.findings = 0};
}

/* How a baseline calls a place: by file and name, not by its line, which moves when others are
 * written before it. */
static void write_place(const bf_finding *finding, bf_text *text) {
  const char *slash = finding->file ? strrchr(finding->file, '/') : NULL;
  if (finding->file)
    bf_text_puts(text, slash ? slash + 1 : finding->file);
  if (finding->name)
    bf_text_addf(text, "%s%s", finding->file ? " " : "", finding->name);
}

static bool is_same_place(const bf_finding *a, const bf_finding *b) {
  bf_text left = {0}, right = {0};
  write_place(a, &left);
  write_place(b, &right);
  bool is_same = same(left.data, right.data);
  bf_text_free(&left);
  bf_text_free(&right);
  return is_same;
}

/* Conflicts and wavefronts of all findings at the place of one; false where another stands before
 * it. */
static bool sum_place(const bf_gate *gate, size_t index, uint64_t *conflicts,
                      uint64_t *wavefronts) {
  *conflicts = *wavefronts = 0;
  bool is_first = true;
  for (size_t i = 0; i < gate->findings; i++)
    if (is_same_place(&gate->finding[i], &gate->finding[index])) {
      is_first &= i >= index;
      *conflicts += gate->finding[i].conflicts;
      *wavefronts += gate->finding[i].wavefronts;
    }
  return is_first;
}

/* ---- Baselines ---- */

void bf_gate_write_baseline(const bf_gate *gate, bf_text *text) {
  bf_text_puts(text, head);
  for (size_t i = 0; i < gate->findings; i++) {
    uint64_t conflicts, wavefronts;
    if (!sum_place(gate, i, &conflicts, &wavefronts))
      continue;
    bf_text_addf(text, "%llu\t%llu\t", (unsigned long long)conflicts,
                 (unsigned long long)wavefronts);
    write_place(&gate->finding[i], text);
    bf_text_puts(text, "\n");
  }
}

/* A row of a baseline: numbers and where the place begins, which ends with the line. */
static bool read_row(const char *line, uint64_t *conflicts, uint64_t *wavefronts,
                     const char **place) {
  const char *at = line;
  if (!bf_parse_number(&at, conflicts) || *at++ != '\t' || !bf_parse_number(&at, wavefronts) ||
      *at != '\t')
    return false;
  *place = at + 1;
  return true;
}

/* Conflicts before at the place of a finding, and sums. */
static int compare(bf_gate *gate, const char *name, const char *baseline, uint64_t *conflicts,
                   uint64_t *wavefronts, bf_diagnostic *diagnostic) {
  *conflicts = *wavefronts = 0;
  if (strncmp(baseline, head, sizeof head - 1) != 0)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, name,
                        "no baseline: --save-baseline FILE writes one");
  uint64_t number = 2;
  for (const char *line = baseline + sizeof head - 1; *line; number++) {
    size_t length = strcspn(line, "\n");
    uint64_t own_conflicts, own_wavefronts;
    const char *place;
    if (!read_row(line, &own_conflicts, &own_wavefronts, &place)) {
      bf_fail_file(diagnostic, BF_BAD_INPUT, name,
                   "expected conflicts, wavefronts and a place, with tabs between them");
      if (diagnostic)
        diagnostic->line = number;
      return BF_BAD_INPUT;
    }
    *conflicts += own_conflicts;
    *wavefronts += own_wavefronts;
    for (size_t i = 0; i < gate->findings; i++) {
      bf_text text = {0};
      write_place(&gate->finding[i], &text);
      size_t place_length = (size_t)(line + length - place);
      if (text.size == place_length && text.data && memcmp(text.data, place, place_length) == 0)
        gate->finding[i].before += own_conflicts;
      bf_text_free(&text);
    }
    line += length + (line[length] == '\n');
  }
  return BF_OK;
}

/* ---- Judging ---- */

/* Says which places have more conflicts than before. */
static void explain(const bf_gate *gate, bf_text *text) {
  for (size_t i = 0; i < gate->findings; i++) {
    const bf_finding *own = &gate->finding[i];
    uint64_t conflicts, wavefronts;
    if (!own->is_worse || !sum_place(gate, i, &conflicts, &wavefronts))
      continue;
    write_place(own, text);
    bf_text_addf(text, ": %llu conflicts, %llu before\n", (unsigned long long)conflicts,
                 (unsigned long long)own->before);
  }
}

int bf_gate_judge(bf_gate *gate, const bf_gate_limits *limits, const char *name,
                  const char *baseline, bool *is_bad, bf_text *text, bf_diagnostic *diagnostic) {
  uint64_t conflicts = 0, wavefronts = 0;
  if (baseline)
    BF_TRY(compare(gate, name, baseline, &conflicts, &wavefronts, diagnostic));
  bool has_more = limits->has_conflicts && gate->conflicts > limits->conflicts + conflicts;
  bool is_longer = limits->has_wavefronts && gate->wavefronts > limits->wavefronts + wavefronts;
  const char *than = baseline ? "more than before and allowed" : "more than allowed";
  bool is_worse = false;
  *is_bad = has_more || is_longer;
  for (size_t i = 0; i < gate->findings; i++) {
    bf_finding *own = &gate->finding[i];
    uint64_t together, unused;
    sum_place(gate, i, &together, &unused);
    own->is_worse = baseline ? together > own->before : *is_bad && own->conflicts > 0;
    is_worse |= baseline && own->is_worse;
  }
  *is_bad |= is_worse && !limits->has_conflicts;
  if (baseline)
    explain(gate, text);
  if (has_more)
    bf_text_addf(text, "%llu conflicts, %s (%llu)\n", (unsigned long long)gate->conflicts, than,
                 (unsigned long long)(limits->conflicts + conflicts));
  if (is_longer)
    bf_text_addf(text, "%llu wavefronts, %s (%llu)\n", (unsigned long long)gate->wavefronts, than,
                 (unsigned long long)(limits->wavefronts + wavefronts));
  return BF_OK;
}

/* ---- Forms ---- */

static bool is_shown(const bf_finding *finding, bool only_worse) {
  return only_worse ? finding->is_worse : finding->conflicts > 0;
}

static void write_message(const bf_finding *finding, bf_text *text) {
  bf_text_addf(text, "%s%s%llu bank conflicts, %llu wavefronts", finding->name ? finding->name : "",
               finding->name ? ": " : "", (unsigned long long)finding->conflicts,
               (unsigned long long)finding->wavefronts);
  if (finding->before)
    bf_text_addf(text, ", %llu conflicts before", (unsigned long long)finding->before);
  if (finding->what)
    bf_text_addf(text, ". %s", finding->what);
}

/* The name of a file as a reference of RFC 3986. */
static void write_uri(const char *file, bf_text *text) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
  bf_text_puts(text, file[0] == '/' ? "file://" : "");
  for (; *file; file++)
    bf_text_addf(text, strchr(plain, *file) ? "%c" : "%%%02X", (unsigned char)*file);
}

static void write_result(const bf_finding *finding, bf_json *json) {
  bf_text message = {0}, uri = {0};
  write_message(finding, &message);
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "ruleId", "bank-conflict");
  bf_json_string(json, "level", "warning");
  bf_json_begin(json, "message", '{', true);
  bf_json_string(json, "text", message.data ? message.data : "");
  bf_json_end(json, '}');
  bf_json_begin(json, "locations", '[', false);
  if (finding->file) {
    bf_json_begin(json, NULL, '{', false);
    bf_json_begin(json, "physicalLocation", '{', false);
    bf_json_begin(json, "artifactLocation", '{', true);
    write_uri(finding->file, &uri);
    bf_json_string(json, "uri", uri.data ? uri.data : "");
    bf_json_end(json, '}');
    bf_json_begin(json, "region", '{', true);
    bf_json_number(json, "startLine", finding->line ? finding->line : 1);
    bf_json_end(json, '}');
    bf_json_end(json, '}');
    bf_json_end(json, '}');
  }
  bf_json_end(json, ']');
  bf_json_end(json, '}');
  json->text->failed |= uri.failed;
  bf_text_free(&uri);
  bf_text_free(&message);
}

static void write_rule(bf_json *json) {
  bf_json_begin(json, "tool", '{', false);
  bf_json_begin(json, "driver", '{', false);
  bf_json_string(json, "name", "bankfold");
  bf_json_string(json, "version", bf_version());
  bf_json_begin(json, "rules", '[', false);
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "id", "bank-conflict");
  bf_json_begin(json, "shortDescription", '{', true);
  bf_json_string(json, "text", "Bank conflicts in shared memory");
  bf_json_end(json, '}');
  bf_json_end(json, '}');
  bf_json_end(json, ']');
  bf_json_end(json, '}');
  bf_json_end(json, '}');
}

void bf_gate_write_sarif(const bf_gate *gate, bool only_worse, bf_text *text) {
  bf_json json = {.text = text};
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
  bf_json_string(&json, "version", "2.1.0");
  bf_json_begin(&json, "runs", '[', false);
  bf_json_begin(&json, NULL, '{', false);
  write_rule(&json);
  bf_json_begin(&json, "results", '[', false);
  for (size_t i = 0; i < gate->findings; i++)
    if (is_shown(&gate->finding[i], only_worse))
      write_result(&gate->finding[i], &json);
  bf_json_end(&json, ']');
  bf_json_end(&json, '}');
  bf_json_end(&json, ']');
  bf_json_end(&json, '}');
}

/* Text of an annotation: ends of lines and % are escaped; commas and colons too inside properties.
 */
static void write_escaped(const char *string, bool is_property, bf_text *text) {
  for (; *string; string++)
    if (*string == '%' || *string == '\n' || *string == '\r' ||
        (is_property && (*string == ',' || *string == ':')))
      bf_text_addf(text, "%%%02X", (unsigned)(unsigned char)*string);
    else
      bf_text_add(text, string, 1);
}

void bf_gate_write_annotations(const bf_gate *gate, bool only_worse, bf_text *text) {
  for (size_t i = 0; i < gate->findings; i++) {
    const bf_finding *own = &gate->finding[i];
    bf_text message = {0};
    if (!is_shown(own, only_worse))
      continue;
    write_message(own, &message);
    bf_text_puts(text, "::warning ");
    if (own->file) {
      bf_text_puts(text, "file=");
      write_escaped(own->file, true, text);
      bf_text_addf(text, ",line=%llu,", (unsigned long long)(own->line ? own->line : 1));
    }
    bf_text_puts(text, "title=Bank conflicts::");
    write_escaped(message.data ? message.data : "", false, text);
    bf_text_puts(text, "\n");
    bf_text_free(&message);
  }
}
