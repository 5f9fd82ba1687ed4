/* The options of commands that find conflicts, for those who run them to keep conflicts out
 * (docs/ci.md). */
#ifndef BF_CLI_GATE_H
#define BF_CLI_GATE_H

#include "cli/cli.h"
#include "report/gate.h"

typedef struct cli_gate {
  const char *max_conflicts, *max_wavefronts, *baseline, *save_baseline, *sarif;
  bool annotate;
} cli_gate;

#define CLI_GATE(type)                                                                              \
  {"max-conflicts",                                                                                 \
   CLI_TEXT,                                                                                        \
   offsetof(type, gate.max_conflicts),                                                              \
   "N",                                                                                             \
   NULL,                                                                                            \
   "exit with status 1 if there are more than N conflicts (with --baseline: N more than there)"},   \
      {"max-wavefronts",         CLI_TEXT, offsetof(type, gate.max_wavefronts), "N", NULL,          \
       "the same for wavefronts"},                                                                  \
      {"baseline", CLI_TEXT, offsetof(type, gate.baseline),                                         \
       "FILE",     NULL,     "exit with status 1 where a place has more conflicts than FILE says"}, \
      {"save-baseline", CLI_TEXT, offsetof(type, gate.save_baseline),                               \
       "FILE",          NULL,     "write what there is now, for --baseline"},                       \
      {"sarif", CLI_TEXT, offsetof(type, gate.sarif),                                               \
       "FILE",  NULL,     "write conflicts as SARIF, for code scanning"},                           \
  {                                                                                                 \
    "annotate", CLI_FLAG, offsetof(type, gate.annotate), NULL, NULL,                                \
        "print conflicts as annotations of GitHub, on standard error"                               \
  }

/* Refuses limits that are no numbers: -1 to go on or an exit status. */
int cli_gate_check(const cli_command *command, const cli_gate *gate);
/* Whether any of the options is given. */
bool cli_gate_is_wanted(const cli_gate *gate);
/* Compares what was found with what is allowed, writes what is asked for, and says what is too
 * much. The exit status: status, where that is not 0, or CLI_FINDINGS. */
int cli_gate_finish(const cli_gate *gate, bf_gate *found, int status);

#endif
