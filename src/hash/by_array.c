/* The hashes of the arrays of a kernel as one text, and lines of a list made of it. */
#include "hash/hash.h"

#include <string.h>

void bf_hash_add_array(const char *array, const bf_hash *hash, bf_text *text) {
  bf_text_addf(text, "%s%s=%s", text->size ? ", " : "", array, hash ? hash->text : "none");
}

void bf_hash_list_write(const char *kernel, const char *hashes, bf_text *text) {
  bool is_by_array = hashes && strchr(hashes, '=');
  bf_text_addf(text, "%s %s\n", kernel, hashes && !is_by_array ? hashes : "none");
  while (is_by_array && *hashes) {
    const char *comma = strstr(hashes, ", "), *end = comma ? comma : hashes + strlen(hashes);
    int name = (int)strcspn(hashes, "=");
    bf_text_addf(text, "%s[%.*s] %.*s\n", kernel, name, hashes, (int)(end - hashes) - name - 1,
                 hashes + name + 1);
    hashes = comma ? comma + 2 : end;
  }
}
