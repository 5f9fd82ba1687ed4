/* The page: everything found out about some workloads in one self-contained HTML file. Per
 * workload it says how bad it is, what to do about it, where the conflicts come from, and shows
 * the worst accesses as pictures. */
#include "report/page.h"

#include <stdlib.h>
#include <string.h>

const char *const bf_page_style =
    ":root{color-scheme:light dark;--paper:#fff;--ink:#1f2328;--dim:#656d76;--line:#d8dee4;"
    "--soft:#f6f8fa;--accent:#0969da;--good:#1a7f37;--bad:#cf222e;--pick:#ddf4e4}\n"
    "@media (prefers-color-scheme:dark){:root{--paper:#0d1117;--ink:#e6edf3;--dim:#8d96a0;"
    "--line:#30363d;--soft:#161b22;--accent:#4493f8;--good:#3fb950;--bad:#f85149;--pick:#12261e}}\n"
    "*{box-sizing:border-box}body{margin:0 auto;padding:2rem 1.5rem 4rem;max-width:76rem;"
    "background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,'Segoe UI',"
    "'DejaVu Sans',sans-serif}\n"
    "h1{font-size:1.9rem;margin:0 0 .25rem}h2{font-size:1.45rem;margin:3.5rem 0 .75rem;"
    "padding-bottom:.35rem;border-bottom:1px solid var(--line);overflow-wrap:anywhere}"
    "h3{font-size:1.1rem;margin:2rem 0 .5rem}p{margin:.5rem 0;max-width:52rem}\n"
    ".dim{color:var(--dim)}.good{color:var(--good)}.bad{color:var(--bad)}\n"
    "code{font:.9em ui-monospace,SFMono-Regular,Menlo,'DejaVu Sans Mono',monospace;"
    "overflow-wrap:anywhere}pre{background:var(--soft);border:1px solid var(--line);"
    "border-radius:6px;padding:.6rem .9rem;overflow-x:auto;margin:.5rem 0}\n"
    ".cards{display:flex;flex-wrap:wrap;gap:.75rem;margin:1rem 0}.card{flex:1 1 9rem;"
    "background:var(--soft);border:1px solid var(--line);border-radius:8px;padding:.7rem .9rem}"
    ".card b{display:block;font-size:1.5rem;line-height:1.25;font-variant-numeric:tabular-nums}"
    ".card span{color:var(--dim);font-size:.85rem}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9rem}"
    "th{text-align:left;color:var(--dim);font-weight:600;white-space:nowrap}"
    "th,td{padding:.4rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}"
    "td.s{overflow-wrap:anywhere}tr.pick td{background:var(--pick)}\n"
    ".bar{display:flex;align-items:center;gap:.5rem;min-width:11rem}.bar i{display:block;"
    "height:.7rem;border-radius:2px;background:var(--bad);flex:none}"
    ".bar span{font-variant-numeric:tabular-nums}"
    ".tag{display:inline-block;border:1px solid currentColor;border-radius:1rem;"
    "padding:0 .5rem;font-size:.75rem;color:var(--good);white-space:nowrap}\n"
    ".advice{border-left:4px solid var(--good);background:var(--soft);padding:.6rem 1rem;"
    "margin:1rem 0;border-radius:0 6px 6px 0}\n"
    "figure{margin:1rem 0;overflow-x:auto}figure svg{max-width:100%;height:auto;display:block}"
    ".bf-none{fill:var(--soft)}.bf-svg .bf-axis{font-size:8.5px}"
    "footer{margin-top:4rem;color:var(--dim);font-size:.85rem}\n"
    "@media print{body{max-width:none;padding:0}h2{break-before:page}figure{break-inside:avoid}}\n";

enum { MOST_SITES = 40, MOST_HEAT_ROWS = 40, MOST_PICTURE_ROWS = 32, BAR_PIXELS = 110 };

