/* BLIF to a netlist: .inputs, .outputs, .gate or .subckt with .cname behind it, and .names as
 * constants and assignments, which is all that synthesis leaves. Cells are put in an order in which
 * each comes behind those that drive it. */
#include "rtl/netlist.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_THINGS = 1 << 20 };

typedef struct slot {
  const char *name; /* NULL: free */
  unsigned net;
} slot;

typedef struct builder {
  bf_netlist *netlist;
  const char *file;
  unsigned line;
  unsigned slots; /* a power of two */
  slot *table;    /* nets by name */
  bf_diagnostic *diagnostic;
} builder;

static int fail_line(const builder *b, const char *format, const char *what) {
  bf_fail_file(b->diagnostic, BF_BAD_INPUT, b->file, format, what);
  if (b->diagnostic)
    b->diagnostic->line = b->line;
  return BF_BAD_INPUT;
}

/* ---- Nets ---- */

static uint64_t hash_name(const char *name) {
  uint64_t hash = 14695981039346656037u;
  for (; *name; name++)
    hash = (hash ^ (unsigned char)*name) * 1099511628211u;
  return hash;
}

/* The number of the net called name; a new one where there is none yet. */
static int net_of(builder *b, const char *name, unsigned *net) {
  bf_netlist *netlist = b->netlist;
  uint64_t at = hash_name(name);
  while (b->table[at & (b->slots - 1)].name) {
    const slot *found = &b->table[at++ & (b->slots - 1)];
    if (strcmp(found->name, name) == 0) {
      *net = found->net;
      return BF_OK;
    }
  }
  if (netlist->nets + 1 >= b->slots / 2)
    return fail_line(b, "too many nets", NULL);
  char *copy = bf_arena_copy(&netlist->arena, name);
  if (!copy)
    return bf_no_memory(b->diagnostic);
  *net = netlist->nets++;
  netlist->net_name[*net] = copy;
  b->table[at & (b->slots - 1)] = (slot){copy, *net};
  return BF_OK;
}

unsigned bf_netlist_find(const bf_netlist *netlist, const char *name) {
  unsigned net = 0;
  while (net < netlist->nets && strcmp(netlist->net_name[net], name) != 0)
    net++;
  return net;
}

/* ---- Statements ---- */

static int add_ports(builder *b, char *rest, unsigned *list, unsigned *count) {
  for (char *name; (name = strsep(&rest, " "));)
    if (*name)
      BF_TRY(net_of(b, name, &list[(*count)++]));
  return BF_OK;
}

/* "PIN=net ..." of a cell. */
static int add_cell(builder *b, char *rest) {
  char *name = strsep(&rest, " ");
  bf_netlist_cell *made = &b->netlist->cell[b->netlist->cells];
  made->cell = bf_liberty_find(b->netlist->library, name);
  if (!made->cell)
    return fail_line(b, "the library has no cell '%.60s'", name);
  if (!made->cell->is_known)
    return fail_line(b, "cell '%.60s' has functions that cannot be read", name);
  for (char *pair; (pair = strsep(&rest, " "));) {
    char *net = strchr(pair, '=');
    if (!net)
      continue;
    *net++ = 0;
    if (made->pins == BF_NETLIST_PINS)
      return fail_line(b, "cell '%.60s' has too many pins", name);
    const bf_liberty_pin *pin = bf_liberty_find_pin(made->cell, pair);
    if (!pin)
      return fail_line(b, "the cell has no pin '%.60s'", pair);
    made->pin[made->pins] = pin;
    BF_TRY(net_of(b, net, &made->net[made->pins++]));
  }
  b->netlist->cells++;
  return BF_OK;
}

/* The cell of the statement before has a name. */
static int name_cell(builder *b, const char *name) {
  bf_netlist *netlist = b->netlist;
  bf_netlist_cell *last = netlist->cells ? &netlist->cell[netlist->cells - 1] : NULL;
  if (!last || !last->cell || last->name || !*name)
    return fail_line(b, "'.cname' that names no cell", NULL);
  last->name = bf_arena_copy(&netlist->arena, name);
  return last->name ? BF_OK : bf_no_memory(b->diagnostic);
}

static void add_assignment(bf_netlist *netlist, unsigned source, unsigned target) {
  netlist->cell[netlist->cells++] = (bf_netlist_cell){.pins = 2, .net = {source, target}};
}

