/* Machine files (docs/machines.md), read line by line. Each line starts with a key, and the
 * function named after the key reads the rest. A line that states a fact ends in its basis and the
 * name of its source, which a source line must have declared further up. */
#include "memory/lines.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TIMES = 1024, MOST_LOCKS = 1 << 20, MOST_CYCLES = 1000000 };

typedef struct reader {
  bf_lines lines;
  bf_machine *machine;
  uint64_t seen; /* bit i: keys[i] was given */
} reader;

/* A fault at a place of the line, or in word number index. */
#define FAIL_AT(at, ...) BF_LINES_FAIL_AT(&r->lines, at, __VA_ARGS__)
#define FAIL(index, ...) BF_LINES_FAIL(&r->lines, index, __VA_ARGS__)

static const char *place(const reader *r, unsigned index) {
  return bf_lines_place(&r->lines, index);
}
static const char *peek(const reader *r) { return bf_lines_peek(&r->lines); }
static bool take(reader *r, const char *text) { return bf_lines_take(&r->lines, text); }

/* Takes a whole number from least to most. */
static int take_number(reader *r, const char *what, uint64_t least, uint64_t most,
                       unsigned *value) {
  const char *cursor = peek(r);
  uint64_t number;
  if (!bf_parse_number(&cursor, &number) || *cursor)
    return FAIL(r->lines.next, "expected %s: a whole number", what);
  if (number < least || number > most)
    return FAIL(r->lines.next, "%s must be from %llu to %llu", what, (unsigned long long)least,
                (unsigned long long)most);
  *value = (unsigned)number;
  r->lines.next++;
  return BF_OK;
}

/* ---- name, title, source ---- */

static int parse_name(reader *r) {
  return bf_lines_take_name(&r->lines, "a name", &r->machine->name);
}
static int parse_title(reader *r) {
  return bf_lines_take_rest(&r->lines, "a title", &r->machine->title);
}
/* Other names, which bf_lines_find_file reads. */
static int parse_also(reader *r) {
  char *names;
  return bf_lines_take_rest(&r->lines, "other names", &names);
}
static int parse_source(reader *r) { return bf_lines_take_source(&r->lines); }

/* ---- lanes, banks, word_bytes, capacity_bytes, serve ---- */

/* The number that the line's key names. */
static int take_quantity(reader *r, uint64_t *value) {
  const char *quantity = r->lines.word[0], *cursor = peek(r);
  if (!bf_parse_number(&cursor, value) || *cursor)
    return FAIL(r->lines.next, "expected a whole number");
  const char *allowed = bf_machine_refuses(quantity, *value);
  if (allowed)
    return FAIL(r->lines.next, "%s must be %s", quantity, allowed);
  r->lines.next++;
  return BF_OK;
}

static int parse_lanes(reader *r) {
  uint64_t value;
  BF_TRY(take_quantity(r, &value));
  r->machine->lanes = (unsigned)value;
  return BF_OK;
}

static int parse_banks(reader *r) {
  uint64_t value;
  BF_TRY(take_quantity(r, &value));
  r->machine->bank_bits = (unsigned)__builtin_ctzll(value);
  return BF_OK;
}

static int parse_word_bytes(reader *r) {
  uint64_t value;
  BF_TRY(take_quantity(r, &value));
  r->machine->word_bytes = (unsigned)value;
  return BF_OK;
}

static int parse_capacity_bytes(reader *r) { return take_quantity(r, &r->machine->capacity_bytes); }

/* The position of the next word in names, which NULL ends. */
static int take_choice(reader *r, const char *what, const char *const *names, unsigned *choice) {
  for (unsigned i = 0; names[i]; i++)
    if (take(r, names[i])) {
      *choice = i;
      return BF_OK;
    }
  char list[160] = "";
  size_t used = 0;
  for (unsigned i = 0; names[i] && used < sizeof list; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, " %s", names[i]);
  return FAIL(r->lines.next, "expected %s, one of:%s", what, list);
}

static int parse_serve(reader *r) {
  static const char *const names[] = {[BF_SERVE_DISTINCT_WORDS] = "distinct-words",
                                      [BF_SERVE_ROW_PAIRS] = "row-pairs",
                                      [BF_SERVE_ONE_BROADCAST] = "one-broadcast",
                                      NULL};
  unsigned choice = 0;
  BF_TRY(take_choice(r, "how banks serve", names, &choice));
  r->machine->serve = (bf_serve)choice;
  return BF_OK;
}