/* One workload while its part of the page is written. */
typedef struct part {
  const bf_machine *machine;
  const bf_report_part *input;
  const bf_report_options *options;
  const bf_ladder_step *advice;
  bf_hash *hash[2]; /* none, and the one recommended */
  bf_tally *tally;
  unsigned identifier; /* the next one free for ids in the page */
  bf_text *text;
} part;

void bf_page_number(uint64_t number, bf_text *text) {
  if (number >= 1000) {
    bf_page_number(number / 1000, text);
    bf_text_addf(text, ",%03u", (unsigned)(number % 1000));
  } else {
    bf_text_addf(text, "%u", (unsigned)number);
  }
}

static void number_cell(uint64_t number, bf_text *text) {
  bf_text_puts(text, "<td class=\"n\">");
  bf_page_number(number, text);
  bf_text_puts(text, "</td>");
}

static double percent(uint64_t some, uint64_t all) {
  return all ? 100.0 * (double)some / (double)all : 0;
}

static bool is_none(const bf_hash *hash) { return strcmp(bf_hash_text(hash), "none") == 0; }

/* ---- Summary ---- */

static void card(uint64_t number, const char *classes, const char *caption, bf_text *text) {
  bf_text_addf(text, "<div class=\"card\"><b class=\"%s\">", classes);
  bf_page_number(number, text);
  bf_text_addf(text, "</b><span>%s</span></div>\n", caption);
}

static void write_summary(const part *p) {
  const bf_tally_site *total = &p->tally->total;
  char caption[128];
  bf_text_puts(p->text, "<div class=\"cards\">\n");
  snprintf(caption, sizeof caption, "executions of %llu different accesses",
           (unsigned long long)total->accesses);
  card(total->executions, "", caption, p->text);
  card(total->wavefronts, "", "wavefronts", p->text);
  card(total->ideal, "", "wavefronts if no bank conflicted", p->text);
  snprintf(caption, sizeof caption, "conflicts, %.1f%% of all wavefronts",
           percent(total->conflicts, total->wavefronts));
  card(total->conflicts, total->conflicts ? "bad" : "good", caption, p->text);
  if (!is_none(p->hash[1])) {
    bool better = total->conflicts_after < total->conflicts;
    snprintf(caption, sizeof caption, "conflicts left with the recommended hash, %.1f%% removed",
             better ? percent(total->conflicts - total->conflicts_after, total->conflicts) : 0);
    card(total->conflicts_after, better ? "good" : "bad", caption, p->text);
  }
  bf_text_puts(p->text, "</div>\n");
}

/* ---- The ladder ---- */

static void bar_cell(uint64_t number, uint64_t most, bf_text *text) {
  unsigned pixels = most ? (unsigned)((double)number / (double)most * BAR_PIXELS + 0.5) : 0;
  if (number && pixels == 0)
    pixels = 1;
  bf_text_addf(text, "<td><div class=\"bar\"><i style=\"width:%upx\"></i><span>", pixels);
  bf_page_number(number, text);
  bf_text_puts(text, "</span></div></td>");
}

static void write_step(const bf_ladder_step *step, bool recommended, uint64_t most_conflicts,
                       bf_text *text) {
  bf_text_addf(text, "<tr%s><td>", recommended ? " class=\"pick\"" : "");
  bf_markup_escape(step->name, text);
  if (recommended)
    bf_text_puts(text, " <span class=\"tag\">recommended</span>");
  bf_text_puts(text, "</td><td class=\"s\"><code>");
  bf_markup_escape(step->hash, text);
  bf_text_puts(text, "</code></td>");
  bar_cell(step->conflicts, most_conflicts, text);
  bf_text_puts(text, step->proven ? "<td>proven least</td>" : "<td></td>");
  number_cell(step->bytes_wasted, text);
  number_cell(step->instructions, text);
  bf_text_puts(text, "</tr>\n");
}

