/* process: other programs. Where they are (program.h), folders for what they write (folder.h), and
 * running them: where their output goes, how long they may take, and how they ended. */
#ifndef BF_PROCESS_H
#define BF_PROCESS_H

#include "base/base.h"

/* Exit status where a program cannot be run, as shells have it. */
enum { BF_PROCESS_NOT_RUN = 127 };

typedef struct bf_process {
  const char *path;                   /* of the program */
  char **arguments;                   /* ending with NULL */
  const char *input, *output, *error; /* files that are its standard streams; NULL: ours */
  const char *folder;                 /* that it works in; NULL: ours */
  char **environment;                 /* its variables, ending with NULL; NULL: ours */
  bool output_is_error;               /* what it prints goes where its errors go */
  bool keeps_output; /* what it prints is in output and error of its end; it reads nothing */
  bool has_terminal; /* Ctrl-C is for the program, not for this process, as are interrupts that are
                      * sent and requests to end */
  /* With one of these it is watched: it has a process group of its own, which is killed after so
   * many seconds (0: never), and once tick, called about twenty times a second, returns false. */
  double limit_seconds;
  bool (*tick)(void *context);
  void *context;
} bf_process;

typedef struct bf_process_end {
  int status;               /* as a shell gives it */
  bool is_late, is_stopped; /* it was killed: by limit_seconds, by tick */
  int signal;               /* that ended it otherwise; 0: none */
  double seconds;
  bf_text output, error; /* with keeps_output */
} bf_process_end;

/* Runs a program and waits for it. Where this process is killed, so is the program, unless it has
 * the terminal. After an error there is no end to free. */
int bf_process_run(const bf_process *process, bf_process_end *end, bf_diagnostic *diagnostic);
void bf_process_end_free(bf_process_end *end);
/* The exit status that says the same; where a signal ended the program, it ends this process. */
int bf_process_end_alike(const bf_process_end *end);

/* Becomes the program; returns an exit status only where that fails, with a message on standard
 * error as shells have it. */
int bf_process_become(const char *path, char **arguments);

/* A file in memory with that content, which programs that are run can open as path; -1 where that
 * fails. It lives as long as its descriptor, and leaves nothing behind. */
enum { BF_PROCESS_PATH_BYTES = 32 };
int bf_process_memory_file(const bf_text *content, char path[BF_PROCESS_PATH_BYTES]);

#endif