/* ---- groups ---- */

/* One lane set: lanes and ranges of lanes joined by '+', as in 0-3+20-23. */
static int take_lane_set(reader *r, uint64_t taken, uint64_t *mask) {
  const char *start = r->lines.word[r->lines.next], *cursor = start;
  *mask = 0;
  do {
    const char *at = place(r, r->lines.next) + (cursor - start);
    uint64_t first, last;
    if (!bf_parse_number(&cursor, &first))
      return FAIL_AT(at, "expected a lane");
    last = first;
    if (*cursor == '-' && cursor++ && !bf_parse_number(&cursor, &last))
      return FAIL_AT(at, "expected a range of lanes, as in 0-7");
    if (last < first || last >= r->machine->lanes)
      return FAIL_AT(at, "lanes go up from 0 to %u", r->machine->lanes - 1);
    uint64_t lanes = bf_gf2_low_bits((unsigned)(last - first + 1)) << first;
    if (lanes & (taken | *mask))
      return FAIL_AT(at, "a lane is already in a group");
    *mask |= lanes;
  } while (*cursor == '+' && cursor++);
  if (*cursor)
    return FAIL(r->lines.next, "expected lanes and ranges joined by '+', as in 0-3+20-23");
  r->lines.next++;
  return BF_OK;
}

/* Which lanes are served together: one number N for N neighbours, or lane sets. */
static int take_lanes(reader *r, bf_groups *groups) {
  unsigned lanes = r->machine->lanes;
  if (!lanes)
    return FAIL(r->lines.next, "the line with the number of lanes must come first");
  const char *first = peek(r);
  if (strspn(first, "0123456789") == strlen(first)) {
    BF_TRY(take_number(r, "lanes served together", 1, lanes, &groups->contiguous));
    bf_groups_fill(groups, lanes);
    return BF_OK;
  }
  uint64_t taken = 0;
  do {
    uint64_t mask;
    BF_TRY(take_lane_set(r, taken, &mask));
    taken |= mask;
    groups->mask[groups->count++] = mask;
  } while (*peek(r) >= '0' && *peek(r) <= '9');
  return BF_OK;
}

/* Every lane of the machine must be in a group of a side. */
static int check_all_lanes(reader *r, const bf_groups *groups, unsigned index) {
  uint64_t missing = bf_gf2_low_bits(r->machine->lanes);
  for (unsigned i = 0; i < groups->count; i++)
    missing &= ~groups->mask[i];
  if (missing)
    return FAIL(index, "lane %d is in no group", __builtin_ctzll(missing));
  return BF_OK;
}

/* Widths in bytes joined by commas, as a set of width indices. */
static int take_widths(reader *r, unsigned *set) {
  const char *start = peek(r), *cursor = start;
  *set = 0;
  do {
    const char *at = place(r, r->lines.next) + (cursor - start);
    uint64_t width;
    if (!bf_parse_number(&cursor, &width) || bf_machine_refuses("word_bytes", width))
      return FAIL_AT(at, "expected widths in bytes: 1, 2, 4, 8 and 16, joined by commas");
    *set |= 1u << bf_width_index((unsigned)width);
  } while (*cursor == ',' && cursor++);
  if (*cursor)
    return FAIL(r->lines.next, "expected widths in bytes: 1, 2, 4, 8 and 16, joined by commas");
  r->lines.next++;
  return BF_OK;
}

/* groups SIDE WIDTHS LANES [pair-merge] [split-words] [extra N] */
static int parse_groups(reader *r) {
  static const char *const sides[] = {
      [BF_SIDE_LOAD] = "load", [BF_SIDE_STORE] = "store", [BF_SIDE_ATOMIC] = "atomic", NULL};
  bf_groups groups = {.estimated = bf_lines_is_assumed(&r->lines)};
  unsigned side = 0, widths = 0;
  BF_TRY(take_choice(r, "a side", sides, &side));
  BF_TRY(take_widths(r, &widths));
  unsigned lanes_word = r->lines.next;
  BF_TRY(take_lanes(r, &groups));
  BF_TRY(check_all_lanes(r, &groups, lanes_word));
  for (bool more = true; more;) {
    if (take(r, "pair-merge"))
      groups.pair_merge = true;
    else if (take(r, "split-words"))
      groups.split_words = true;
    else if (take(r, "extra"))
      BF_TRY(take_number(r, "extra", 0, MOST_TIMES, &groups.extra));
    else
      more = false;
  }
  for (unsigned i = 0; i < BF_WIDTHS; i++) {
    if (!(widths >> i & 1))
      continue;
    if (r->machine->groups[side][i].count)
      return FAIL(2, "groups of %s %u are given twice", sides[side], 1u << i);
    r->machine->groups[side][i] = groups;
  }
  return BF_OK;
}

