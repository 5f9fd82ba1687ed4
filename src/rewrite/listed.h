/* rewrite/listed: rewriting whole programs, whose users name hashes once for all their
 * kernels: by a file of lines KERNEL HASH, and one hash for all others. The injection library and
 * the wrappers of NVIDIA's compilers rewrite through this. */
#ifndef BF_REWRITE_LISTED_H
#define BF_REWRITE_LISTED_H

#include "rewrite/rewrite.h"

typedef struct bf_listed {
  const bf_hash_list *hashes; /* or NULL */
  const bf_hash *otherwise;   /* of kernels that hashes does not name, or NULL */
  bool padding_has_room, is_beside, blocks_are_checked, resizes_dynamic; /* as in
                                                                            bf_rewrite_options */
} bf_listed;

/* The geometry of shared memory on GPUs, for reading hashes: 32 banks of 4 bytes in at most 256
 * KiB.
 */
extern const bf_geometry bf_listed_geometry;

/* Reads the text of a list of hashes, which file names in diagnostics (NULL: there is none), and
 * the hash of all others (NULL: none), and refuses those that kernels cannot be rewritten with.
 * Free what was read, also after an error. */
int bf_listed_read(const char *file, const char *text, const char *hash, bf_listed *listed,
                   bf_diagnostic *diagnostic);
void bf_listed_free(bf_listed *listed);

/* The hash of a kernel, or of an array of it: that of its line (bf_rewrite_listed_hash), or the one
 * of all others. NULL: it has none, or memory is exhausted. */
const bf_hash *bf_listed_hash(const bf_listed *listed, const char *kernel, const char *array);

/* bf_rewrite with the hashes of the list. */
int bf_rewrite_listed(const bf_ptx_module *module, const bf_listed *listed,
                      bf_rewrite_result *result, bf_diagnostic *diagnostic);

/* Why a kernel was not rewritten, on one line; nothing where no hash is named for it. */
void bf_listed_reason(const bf_rewrite_kernel *kernel, bf_text *text);
/* What was done to a kernel, or why not, on one line. */
void bf_listed_remark(const bf_rewrite_kernel *kernel, bf_text *text);

#endif