/* The first net of that value stands for it; others are assigned from it. */
static void set_constant(bf_netlist *netlist, unsigned *constant, unsigned net) {
  if (*constant == MOST_THINGS)
    *constant = net;
  else
    add_assignment(netlist, *constant, net);
}

/* ".names source target" with the line "1 1" is an assignment; ".names target" a constant, which is
 * 1 where the line "1" follows. next is the text behind the statement's line. */
static int add_names(builder *b, char *rest, const char *next) {
  unsigned net[3], count = 0;
  for (char *name; (name = strsep(&rest, " "));) {
    if (*name && count == 2)
      return fail_line(b, "'.names' of more than one input is no standard cell", NULL);
    if (*name)
      BF_TRY(net_of(b, name, &net[count++]));
  }
  if (count == 1 && strncmp(next, "1\n", 2) == 0)
    set_constant(b->netlist, &b->netlist->one, net[0]);
  else if (count == 1 && *next != '0' && *next != '1')
    set_constant(b->netlist, &b->netlist->zero, net[0]);
  else if (count == 2 && strncmp(next, "1 1\n", 4) == 0)
    add_assignment(b->netlist, net[0], net[1]);
  else
    return fail_line(b, "'.names' that is no constant and no assignment", NULL);
  return BF_OK;
}

static int read_statement(builder *b, char *line, const char *next) {
  char *rest = line;
  char *kind = strsep(&rest, " ");
  if (!rest)
    rest = kind + strlen(kind);
  if (strcmp(kind, ".inputs") == 0)
    return add_ports(b, rest, b->netlist->input, &b->netlist->inputs);
  if (strcmp(kind, ".outputs") == 0)
    return add_ports(b, rest, b->netlist->output, &b->netlist->outputs);
  if (strcmp(kind, ".gate") == 0 || strcmp(kind, ".subckt") == 0)
    return add_cell(b, rest);
  if (strcmp(kind, ".cname") == 0)
    return name_cell(b, rest);
  if (strcmp(kind, ".names") == 0)
    return add_names(b, rest, next);
  if (*kind == '.' && strcmp(kind, ".model") != 0 && strcmp(kind, ".end") != 0)
    return fail_line(b, "'%.60s' cannot be read", kind);
  return BF_OK;
}

/* Joins lines that end with a backslash: both characters become blanks. */
static void join_lines(char *text) {
  for (char *at = text; (at = strstr(at, "\\\n"));)
    at[0] = at[1] = ' ';
}

static int read_statements(builder *b, char *text) {
  for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
    b->line++;
    if (*line && *line != '#')
      BF_TRY(read_statement(b, line, rest ? rest : ""));
  }
  return BF_OK;
}

/* ---- Order ---- */

/* Whether pin i of a cell is driven by it. */
static bool drives(const bf_netlist_cell *cell, unsigned i) {
  return cell->cell ? cell->pin[i]->is_output : i == 1;
}

static bool is_flip_flop(const bf_netlist_cell *cell) {
  return cell->cell && cell->cell->is_flip_flop;
}

/* Marks what a cell drives; false where something already does. */
static bool mark_driven(const bf_netlist_cell *cell, bool *driven) {
  for (unsigned i = 0; i < cell->pins; i++) {
    if (drives(cell, i) && driven[cell->net[i]])
      return false;
    if (drives(cell, i))
      driven[cell->net[i]] = true;
  }
  return true;
}

static bool is_ready(const bf_netlist_cell *cell, const bool *driven) {
  for (unsigned i = 0; i < cell->pins; i++)
    if (!drives(cell, i) && !driven[cell->net[i]])
      return false;
  return true;
}

static void swap_cells(bf_netlist_cell *a, bf_netlist_cell *b) {
  bf_netlist_cell keep = *a;
  *a = *b;
  *b = keep;
}

