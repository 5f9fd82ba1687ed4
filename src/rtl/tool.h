/* Inside room rtl: programs that work for it. Each run has a folder of its own, which is removed
 * afterwards.
 */
#ifndef BF_RTL_TOOL_H
#define BF_RTL_TOOL_H

#include "base/base.h"
#include "exchange/settings.h"

typedef struct bf_rtl_tool {
  const char *name;     /* in messages */
  const char *program;  /* in PATH */
  bf_variable variable; /* of the environment, for a program that is elsewhere */
  const char *package;  /* of Debian, which has it */
  const char *purpose;  /* "NAME does not PURPOSE" */
} bf_rtl_tool;

extern const bf_rtl_tool bf_rtl_yosys, bf_rtl_opensta;

/* Whether the tool can be run: what its variable names, or its program in PATH. */
bool bf_rtl_has_tool(const bf_rtl_tool *tool);
/* Whether somebody wants it: its variable names something, be it there or not. */
bool bf_rtl_names_tool(const bf_rtl_tool *tool);

/* ---- Inside: one run ---- */

enum { BF_RTL_PATH_BYTES = 4096, BF_RTL_FOLDER_BYTES = 512 };

typedef struct bf_rtl_job {
  const bf_rtl_tool *tool;
  char program[BF_RTL_PATH_BYTES];
  char folder[BF_RTL_FOLDER_BYTES];
} bf_rtl_job;

/* Finds the tool and makes its folder. Close the job where that succeeds. */
int bf_rtl_job_open(const bf_rtl_tool *tool, bf_rtl_job *job, bf_diagnostic *diagnostic);
/* Puts a file into the folder: a text, or a link to a file that is elsewhere. */
int bf_rtl_job_write(const bf_rtl_job *job, const char *name, const char *text,
                     bf_diagnostic *diagnostic);
int bf_rtl_job_link(const bf_rtl_job *job, const char *name, const char *path,
                    bf_diagnostic *diagnostic);
/* Runs the tool in the folder and waits for it; what it prints is in the file BF_RTL_LOG. The
 * arguments begin with the program's name and end with NULL. */
#define BF_RTL_LOG "log"
int bf_rtl_job_run(const bf_rtl_job *job, const char *const *arguments, bf_diagnostic *diagnostic);
/* The whole of a file in the folder. */
int bf_rtl_job_read(const bf_rtl_job *job, const char *name, bf_text *text,
                    bf_diagnostic *diagnostic);
/* Fails with the last line of the log that speaks of an error, or with `otherwise`. */
int bf_rtl_job_fail(const bf_rtl_job *job, const char *otherwise, bf_diagnostic *diagnostic);
/* Removes the folder. */
void bf_rtl_job_close(const bf_rtl_job *job);

#endif