/* ---- op ---- */

/* One option behind the rule of an op; *found is false if the next word starts none. */
static int take_op_option(reader *r, bf_op_rule *rule, bool *found) {
  static const char *const states[] = {"read", "update", "write", "branch"};
  *found = true;
  if (take(r, "times"))
    return take_number(r, "times", 1, MOST_TIMES, &rule->times);
  if (take(r, "locks")) {
    BF_TRY(take_number(r, "locks", 1, MOST_LOCKS, &rule->locks));
    if (rule->locks & (rule->locks - 1))
      return FAIL(r->lines.next - 1, "the number of locks must be a power of two");
    return BF_OK;
  }
  if (take(r, "groups")) {
    memset(&rule->groups, 0, sizeof rule->groups);
    return take_lanes(r, &rule->groups);
  }
  for (unsigned i = 0; i < 4; i++)
    if (take(r, states[i]))
      return take_number(r, "cycles", 0, MOST_CYCLES, &rule->cycles[i]);
  *found = false;
  return BF_OK;
}

/* op NAME RULE [times N] [groups LANES] [locks N] [read N] [update N] [write N] [branch N] */
static int parse_op(reader *r) {
  static const char *const rules[] = {[BF_RULE_NONE] = "none",
                                      [BF_RULE_WORDS] = "words",
                                      [BF_RULE_ACCESSES] = "accesses",
                                      [BF_RULE_LOCK_LOOP] = "lock-loop",
                                      [BF_RULE_LOCK_LOOP_HALVES] = "lock-loop-halves",
                                      [BF_RULE_LOCK_TABLE] = "lock-table",
                                      [BF_RULE_SECTOR_COPY] = "sector-copy",
                                      NULL};
  int op = bf_op_find(peek(r));
  if (op < 0)
    return FAIL(r->lines.next, "unknown operation '%.40s'", peek(r));
  if (r->machine->op[op].times)
    return FAIL(r->lines.next, "operation '%s' is given twice", bf_op_name((bf_op)op));
  r->lines.next++;
  bf_op_rule rule = {.times = 1};
  unsigned choice = 0;
  BF_TRY(take_choice(r, "a rule", rules, &choice));
  rule.rule = (bf_rule)choice;
  for (bool found = true; found;)
    BF_TRY(take_op_option(r, &rule, &found));
  if ((rule.rule == BF_RULE_LOCK_TABLE) != (rule.locks != 0))
    return FAIL(2, "a lock-table, and only that, has 'locks N'");
  rule.estimated = bf_lines_is_assumed(&r->lines);
  r->machine->op[op] = rule;
  return BF_OK;
}

/* ---- Lines ---- */

typedef struct key {
  const char *name;
  int (*parse)(reader *r);
  bool is_fact;       /* ends in basis and source */
  bool is_required;   /* once and only once; otherwise any number of times */
  unsigned key_words; /* how many words name the fact */
} key;

static const key keys[] = {
    {"name", parse_name, false, true, 1},
    {"title", parse_title, false, true, 1},
    {"also", parse_also, false, false, 1},
    {"source", parse_source, false, false, 1},
    {"lanes", parse_lanes, true, true, 1},
    {"banks", parse_banks, true, true, 1},
    {"word_bytes", parse_word_bytes, true, true, 1},
    {"capacity_bytes", parse_capacity_bytes, true, true, 1},
    {"serve", parse_serve, true, true, 1},
    {"groups", parse_groups, true, false, 3},
    {"op", parse_op, true, false, 2},
};
enum { KEYS = sizeof keys / sizeof *keys };

