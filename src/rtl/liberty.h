/* Liberty: libraries of standard cells as tools exchange them (.lib). Read is what area, delay and
 * power need; units become ns, pF, V, pJ and nW. */
#ifndef BF_RTL_LIBERTY_H
#define BF_RTL_LIBERTY_H

#include "base/base.h"

/* A value by output load (pF) and input slew (ns), between the points given; one row or column
 * where it depends on one of them only. */
typedef struct bf_liberty_table {
  unsigned loads, slews; /* 0: there is no table */
  const double *load, *slew;
  const double *value; /* [load * slews + slew] */
} bf_liberty_table;

/* Between the nearest points; outside of them, along the last two. */
double bf_liberty_look_up(const bf_liberty_table *table, double load_pf, double slew_ns);

typedef enum bf_liberty_sense {
  BF_SENSE_POSITIVE,
  BF_SENSE_NEGATIVE,
  BF_SENSE_BOTH
} bf_liberty_sense;

/* Timing from one input pin to the pin that has it. */
typedef struct bf_liberty_arc {
  struct bf_liberty_arc *next;
  const char *from;
  bf_liberty_sense sense;
  bf_liberty_table delay[2], slew[2]; /* of the output: 0 falls, 1 rises */
} bf_liberty_arc;

/* Energy (pJ) inside the cell when the pin switches; with a `from`, because that pin did. */
typedef struct bf_liberty_power {
  struct bf_liberty_power *next;
  const char *from;           /* or NULL */
  bf_liberty_table energy[2]; /* the pin falls, rises */
} bf_liberty_power;

enum { BF_LIBERTY_INPUTS = 6 }; /* most inputs of a function */

typedef struct bf_liberty_pin {
  struct bf_liberty_pin *next;
  const char *name;
  bool is_output, is_clock;
  double capacitance_pf;
  uint64_t truth; /* outputs: bit i is the value where input number k of the cell is bit k of i;
                     of flip-flops, inputs number `inputs` and behind it are the
                     state and its inverse */
  bool has_truth;
  bf_liberty_arc *arcs;      /* of outputs: combinational */
  bf_liberty_arc *launches;  /* of outputs: from a clock */
  bf_liberty_table setup[2]; /* of inputs: ns before the clock, where they fall or rise; by the
                                slew of the clock (in place of a load) and their own */
  bf_liberty_power *powers;
} bf_liberty_pin;

typedef struct bf_liberty_cell {
  struct bf_liberty_cell *next;
  const char *name;
  double area, leakage_nw;
  bool is_flip_flop;
  uint64_t next_state; /* flip-flops: as truth */
  bool is_known;       /* all functions could be read */
  unsigned inputs;
  const bf_liberty_pin *input[BF_LIBERTY_INPUTS];
  bf_liberty_pin *pins;
} bf_liberty_cell;

typedef struct bf_liberty {
  bf_arena arena;
  const char *name;
  double voltage;
  bf_liberty_cell *cells;
} bf_liberty;

/* Reads a library; faults are located in file. */
int bf_liberty_parse(const char *file, const char *text, bf_liberty **library,
                     bf_diagnostic *diagnostic);
/* The same for a file, which may be compressed with zstd. */
int bf_liberty_read(const char *path, bf_liberty **library, bf_diagnostic *diagnostic);
void bf_liberty_free(bf_liberty *library);
const bf_liberty_cell *bf_liberty_find(const bf_liberty *library, const char *name);
const bf_liberty_pin *bf_liberty_find_pin(const bf_liberty_cell *cell, const char *name);

/* ---- Inside: text to groups ---- */

/* "kind (argument) { attributes and groups }", or an attribute "kind : value;" or "kind (values);".
 */
typedef struct bf_liberty_group {
  struct bf_liberty_group *next, *children;
  const char *kind;
  const char *value; /* of an attribute; arguments of a group, separated by ',' */
  bool is_group;
  unsigned line;
} bf_liberty_group;

/* The outermost group of text. */
int bf_liberty_read_groups(const char *file, const char *text, bf_arena *arena,
                           bf_liberty_group **group, bf_diagnostic *diagnostic);
/* The truth table of a function over named inputs; false where it is none that can be read. */
bool bf_liberty_function(const char *text, const char *const *names, unsigned count,
                         uint64_t *truth);

#endif