static void write_advice(const part *p) {
  if (is_none(p->hash[1])) {
    bf_text_puts(p->text, "<strong>Do nothing</strong>: ");
  } else {
    bf_text_puts(p->text, "Take <strong>");
    bf_markup_escape(p->advice->name, p->text);
    bf_text_puts(p->text, "</strong>, <code>");
    bf_markup_escape(p->advice->hash, p->text);
    bf_text_puts(p->text, "</code>: ");
  }
  bf_markup_escape(p->input->ladder->reason, p->text);
  bf_text_puts(p->text, ".");
}

static void write_ladder(const part *p) {
  const bf_ladder *ladder = p->input->ladder;
  uint64_t most = ladder->conflicts_before;
  for (unsigned i = 0; i < ladder->count; i++)
    most = ladder->step[i].conflicts > most ? ladder->step[i].conflicts : most;
  bf_text_puts(p->text, "<h3>What to do</h3>\n<div class=\"advice\"><p>");
  write_advice(p);
  bf_text_puts(p->text, "</p>\n");
  bf_page_usage(p->hash[1], p->text);
  bf_text_puts(p->text,
               "</div>\n<div class=\"wide\"><table>\n<tr><th>Fix</th><th>Hash</th>"
               "<th>Conflicts left</th><th>Within its class</th><th class=\"n\">Bytes wasted</th>"
               "<th class=\"n\">Instructions per address</th></tr>\n");
  for (unsigned i = 0; i < ladder->count; i++)
    write_step(&ladder->step[i], i == ladder->recommended, most, p->text);
  bf_text_puts(p->text, "</table></div>\n");
}

/* ---- Sites ---- */

static void write_pattern_name(const part *p, const bf_tally_site *site) {
  const bf_access *access = bf_workload_get(p->input->workload, site->worst);
  bf_pattern pattern = bf_access_classify(access, p->machine->lanes, 1);
  bf_text_puts(p->text, bf_pattern_class_name(pattern.class_));
  if (pattern.class_ == BF_PATTERN_STRIDE)
    bf_text_addf(p->text, " %lld", (long long)pattern.stride_x);
  else if (pattern.class_ == BF_PATTERN_BLOCK)
    bf_text_addf(p->text, " %lld, %lld", (long long)pattern.stride_x, (long long)pattern.stride_y);
}

static void write_site(const part *p, const bf_tally_site *site) {
  const bf_access *worst = bf_workload_get(p->input->workload, site->worst);
  bf_text_puts(p->text, "<tr><td class=\"s\">");
  if (site->site)
    bf_markup_escape(site->site, p->text);
  else if (worst->line)
    bf_text_addf(p->text, "<span class=\"dim\">line %llu%s</span>", (unsigned long long)worst->line,
                 site->accesses > 1 ? " and others" : "");
  bf_text_addf(p->text, "</td><td>%s %u</td><td>", bf_op_name(site->op), site->width_bytes);
  write_pattern_name(p, site);
  bf_text_puts(p->text, "</td>");
  number_cell(site->executions, p->text);
  number_cell(site->wavefronts, p->text);
  number_cell(site->ideal, p->text);
  bar_cell(site->conflicts, p->tally->site[0].conflicts, p->text);
  if (!is_none(p->hash[1]))
    number_cell(site->conflicts_after, p->text);
  bf_text_puts(p->text, "</tr>\n");
}

static void write_other_sites(const part *p) {
  uint64_t conflicts = 0;
  for (size_t i = MOST_SITES; i < p->tally->sites; i++)
    conflicts += p->tally->site[i].conflicts;
  bf_text_puts(p->text, "<p class=\"dim\">And ");
  bf_page_number(p->tally->sites - MOST_SITES, p->text);
  bf_text_puts(p->text, " more, with ");
  bf_page_number(conflicts, p->text);
  bf_text_puts(p->text, " conflicts together.</p>\n");
}