static int add_fact(reader *r, const key *k) {
  bf_machine *machine = r->machine;
  return bf_lines_fact(&r->lines, k->key_words, &machine->facts[machine->fact_count++]);
}

static int parse_line(reader *r) {
  if (r->lines.words == 0)
    return BF_OK;
  unsigned index = 0;
  while (index < KEYS && strcmp(r->lines.word[0], keys[index].name) != 0)
    index++;
  if (index == KEYS)
    return FAIL(0, "unknown key '%.40s'", r->lines.word[0]);
  const key *k = &keys[index];
  if (k->is_required && (r->seen >> index & 1))
    return FAIL(0, "%s is given twice", k->name);
  r->seen |= (uint64_t)1 << index;
  if (k->is_fact)
    BF_TRY(bf_lines_take_basis(&r->lines));
  r->lines.next = 1;
  BF_TRY(k->parse(r));
  BF_TRY(bf_lines_expect_end(&r->lines));
  return k->is_fact ? add_fact(r, k) : BF_OK;
}

/* ---- The whole file ---- */

/* True if side has lane groups for all widths of op. */
static bool has_groups(const bf_machine *machine, bf_side side, bf_op op) {
  unsigned fixed = bf_op_fixed_width(op);
  for (unsigned i = 0; i < BF_WIDTHS; i++)
    if ((!fixed || fixed == 1u << i) && !machine->groups[side][i].count)
      return false;
  return true;
}

/* Required keys, loads and stores are there, and every operation knows its lane groups. */
static int check_complete(reader *r) {
  const bf_machine *machine = r->machine;
  for (unsigned i = 0; i < KEYS; i++)
    if (keys[i].is_required && !(r->seen >> i & 1))
      return FAIL(0, "the file ends without '%s'", keys[i].name);
  if (!machine->op[BF_OP_LD].rule || !machine->op[BF_OP_ST].rule)
    return FAIL(0, "the file ends without 'op ld' or 'op st'");
  if (!has_groups(machine, BF_SIDE_LOAD, BF_OP_LD) || !has_groups(machine, BF_SIDE_STORE, BF_OP_ST))
    return FAIL(0, "the file ends without groups for all widths of loads and stores");
  for (unsigned op = 0; op < BF_OP_COUNT; op++) {
    const bf_op_rule *rule = &machine->op[op];
    if (rule->rule && !rule->groups.count && !has_groups(machine, bf_op_side((bf_op)op), (bf_op)op))
      return FAIL(0, "the file ends without groups for operation '%s'", bf_op_name((bf_op)op));
  }
  bf_diagnostic problem;
  int error = bf_machine_measure(r->machine, &problem);
  if (error == BF_NO_MEMORY)
    return bf_lines_no_memory(&r->lines);
  return error ? FAIL_AT(r->lines.line, "%s", problem.message) : BF_OK;
}

/* As many facts as there are lines. */
static int make_room(reader *r, const char *text) {
  size_t lines = 1;
  for (const char *at = text; (at = strchr(at, '\n')); at++)
    lines++;
  r->machine->facts = bf_arena_alloc(&r->machine->arena, lines * sizeof *r->machine->facts);
  return r->machine->facts ? BF_OK : bf_lines_no_memory(&r->lines);
}

static int parse_text(reader *r, const char *text) {
  BF_TRY(make_room(r, text));
  BF_TRY(bf_lines_begin(&r->lines, text));
  while (*text) {
    BF_TRY(bf_lines_next(&r->lines, &text));
    BF_TRY(parse_line(r));
  }
  r->machine->source_name = r->lines.source_name;
  r->machine->source_text = r->lines.source_text;
  r->machine->source_count = r->lines.source_count;
  return check_complete(r);
}

int bf_machine_parse(const char *file, const char *text, bf_machine **machine,
                     bf_diagnostic *diagnostic) {
  *machine = NULL;
  reader r = {.lines = {.file = file, .diagnostic = diagnostic},
              .machine = calloc(1, sizeof(bf_machine))};
  if (!r.machine)
    return bf_lines_no_memory(&r.lines);
  r.lines.arena = &r.machine->arena;
  int error = parse_text(&r, text);
  if (error) {
    bf_machine_free(r.machine);
    return error;
  }
  *machine = r.machine;
  return BF_OK;
}
