/* What the wrappers of NVIDIA's compilers share: settings, which travel in the environment, and
 * rewriting the PTX on its way (docs/nvcc.md). A compiler is never kept from its work: what cannot
 * be rewritten, for whatever reason, is compiled as it is. */
#ifndef BF_CLI_WRAP_H
#define BF_CLI_WRAP_H

#include "cli/cli.h"
#include "exchange/settings.h"
#include "rewrite/listed.h"

/* The options of a wrapper. */
typedef struct cli_wrap_options {
  const char *hash, *hash_file, *log;
  bool dynamic_rounded;
} cli_wrap_options;

#define CLI_WRAP(type, member)                                                                     \
  {"hash",                                                                                         \
   CLI_TEXT,                                                                                       \
   offsetof(type, member.hash),                                                                    \
   "HASH",                                                                                         \
   NULL,                                                                                           \
   "hash of the kernels that --hash-file does not name; auto (default without --hash-file, "       \
   "which else leaves them alone): for each kernel what is predicted to win"},                     \
      {"hash-file", CLI_TEXT, offsetof(type, member.hash_file),                                    \
       "FILE",      NULL,     "hashes of single kernels: lines KERNEL HASH, * for all others"},    \
      {"dynamic-rounded",                                                                          \
       CLI_FLAG,                                                                                   \
       offsetof(type, member.dynamic_rounded),                                                     \
       NULL,                                                                                       \
       NULL,                                                                                       \
       "launches have room for static arrays that padding makes larger before dynamic ones"},      \
  {                                                                                                \
    "log", CLI_TEXT, offsetof(type, member.log), "FILE", NULL,                                     \
        "write what was done to FILE; stderr: to standard error"                                   \
  }

/* Refuses hashes that programs cannot be rewritten with; NULL: none is given. The text of a file
 * that cannot be read again, <(...), is added to content, and has to be handed on. */
int cli_wrap_check(const char *hash_file, const char *hash, bf_text *content,
                   bf_diagnostic *diagnostic);
/* Puts settings into the environment, with the file of hashes, or its content where there is some.
 */
int cli_wrap_put_hashes(const char *hash_file, const bf_text *content, bf_rewriting_settings *told,
                        bf_diagnostic *diagnostic);
/* Puts options into the environment, from where this process and those that it starts take them. An
 * error where a hash cannot be read or used. */
int cli_wrap_put(const cli_wrap_options *options, bf_diagnostic *diagnostic);

/* The settings of the environment. */
typedef struct cli_wrap {
  bf_hash_list *hashes;
  bf_hash *otherwise;
  bool is_auto; /* kernels that hashes does not name get what is predicted to win */
  bf_listed listed;
  bf_rewriting_settings settings;
} cli_wrap;

/* Free it also where that fails. */
int cli_wrap_get(cli_wrap *wrap, bf_diagnostic *diagnostic);
void cli_wrap_free(cli_wrap *wrap);

/* Rewrites PTX, which the log calls name, into an empty text, which stays empty where that changes
 * nothing, and where it is no PTX. ptxas (NULL: it is not asked) and arch are as in bf_compiling.
 */
int cli_wrap_rewrite(const cli_wrap *wrap, const char *name, const bf_text *ptx, const char *ptxas,
                     const char *arch, bf_text *rewritten, bf_diagnostic *diagnostic);
/* The same for the PTX of a file. */
int cli_wrap_rewrite_file(const cli_wrap *wrap, const char *file, const char *name,
                          const char *ptxas, const char *arch, bf_text *rewritten,
                          bf_diagnostic *diagnostic);
/* Adds a line to the log. */
void cli_wrap_log(const cli_wrap *wrap, const char *format, ...) BF_PRINTF(2, 3);
/* Says in the log and on standard error that something is compiled as it is, and why. */
void cli_wrap_warn(const cli_wrap *wrap, const bf_diagnostic *diagnostic);

/* cicc in the place of NVIDIA's: runs it, and rewrites the PTX that it writes. The exit status. */
int cli_cicc(char **argv);

#endif