static void write_sites(const part *p) {
  bf_text_addf(p->text,
               "<h3>Where the conflicts come from</h3>\n<div class=\"wide\"><table>\n<tr><th>Site"
               "</th><th>Access</th><th>Pattern</th><th class=\"n\">Executions</th>"
               "<th class=\"n\">Wavefronts</th><th class=\"n\">Ideal</th><th>Conflicts</th>%s"
               "</tr>\n",
               is_none(p->hash[1]) ? "" : "<th class=\"n\">After the fix</th>");
  for (size_t i = 0; i < p->tally->sites && i < MOST_SITES; i++)
    write_site(p, &p->tally->site[i]);
  bf_text_puts(p->text, "</table></div>\n");
  if (p->tally->sites > MOST_SITES)
    write_other_sites(p);
}

/* ---- Pictures ---- */

/* Where the access is and what pattern it has. */
static void write_explanation(const part *p, const bf_access *access) {
  bf_pattern pattern = bf_access_classify(access, p->machine->lanes, 1);
  bf_text sentence = {0};
  bf_pattern_explain(&pattern, access, &sentence);
  bf_text_puts(p->text, "<p>");
  if (access->site) {
    bf_text_puts(p->text, "<strong>");
    bf_markup_escape(access->site, p->text);
    bf_text_puts(p->text, "</strong>, ");
  }
  bf_markup_escape(sentence.data ? sentence.data : "", p->text);
  bf_text_puts(p->text, ".</p>\n");
  p->text->failed = p->text->failed || sentence.failed;
  bf_text_free(&sentence);
}

static int write_picture(part *p, const bf_access *access, bf_diagnostic *diagnostic) {
  bf_picture *pictures[2] = {NULL, NULL};
  unsigned count = is_none(p->hash[1]) ? 1 : 2;
  int error = BF_OK;
  for (unsigned i = 0; i < count && !error; i++)
    error = bf_picture_create(p->machine, p->hash[i], access, &pictures[i], diagnostic);
  if (!error) {
    write_explanation(p, access);
    bf_text_puts(p->text, "<figure>\n");
    bf_draw_svg_inline((const bf_picture *const *)pictures, count, MOST_PICTURE_ROWS,
                       p->identifier++, p->text);
    bf_text_puts(p->text, "</figure>\n");
  }
  for (unsigned i = 0; i < count; i++)
    bf_picture_free(pictures[i]);
  return error;
}

/* The worst access of each of the worst sites. */
static int write_pictures(part *p, bf_diagnostic *diagnostic) {
  int error = BF_OK;
  for (size_t i = 0; i < p->tally->sites && i < p->options->pictures && !error; i++) {
    if (p->tally->site[i].conflicts == 0)
      break;
    if (i == 0)
      bf_text_puts(p->text, "<h3>The worst accesses</h3>\n");
    error =
        write_picture(p, bf_workload_get(p->input->workload, p->tally->site[i].worst), diagnostic);
  }
  return error;
}

/* The access that has the most conflicts left, if any has. */
static int write_rest(part *p, bf_diagnostic *diagnostic) {
  size_t worst = 0;
  for (size_t i = 0; i < bf_workload_size(p->input->workload); i++)
    if (p->tally->conflicts_after[i] > p->tally->conflicts_after[worst])
      worst = i;
  if (is_none(p->hash[1]) || p->tally->conflicts_after[worst] == 0 || !p->options->pictures)
    return BF_OK;
  bf_text_puts(p->text, "<h3>The worst access that is left</h3>\n");
  return write_picture(p, bf_workload_get(p->input->workload, worst), diagnostic);
}

/* ---- Bank load ---- */

typedef struct ranked {
  size_t index;
  uint32_t conflicts;
} ranked;

static int worst_first(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->conflicts != y->conflicts)
    return x->conflicts > y->conflicts ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

static int by_index(const void *a, const void *b) {
  size_t x = *(const size_t *)a, y = *(const size_t *)b;
  return (x > y) - (x < y);
}

/* Indices of the accesses with the most conflicts before or after, in the workload's order; returns
 * how many or a negative bf_error. */
