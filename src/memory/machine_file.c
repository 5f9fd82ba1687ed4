/* Machine files (docs/machines.md), read line by line. Each line starts with a key, and the
 * function named after the key reads the rest. A line that states a fact ends in its basis and the
 * name of its source, which a source line must have declared further up. */
#include "memory/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 128, MOST_TIMES = 1024, MOST_LOCKS = 1 << 20, MOST_CYCLES = 1000000 };

typedef struct reader {
  const char *file;
  bf_machine *machine;
  bf_diagnostic *diagnostic;
  uint64_t line_number;
  char *line;  /* the line without its comment, for diagnostics */
  char *split; /* the same with zeros between the words */
  char *word[MOST_WORDS];
  unsigned words; /* in the line; for facts without basis and source */
  unsigned next;  /* the word to read next */
  uint64_t seen;  /* bit i: keys[i] was given */
} reader;

#define FAIL_AT(at, ...)                                                                           \
  bf_fail_at(r->diagnostic, r->file, r->line_number, r->line, at, __VA_ARGS__)
/* A fault in word number index. */
#define FAIL(index, ...) FAIL_AT(place(r, index), __VA_ARGS__)

static int no_memory(reader *r) { return bf_fail(r->diagnostic, BF_NO_MEMORY, "out of memory"); }

/* Where word number index starts in the line; the end of the line when there is no such word. */
static const char *place(const reader *r, unsigned index) {
  if (index < r->words)
    return r->line + (r->word[index] - r->split);
  return r->words ? place(r, r->words - 1) + strlen(r->word[r->words - 1]) : r->line;
}

/* The next word without taking it; "" at the end. */
static const char *peek(const reader *r) { return r->next < r->words ? r->word[r->next] : ""; }

/* Takes the next word if it is text. */
static bool take(reader *r, const char *text) {
  if (strcmp(peek(r), text) != 0)
    return false;
  r->next++;
  return true;
}

/* Takes a whole number from least to most. */
static int take_number(reader *r, const char *what, uint64_t least, uint64_t most,
                       unsigned *value) {
  const char *cursor = peek(r);
  uint64_t number;
  if (!bf_parse_number(&cursor, &number) || *cursor)
    return FAIL(r->next, "expected %s: a whole number", what);
  if (number < least || number > most)
    return FAIL(r->next, "%s must be from %llu to %llu", what, (unsigned long long)least,
                (unsigned long long)most);
  *value = (unsigned)number;
  r->next++;
  return BF_OK;
}

static int expect_end(reader *r) {
  if (r->next < r->words)
    return FAIL(r->next, "unexpected '%.40s'", peek(r));
  return BF_OK;
}

/* ---- name, title, source ---- */

static bool is_name(const char *text) {
  return *text &&
         strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
             strlen(text);
}

static int take_name(reader *r, const char *what, char **name) {
  if (!is_name(peek(r)))
    return FAIL(r->next, "expected %s: letters, digits, '-' and '_'", what);
  *name = bf_arena_copy(&r->machine->arena, peek(r));
  r->next++;
  return *name ? BF_OK : no_memory(r);
}

/* The rest of the line, as written. */
static int take_rest(reader *r, const char *what, char **text) {
  if (r->next >= r->words)
    return FAIL(r->next, "expected %s", what);
  *text = bf_arena_copy(&r->machine->arena, place(r, r->next));
  r->next = r->words;
  return *text ? BF_OK : no_memory(r);
}

static int parse_name(reader *r) { return take_name(r, "a name", &r->machine->name); }
static int parse_title(reader *r) { return take_rest(r, "a title", &r->machine->title); }

static bool is_source(const bf_machine *machine, const char *name) {
  for (size_t i = 0; i < machine->source_count; i++)
    if (strcmp(machine->source_name[i], name) == 0)
      return true;
  return false;
}

static int parse_source(reader *r) {
  bf_machine *machine = r->machine;
  if (is_source(machine, peek(r)))
    return FAIL(r->next, "source '%.40s' is declared twice", peek(r));
  char *name, *text;
  BF_TRY(take_name(r, "the name of the source", &name));
  BF_TRY(take_rest(r, "what the source is", &text));
  machine->source_name[machine->source_count] = name;
  machine->source_text[machine->source_count++] = text;
  return BF_OK;
}

/* ---- lanes, banks, word_bytes, capacity_bytes, serve ---- */

