/* bankfold rgpu map: a graph on the ring of an SM. */
#include "cli/wire/rgpu.h"
#include "rgpu/draw.h"

#include <string.h>

/* ---- Text ---- */

/* The number in the mapping of what is on the core or unit of a slot, -1 if nothing is. */
static int find_at(const bf_rgpu_mapping *m, unsigned slot, bool on_unit) {
  for (unsigned i = 0; i < m->graph->nodes * m->copies; i++)
    if (m->placed[i].slot == slot &&
        bf_rgpu_is_memory(&m->graph->node[i % m->graph->nodes]) == on_unit)
      return (int)i;
  return -1;
}

/* Copy, name, operation and lane of one place, in columns. */
static void write_place(bf_text *text, const bf_rgpu_mapping *m, int number) {
  if (number < 0) {
    bf_text_addf(text, "  %4s  %-12s %-8s %-4s", "", "-", "", "");
    return;
  }
  const bf_rgpu_node *node = &m->graph->node[(unsigned)number % m->graph->nodes];
  int lane = m->placed[number].lane;
  char word[16];
  snprintf(word, sizeof word, "%s%s%s", bf_rgpu_op_get(node->op)->name,
           node->op == BF_RGPU_INC ? "" : ".",
           node->op == BF_RGPU_INC ? "" : bf_rgpu_type_name(node->type));
  bf_text_addf(text, "  %4u  %-12.12s %-8s %-4c", (unsigned)number / m->graph->nodes + 1,
               node->name, word, lane < 0 ? '-' : (char)('A' + lane));
}

/* Cuts blanks at the end of the last line. */
static void end_line(bf_text *text) {
  while (text->size && text->data[text->size - 1] == ' ')
    text->size--;
  bf_text_puts(text, "\n");
}

static void write_table(bf_text *text, const bf_rgpu_mapping *m) {
  bf_text_addf(text, "%4s  %4s  %-12s %-8s %-4s  %4s  %-12s %-8s %s\n", "slot", "copy", "unit", "",
               "lane", "copy", "core", "", "lane");
  for (unsigned slot = 0; slot < m->ring.cores; slot++) {
    int unit = find_at(m, slot, true), core = find_at(m, slot, false);
    if (unit < 0 && core < 0)
      continue;
    bf_text_addf(text, "%4u", slot);
    write_place(text, m, unit);
    write_place(text, m, core);
    end_line(text);
  }
}

static void write_trades(bf_text *text, const bf_rgpu_trade *trades, unsigned count) {
  bf_text_puts(text, "\nlanes against cores:\nlanes  slots  copies  cores computing anew\n");
  for (unsigned i = 0; i < count; i++)
    bf_text_addf(text, "%5u  %5u  %6u  %d%s\n", trades[i].lanes, trades[i].slots, trades[i].copies,
                 trades[i].extra_cores, trades[i].proven ? "" : "  (not proven)");
}

static const char *plural(unsigned count) { return count == 1 ? "" : "s"; }

static void write_answer(bf_text *text, const bf_rgpu_mapping *m) {
  bf_text_addf(text, "%s: %u core%s and %u load/store unit%s\n", m->graph->name, m->cores,
               plural(m->cores), m->units, plural(m->units));
  if (!m->fits) {
    bf_text_addf(text, "does not fit: %s\n", m->reason);
    return;
  }
  bf_text_addf(text, "%u lane%s%s for one copy; %u %s%s on %u lane%s%s, %u of %u slots\n",
               m->lanes_of_one, plural(m->lanes_of_one), m->one_proven ? " (proven)" : "",
               m->copies, m->copies == 1 ? "copy" : "copies",
               m->copies_proven ? "" : " (more not ruled out)", m->lanes, plural(m->lanes),
               m->lanes_proven ? " (proven)" : "", m->slots, m->ring.cores);
  bf_text_addf(text, "%s\n\n", m->reason);
  write_table(text, m);
}

/* ---- JSON ---- */

static void write_json_places(bf_json *json, const bf_rgpu_mapping *m) {
  bf_json_begin(json, "places", '[', false);
  for (unsigned i = 0; m->fits && i < m->graph->nodes * m->copies; i++) {
    const bf_rgpu_placed *place = &m->placed[i];
    char lane[2] = {(char)('A' + place->lane), 0};
    bf_json_begin(json, NULL, '{', true);
    bf_json_string(json, "node", m->graph->node[i % m->graph->nodes].name);
    bf_json_number(json, "copy", i / m->graph->nodes);
    bf_json_number(json, "slot", place->slot);
    bf_json_string(json, "lane", place->lane < 0 ? NULL : lane);
    bf_json_number(json, "first", place->first);
    bf_json_number(json, "last", place->last);
    bf_json_end(json, '}');
  }
  bf_json_end(json, ']');
}