static int choose_worst(const part *p, size_t *index, bf_diagnostic *diagnostic) {
  size_t size = bf_workload_size(p->input->workload), count = 0;
  ranked *order = calloc(size ? size : 1, sizeof *order);
  if (!order)
    return bf_no_memory(diagnostic);
  for (size_t i = 0; i < size; i++)
    order[i] = (ranked){i, p->tally->conflicts[i] > p->tally->conflicts_after[i]
                               ? p->tally->conflicts[i]
                               : p->tally->conflicts_after[i]};
  qsort(order, size, sizeof *order, worst_first);
  for (; count < size && count < MOST_HEAT_ROWS && order[count].conflicts; count++)
    index[count] = order[count].index;
  free(order);
  qsort(index, count, sizeof *index, by_index);
  return (int)count;
}

static int write_heat_map(part *p, bf_diagnostic *diagnostic) {
  size_t index[MOST_HEAT_ROWS];
  int count = choose_worst(p, index, diagnostic);
  if (count <= 0)
    return count;
  bf_text_addf(p->text,
               "<h3>Bank load</h3>\n<p>One row for each of the %d worst accesses, in the order of "
               "the workload; the colour says how many words too many a bank has, as in the "
               "pictures above.</p>\n<figure>\n",
               count);
  int error = bf_page_heat_map(p->machine, p->input->workload, (const bf_hash *const *)p->hash,
                               index, (size_t)count, p->identifier++, p->text, diagnostic);
  bf_text_puts(p->text, "</figure>\n");
  return error;
}

/* ---- Parts and page ---- */

/* Parses the hashes and counts; part_close frees what was made even when this fails. */
static int part_open(part *p, bf_diagnostic *diagnostic) {
  const bf_ladder *ladder = p->input->ladder;
  bf_geometry geometry = bf_machine_geometry(p->machine);
  if (ladder->recommended >= ladder->count)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%s: the ladder recommends no step", p->input->name);
  p->advice = &ladder->step[ladder->recommended];
  int error = bf_hash_parse("none", &geometry, &p->hash[0], diagnostic);
  if (!error)
    error = bf_hash_parse(p->advice->hash, &geometry, &p->hash[1], diagnostic);
  if (!error)
    error = bf_tally_create(p->machine, p->input->workload, p->hash[0], p->hash[1], &p->tally,
                            diagnostic);
  return error;
}

static void part_close(part *p) {
  bf_tally_free(p->tally);
  bf_hash_free(p->hash[0]);
  bf_hash_free(p->hash[1]);
}

static int write_part(part *p, bf_diagnostic *diagnostic) {
  int error = part_open(p, diagnostic);
  if (!error) {
    bf_text_puts(p->text, "<section>\n<h2>");
    bf_markup_escape(p->input->name, p->text);
    bf_text_puts(p->text, "</h2>\n");
    write_summary(p);
    write_ladder(p);
    write_sites(p);
    error = write_pictures(p, diagnostic);
  }
  if (!error)
    error = write_rest(p, diagnostic);
  if (!error)
    error = write_heat_map(p, diagnostic);
  bf_text_puts(p->text, "</section>\n");
  part_close(p);
  return error;
}

static void write_head(const bf_machine *machine, bf_text *text) {
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_text_puts(text, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                     "<title>Bank conflicts</title>\n<style>\n");
  bf_text_puts(text, bf_page_style);
  bf_text_puts(text, bf_svg_style);
  bf_text_puts(text, "</style>\n</head>\n<body>\n<h1>Bank conflicts</h1>\n<p class=\"dim\">On ");
  bf_markup_escape(bf_machine_title(machine), text);
  bf_text_addf(text, ": %u lanes, %u banks, words of %u bytes.</p>\n", bf_machine_lanes(machine),
               1u << geometry.bank_bits, geometry.word_bytes);
  bf_text_puts(text, "<p>A bank delivers one word at a time. When lanes of a warp want different "
                     "words of one bank, the access takes several wavefronts instead of one. "
                     "Wavefronts above the fewest possible are conflicts.</p>\n");
}