/* Flip-flops first; then whatever has all its inputs, round by round. */
static int order_cells(builder *b) {
  bf_netlist *netlist = b->netlist;
  bool *driven = bf_arena_alloc(&netlist->arena, netlist->nets + 1);
  if (!driven)
    return bf_no_memory(b->diagnostic);
  for (unsigned i = 0; i < netlist->inputs; i++)
    driven[netlist->input[i]] = true;
  driven[netlist->zero] = driven[netlist->one] = true;
  unsigned done = 0;
  for (unsigned i = 0; i < netlist->cells; i++)
    if (is_flip_flop(&netlist->cell[i]))
      swap_cells(&netlist->cell[done++], &netlist->cell[i]);
  netlist->flip_flops = done;
  for (unsigned i = 0; i < done; i++)
    if (!mark_driven(&netlist->cell[i], driven))
      return fail_line(b, "a net is driven twice", NULL);
  for (unsigned before = netlist->cells; done < netlist->cells && done != before;) {
    before = done;
    for (unsigned i = done; i < netlist->cells; i++)
      if (is_ready(&netlist->cell[i], driven)) {
        if (!mark_driven(&netlist->cell[i], driven))
          return fail_line(b, "a net is driven twice", NULL);
        swap_cells(&netlist->cell[done++], &netlist->cell[i]);
      }
  }
  return done == netlist->cells
             ? BF_OK
             : fail_line(b, "cells drive each other in a circle, or a net has no driver", NULL);
}

/* ---- All of it ---- */

/* Counts how often a character occurs: an upper bound of what has to be stored. */
static unsigned count_of(const char *text, const char *any) {
  unsigned count = 0;
  for (; *text; text++)
    count += strchr(any, *text) != NULL;
  return count;
}

static int make_room(builder *b, const char *text) {
  bf_netlist *netlist = b->netlist;
  unsigned lines = count_of(text, "\n") + 1, names = count_of(text, " \n=") + 2;
  if (names > MOST_THINGS)
    return bf_fail_file(b->diagnostic, BF_UNSUPPORTED, b->file, "the netlist is too large");
  b->slots = 4;
  while (b->slots < 4 * names)
    b->slots *= 2;
  b->table = bf_arena_alloc(&netlist->arena, b->slots * sizeof *b->table);
  netlist->net_name = bf_arena_alloc(&netlist->arena, (names + 2) * sizeof *netlist->net_name);
  netlist->cell = bf_arena_alloc(&netlist->arena, lines * sizeof *netlist->cell);
  netlist->input = bf_arena_alloc(&netlist->arena, names * sizeof *netlist->input);
  netlist->output = bf_arena_alloc(&netlist->arena, names * sizeof *netlist->output);
  if (!b->table || !netlist->net_name || !netlist->cell || !netlist->input || !netlist->output)
    return bf_no_memory(b->diagnostic);
  return BF_OK;
}

static int build(builder *b, const char *given) {
  bf_netlist *netlist = b->netlist;
  char *text = bf_arena_copy(&netlist->arena, given);
  if (!text)
    return bf_no_memory(b->diagnostic);
  join_lines(text);
  BF_TRY(make_room(b, text));
  netlist->zero = netlist->one = MOST_THINGS;
  BF_TRY(read_statements(b, text));
  /* Constants that nothing uses stand for no net. */
  netlist->zero = netlist->zero == MOST_THINGS ? netlist->nets : netlist->zero;
  netlist->one = netlist->one == MOST_THINGS ? netlist->nets : netlist->one;
  return order_cells(b);
}

int bf_netlist_parse(const char *file, const char *text, const bf_liberty *library,
                     bf_netlist **netlist, bf_diagnostic *diagnostic) {
  bf_netlist *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  made->library = library;
  builder b = {.netlist = made, .file = file, .diagnostic = diagnostic};
  int error = build(&b, text);
  if (!error)
    *netlist = made;
  else
    bf_netlist_free(made);
  return error;
}

void bf_netlist_free(bf_netlist *netlist) {
  if (!netlist)
    return;
  bf_arena_free(&netlist->arena);
  free(netlist);
}

/* ---- Sums ---- */

double bf_netlist_area(const bf_netlist *netlist) {
  double area = 0;
  for (unsigned i = 0; i < netlist->cells; i++)
    area += netlist->cell[i].cell ? netlist->cell[i].cell->area : 0;
  return area;
}

double bf_netlist_leakage_nw(const bf_netlist *netlist) {
  double leakage = 0;
  for (unsigned i = 0; i < netlist->cells; i++)
    leakage += netlist->cell[i].cell ? netlist->cell[i].cell->leakage_nw : 0;
  return leakage;
}

unsigned bf_netlist_size(const bf_netlist *netlist) {
  unsigned size = 0;
  for (unsigned i = 0; i < netlist->cells; i++)
    size += netlist->cell[i].cell != NULL;
  return size;
}