static void write_json_trades(bf_json *json, const bf_rgpu_trade *trades, unsigned count) {
  bf_json_begin(json, "trades", '[', false);
  for (unsigned i = 0; i < count; i++) {
    bf_json_begin(json, NULL, '{', true);
    bf_json_number(json, "lanes", trades[i].lanes);
    bf_json_number(json, "slots", trades[i].slots);
    bf_json_number(json, "copies", trades[i].copies);
    bf_json_number(json, "extra_cores", trades[i].extra_cores);
    bf_json_bool(json, "proven", trades[i].proven);
    bf_json_end(json, '}');
  }
  bf_json_end(json, ']');
}

static void write_json(bf_json *json, const bf_rgpu_mapping *m, const bf_rgpu_trade *trades,
                       unsigned count) {
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "graph", m->graph->name);
  bf_json_bool(json, "fits", m->fits);
  bf_json_string(json, "reason", m->reason);
  bf_json_number(json, "cores", m->cores);
  bf_json_number(json, "units", m->units);
  bf_json_number(json, "lanes_of_one", m->lanes_of_one);
  bf_json_bool(json, "one_proven", m->one_proven);
  bf_json_number(json, "copies", m->fits ? m->copies : 0);
  bf_json_bool(json, "copies_proven", m->copies_proven);
  bf_json_number(json, "lanes", m->fits ? m->lanes : 0);
  bf_json_bool(json, "lanes_proven", m->lanes_proven);
  bf_json_number(json, "slots", m->slots);
  bf_json_number(json, "states", m->states);
  bf_json_real(json, "seconds", m->seconds);
  write_json_places(json, m);
  write_json_trades(json, trades, count);
  bf_json_end(json, '}');
}

/* ---- The verb ---- */

/* Prints, and draws where that was asked for. */
static int put_out(const cli_rgpu_settings *s, const bf_rgpu_mapping *m,
                   const bf_rgpu_trade *trades, unsigned count) {
  bf_text text = {0}, picture = {0};
  bf_json json = {.text = &text};
  if (s->svg && m->fits) {
    bf_rgpu_mapping_svg(m, &picture);
    int status = cli_write(s->svg, &picture);
    if (status != CLI_OK || cli_rgpu_same_output(s->svg, "-"))
      return status;
  }
  if (s->common.json) {
    write_json(&json, m, trades, count);
  } else {
    write_answer(&text, m);
    if (s->trade)
      write_trades(&text, trades, count);
  }
  int status = cli_print(&text);
  return status == CLI_OK && !m->fits ? CLI_FINDINGS : status;
}

/* Reads the graph; with --recompute, changes it where it would not fit. */
static int read_graph(const cli_rgpu_settings *s, const char *file,
                      const bf_rgpu_map_options *options, bf_rgpu_graph **graph,
                      bf_diagnostic *diagnostic) {
  bf_rgpu_graph *changed;
  BF_TRY(cli_rgpu_read(file, graph, diagnostic));
  if (!s->recompute)
    return BF_OK;
  BF_TRY(bf_rgpu_recompute(*graph, options, &changed, diagnostic));
  if (changed) {
    bf_rgpu_free(*graph);
    *graph = changed;
  }
  return BF_OK;
}

/* Writes the graph that was mapped, where that was asked for. */
static int write_graph(const cli_rgpu_settings *s, const bf_rgpu_mapping *m) {
  bf_text text = {0};
  if (!s->output || !m->fits)
    return CLI_OK;
  bf_rgpu_print(m->graph, &text);
  return cli_write(s->output, &text);
}

int cli_rgpu_map(const cli_rgpu_settings *s, const char *file) {
  bf_rgpu_graph *graph = NULL;
  bf_rgpu_mapping *mapping = NULL;
  bf_rgpu_trade trades[BF_RGPU_MOST_TRADES];
  unsigned count = 0;
  bf_diagnostic diagnostic;
  bf_rgpu_map_options options = {
      .ring = cli_rgpu_ring(s),
      .copies = s->copies > 100 ? 100 : (unsigned)s->copies,
      .most_states = s->states,
  };
  int error = read_graph(s, file, &options, &graph, &diagnostic);
  if (!error)
    error = bf_rgpu_map(graph, &options, &mapping, &diagnostic);
  if (!error && s->trade)
    error = bf_rgpu_map_trades(graph, &options, trades, &count, &diagnostic);
  int status = !error ? write_graph(s, mapping) : cli_complain(&diagnostic);
  if (!error && status == CLI_OK)
    status = put_out(s, mapping, trades, count);
  bf_rgpu_mapping_free(mapping);
  bf_rgpu_free(graph);
  return status;
}