int bf_report_html(const bf_machine *machine, const bf_report_part *parts, size_t count,
                   const bf_report_options *options, bf_text *text, bf_diagnostic *diagnostic) {
  unsigned identifier = 0;
  int error = BF_OK;
  write_head(machine, text);
  for (size_t i = 0; i < count && !error; i++) {
    part p = {.machine = machine,
              .input = &parts[i],
              .options = options,
              .identifier = identifier,
              .text = text};
    error = write_part(&p, diagnostic);
    identifier = p.identifier;
  }
  bf_text_addf(text, "<footer>Written by Bankfold %s.</footer>\n</body>\n</html>\n", bf_version());
  if (!error && text->failed)
    error = bf_no_memory(diagnostic);
  return error;
}

/* ---- JSON ---- */

static void json_site(const part *p, const bf_tally_site *site, bf_json *json) {
  bf_access worst = *bf_workload_get(p->input->workload, site->worst);
  bf_text line = {0};
  worst.site = NULL;
  worst.count = 1;
  bf_trace_print_line(&worst, &line);
  if (line.size)
    line.data[--line.size] = 0; /* its end */
  bf_json_begin(json, NULL, '{', true);
  bf_json_string(json, "site", site->site);
  bf_json_string(json, "op", bf_op_name(site->op));
  bf_json_number(json, "width", site->width_bytes);
  bf_json_number(json, "executions", site->executions);
  bf_json_number(json, "wavefronts", site->wavefronts);
  bf_json_number(json, "ideal", site->ideal);
  bf_json_number(json, "conflicts", site->conflicts);
  bf_json_number(json, "conflicts_after", site->conflicts_after);
  bf_json_string(json, "worst", line.data);
  bf_json_end(json, '}');
  json->text->failed |= line.failed;
  bf_text_free(&line);
}

static void json_step(const bf_ladder_step *step, bf_json *json) {
  bf_json_begin(json, NULL, '{', true);
  bf_json_string(json, "name", step->name);
  bf_json_string(json, "hash", step->hash);
  bf_json_number(json, "conflicts", step->conflicts);
  bf_json_number(json, "bytes_wasted", step->bytes_wasted);
  bf_json_number(json, "instructions", step->instructions);
  bf_json_bool(json, "proven", step->proven);
  bf_json_end(json, '}');
}

static void json_part(const part *p, bf_json *json) {
  const bf_tally_site *total = &p->tally->total;
  const bf_ladder *ladder = p->input->ladder;
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "name", p->input->name);
  bf_json_number(json, "accesses", total->accesses);
  bf_json_number(json, "executions", total->executions);
  bf_json_number(json, "wavefronts", total->wavefronts);
  bf_json_number(json, "ideal", total->ideal);
  bf_json_number(json, "conflicts", total->conflicts);
  bf_json_number(json, "conflicts_after", total->conflicts_after);
  bf_json_string(json, "hash", bf_hash_text(p->hash[1]));
  bf_json_string(json, "reason", ladder->reason);
  bf_json_begin(json, "ladder", '[', false);
  for (unsigned i = 0; i < ladder->count; i++)
    json_step(&ladder->step[i], json);
  bf_json_end(json, ']');
  bf_json_begin(json, "sites", '[', false);
  for (size_t i = 0; i < p->tally->sites; i++)
    json_site(p, &p->tally->site[i], json);
  bf_json_end(json, ']');
  bf_json_end(json, '}');
}

int bf_report_json(const bf_machine *machine, const bf_report_part *parts, size_t count,
                   bf_text *text, bf_diagnostic *diagnostic) {
  bf_json json = {.text = text};
  int error = BF_OK;
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "machine", bf_machine_name(machine));
  bf_json_begin(&json, "workloads", '[', false);
  for (size_t i = 0; i < count && !error; i++) {
    part p = {.machine = machine, .input = &parts[i], .text = text};
    error = part_open(&p, diagnostic);
    if (!error)
      json_part(&p, &json);
    part_close(&p);
  }
  bf_json_end(&json, ']');
  bf_json_end(&json, '}');
  return error;
}
