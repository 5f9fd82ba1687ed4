/* report/gate: findings of commands, kept within limits: conflicts by place, compared with what is
 * allowed or with what was before, and written for those who run such checks (SARIF for code
 * scanning, annotations for GitHub). */
#ifndef BF_REPORT_GATE_H
#define BF_REPORT_GATE_H

#include "base/base.h"

/* What a place costs. */
typedef struct bf_finding {
  const char *file; /* or NULL */
  uint64_t line;    /* 0: not known */
  const char *name; /* the kernel, array or site; may be NULL */
  const char *what; /* a sentence about it, or NULL */
  uint64_t wavefronts, conflicts;
  uint64_t before; /* conflicts in the baseline, where it is compared with one */
  bool is_worse;   /* than allowed, or than before */
} bf_finding;

typedef struct bf_gate {
  bf_arena arena;
  bf_finding *finding;
  size_t findings, capacity;
  uint64_t wavefronts, conflicts; /* of all together */
} bf_gate;

/* Adds what a place costs; what was added for the same place, by file, line and name, is added up.
 * Texts are copied. */
int bf_gate_add(bf_gate *gate, const bf_finding *finding, bf_diagnostic *diagnostic);
void bf_gate_free(bf_gate *gate);

/* What is allowed. */
typedef struct bf_gate_limits {
  bool has_conflicts, has_wavefronts;
  uint64_t conflicts, wavefronts; /* in all; with a baseline: more than there */
} bf_gate_limits;

/* Marks places that have more conflicts than the text of a baseline says (NULL: without one, all
 * that have conflicts, where there are more in all than allowed). *is_bad: a limit is broken. text
 * gets a sentence to a line about what is. name is that of the baseline. */
int bf_gate_judge(bf_gate *gate, const bf_gate_limits *limits, const char *name,
                  const char *baseline, bool *is_bad, bf_text *text, bf_diagnostic *diagnostic);
/* The baseline of what there is: "bankfold baseline 1", then lines of conflicts, wavefronts and
 * place, separated by tabs. */
void bf_gate_write_baseline(const bf_gate *gate, bf_text *text);
/* SARIF 2.1.0, with a result for each place that has conflicts, or is worse with only_worse. */
void bf_gate_write_sarif(const bf_gate *gate, bool only_worse, bf_text *text);
/* Lines "::warning file=...,line=...::..." of GitHub, likewise. */
void bf_gate_write_annotations(const bf_gate *gate, bool only_worse, bf_text *text);

#endif