/* The number that the line's key names. */
static int take_quantity(reader *r, uint64_t *value) {
  const char *quantity = r->word[0], *cursor = peek(r);
  if (!bf_parse_number(&cursor, value) || *cursor)
    return FAIL(r->next, "expected a whole number");
  const char *allowed = bf_machine_refuses(quantity, *value);
  if (allowed)
    return FAIL(r->next, "%s must be %s", quantity, allowed);
  r->next++;
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
  return FAIL(r->next, "expected %s, one of:%s", what, list);
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

/* True if the fact of this line is assumed. */
static bool is_assumed(const reader *r) { return strcmp(r->word[r->words], "assumed") == 0; }

/* One lane set: lanes and ranges of lanes joined by '+', as in 0-3+20-23. */
static int take_lane_set(reader *r, uint64_t taken, uint64_t *mask) {
  const char *start = r->word[r->next], *cursor = start;
  *mask = 0;
  do {
    const char *at = place(r, r->next) + (cursor - start);
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
    return FAIL(r->next, "expected lanes and ranges joined by '+', as in 0-3+20-23");
  r->next++;
  return BF_OK;
}

/* Which lanes are served together: one number N for N neighbours, or lane sets. */
static int take_lanes(reader *r, bf_groups *groups) {
  unsigned lanes = r->machine->lanes;
  if (!lanes)
    return FAIL(r->next, "the line with the number of lanes must come first");
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
    const char *at = place(r, r->next) + (cursor - start);
    uint64_t width;
    if (!bf_parse_number(&cursor, &width) || bf_machine_refuses("word_bytes", width))
      return FAIL_AT(at, "expected widths in bytes: 1, 2, 4, 8 and 16, joined by commas");
    *set |= 1u << bf_width_index((unsigned)width);
  } while (*cursor == ',' && cursor++);
  if (*cursor)
    return FAIL(r->next, "expected widths in bytes: 1, 2, 4, 8 and 16, joined by commas");
  r->next++;
  return BF_OK;
}

/* groups SIDE WIDTHS LANES [pair-merge] [split-words] [extra N] */
static int parse_groups(reader *r) {
  static const char *const sides[] = {
      [BF_SIDE_LOAD] = "load", [BF_SIDE_STORE] = "store", [BF_SIDE_ATOMIC] = "atomic", NULL};
  bf_groups groups = {.estimated = is_assumed(r)};
  unsigned side = 0, widths = 0;
  BF_TRY(take_choice(r, "a side", sides, &side));
  BF_TRY(take_widths(r, &widths));
  unsigned lanes_word = r->next;
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
      return FAIL(r->next - 1, "the number of locks must be a power of two");
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
    return FAIL(r->next, "unknown operation '%.40s'", peek(r));
  if (r->machine->op[op].times)
    return FAIL(r->next, "operation '%s' is given twice", bf_op_name((bf_op)op));
  r->next++;
  bf_op_rule rule = {.times = 1};
  unsigned choice = 0;
  BF_TRY(take_choice(r, "a rule", rules, &choice));
  rule.rule = (bf_rule)choice;
  for (bool found = true; found;)
    BF_TRY(take_op_option(r, &rule, &found));
  if ((rule.rule == BF_RULE_LOCK_TABLE) != (rule.locks != 0))
    return FAIL(2, "a lock-table, and only that, has 'locks N'");
  rule.estimated = is_assumed(r);
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

/* Cuts the comment and trailing blanks off the line and splits it into words. '#' starts a comment
 * at the start of the line or after a blank. */
static int split_line(reader *r) {
  char *line = r->line;
  size_t length = 0, end = 0;
  for (; line[length] && !(line[length] == '#' && (!length || strchr(" \t", line[length - 1])));
       length++)
    if (!strchr(" \t\r", line[length]))
      end = length + 1;
  line[end] = 0;
  memcpy(r->split, line, end + 1);
  r->words = r->next = 0;
  for (char *at = r->split; *at;) {
    at += strspn(at, " \t\r");
    if (!*at)
      break;
    if (r->words == MOST_WORDS)
      return FAIL_AT(line + (at - r->split), "more than %d words in a line", MOST_WORDS);
    r->word[r->words++] = at;
    at += strcspn(at, " \t\r");
    if (*at)
      *at++ = 0;
  }
  return BF_OK;
}

/* Checks basis and source at the end of the line and takes them off the words to read. */
static int check_basis(reader *r) {
  static const char *const bases[] = {"measured", "published", "assumed"};
  unsigned count = r->words;
  bool known = false;
  for (size_t i = 0; count >= 3 && i < sizeof bases / sizeof *bases; i++)
    known = known || strcmp(r->word[count - 2], bases[i]) == 0;
  if (!known)
    return FAIL(count, "a fact ends in measured, published or assumed and the name of a source");
  if (!is_source(r->machine, r->word[count - 1]))
    return FAIL(count - 1, "no source line above declares '%.40s'", r->word[count - 1]);
  r->words -= 2;
  return BF_OK;
}

/* Words from..to-1 with one blank between them. */
static char *join_words(reader *r, unsigned from, unsigned to) {
  size_t size = 1;
  for (unsigned i = from; i < to; i++)
    size += strlen(r->word[i]) + 1;
  char *text = bf_arena_alloc(&r->machine->arena, size), *end = text;
  for (unsigned i = from; text && i < to; i++)
    end += sprintf(end, "%s%s", i > from ? " " : "", r->word[i]);
  return text;
}

static int add_fact(reader *r, const key *k) {
  bf_machine *machine = r->machine;
  bf_machine_fact fact = {.key = join_words(r, 0, k->key_words),
                          .value = join_words(r, k->key_words, r->words),
                          .basis = bf_arena_copy(&machine->arena, r->word[r->words]),
                          .source = bf_arena_copy(&machine->arena, r->word[r->words + 1])};
  if (!fact.key || !fact.value || !fact.basis || !fact.source)
    return no_memory(r);
  machine->facts[machine->fact_count++] = fact;
  return BF_OK;
}

static int parse_line(reader *r) {
  BF_TRY(split_line(r));
  if (r->words == 0)
    return BF_OK;
  unsigned index = 0;
  while (index < KEYS && strcmp(r->word[0], keys[index].name) != 0)
    index++;
  if (index == KEYS)
    return FAIL(0, "unknown key '%.40s'", r->word[0]);
  const key *k = &keys[index];
  if (k->is_required && (r->seen >> index & 1))
    return FAIL(0, "%s is given twice", k->name);
  r->seen |= (uint64_t)1 << index;
  if (k->is_fact)
    BF_TRY(check_basis(r));
  r->next = 1;
  BF_TRY(k->parse(r));
  BF_TRY(expect_end(r));
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
  bf_diagnostic *diagnostic = r->diagnostic, problem;
  if (bf_machine_measure(r->machine, &problem) != BF_OK)
    return bf_fail_at(diagnostic, r->file, r->line_number, r->line, r->line, "%s", problem.message);
  return BF_OK;
}

/* Makes room for as many facts and sources as there are lines, and for the longest line. */
static int make_room(reader *r, const char *text) {
  size_t lines = 1, longest = 0;
  for (const char *at = text; *at;) {
    size_t length = strcspn(at, "\n");
    longest = length > longest ? length : longest;
    at += length + (at[length] == '\n');
    lines++;
  }
  bf_machine *machine = r->machine;
  machine->facts = bf_arena_alloc(&machine->arena, lines * sizeof *machine->facts);
  machine->source_name = bf_arena_alloc(&machine->arena, lines * sizeof(char *));
  machine->source_text = bf_arena_alloc(&machine->arena, lines * sizeof(char *));
  r->line = bf_arena_alloc(&machine->arena, longest + 1);
  r->split = bf_arena_alloc(&machine->arena, longest + 1);
  if (!machine->facts || !machine->source_name || !machine->source_text || !r->line || !r->split)
    return no_memory(r);
  return BF_OK;
}

static int parse_text(reader *r, const char *text) {
  BF_TRY(make_room(r, text));
  while (*text) {
    size_t length = strcspn(text, "\n");
    memcpy(r->line, text, length);
    r->line[length] = 0;
    r->line_number++;
    BF_TRY(parse_line(r));
    text += length + (text[length] == '\n');
  }
  return check_complete(r);
}

int bf_machine_parse(const char *file, const char *text, bf_machine **machine,
                     bf_diagnostic *diagnostic) {
  *machine = NULL;
  reader r = {.file = file, .diagnostic = diagnostic, .machine = calloc(1, sizeof(bf_machine))};
  if (!r.machine)
    return no_memory(&r);
  int error = parse_text(&r, text);
  if (error != BF_OK) {
    bf_machine_free(r.machine);
    return error;
  }
  *machine = r.machine;
  return BF_OK;
}
