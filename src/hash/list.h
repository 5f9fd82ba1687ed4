/* hash/list: the text of a file of hashes, for those who read it once and hand it on: the file may
 * be a pipe. */
#ifndef BF_HASH_LIST_H
#define BF_HASH_LIST_H

#include "hash/hash.h"

/* Adds the text of a file of hashes, for bf_hash_list_parse. */
int bf_hash_list_read_text(const char *path, bf_text *text, bf_diagnostic *diagnostic);

#endif
