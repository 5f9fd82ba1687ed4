/* Tables 5 and 6 of the document, as it prints them. Where it gives a bit-vector XOR hash an empty
 * mask (FFT-2), that is the permutation. Four of its bitwise XOR hashes have bits that depend
 * on each other, which bf_hash_parse_banks takes. */
#include "kernels/published.h"

#include <string.h>

const char *const bf_published_methods[BF_PUBLISHED_METHODS] = {
    "bit-vector XOR",
    "bitwise permutation, Givargis",
    "bitwise permutation, minimum imbalance",
    "bitwise XOR, Givargis",
    "bitwise XOR, minimum imbalance",
};

const unsigned bf_published_percent[BF_PUBLISHED_METHODS] = {96, 49, 47, 88, 97};

/* clang-format off */
const bf_published_row bf_published_rows[] = {
    {"conv-1", false, {"xor:0,1,16", "bits:0,1,2,3,5", "bits:0,1,2,3,5", "bits:0,0^1,0^2,0^3,0^5", "bits:0,1,2,3,5"}},
    {"conv-2", false, {"xor:0,4,14", "bits:0,4,5,6,7", "bits:0,4,5,6,7", "bits:0,0^4,0^5,0^6,0^7", "bits:0,4,5,6,7"}},
    {"dct8x8-1", false, {"xor:0,5,7", "bits:3,4,0,1,2", "bits:3,4,0,1,2", "bits:0^3,0^4,0^5,1^6,2^7", "bits:3,4,0^5,1^6,2^7"}},
    {"dct8x8-2", false, {"xor:0,5,7", "bits:3,4,0,1,2", "bits:3,4,0,1,2", "bits:0^3,0^4,0^5,1^6,2^7", "bits:3,4,0^5,1^6,2^7"}},
    {"dwtHaar1D", true, {"xor:0,5,15", "bits:4,3,2,1,5", "bits:4,3,2,1,5", "bits:3^8,2^7,1^6,0^5,0^4", "bits:3^8,2^7,1^6,0^5,4"}},
    {"FFT-1", true, {"xor:1,10,1", "bits:10,5,1,2,3", "bits:10,5,4,3,2", "bits:1^2,1^3,1^4,1^5,1^10", "bits:1^2,1^3,1^4,1^5,1^10"}},
    {"FFT-2", true, {"perm:1", "bits:1,2,3,4,5", "bits:1,2,3,4,5", "bits:0^1,0^2,0^3,0^4,0^5", "bits:1,2,3,4,5"}},
    {"FWT", false, {"xor:0,2,31", "bits:0,1,2,3,4", "bits:4,3,2,1,0", "bits:0^2,0^3,0^4,0^5,1^6", "bits:0^2,0^3,0^4,0^5,1^6"}},
    {"hist64", true, {"xor:6,4,1", "bits:6,7,8,9,10", "bits:8,7,6,10,9", "bits:6,6^7,6^8,7,7^8", "bits:8,7,6,10,9"}},
    {"hist256", true, {"xor:0,6,28", "bits:8,9,10,11,12", "bits:0,1,2,3,4", "bits:4^8,3^9,2^12,1^10,0^7", "bits:4^8,3^9,2^11,0^10,1^2"}},
    {"lavaMD", false, {"xor:1,6,3", "bits:3,4,5,6,7", "bits:3,4,5,6,7", "bits:0^3,0^4,0^5,1^6,2^7", "bits:3,4,5,1^6,2^7"}},
    {"LUD-1", false, {"xor:0,5,7", "bits:0,1,2,3,4", "bits:0,1,2,3,7", "bits:0^4,1^5,2^6,3^7,0^1", "bits:0^4,1^5,2^6,3^7,13"}},
    {"LUD-2", false, {"xor:0,5,15", "bits:4,0,1,2,3", "bits:4,0,1,2,3", "bits:0^4,1^5,2^6,3^7,0^8", "bits:4,0^5,1^6,2^7,3^8"}},
    {"matrix scan", false, {"xor:0,5,7", "bits:3,4,5,6,7", "bits:3,4,7,6,5", "bits:0^3,0^4,0^5,1^6,2^7", "bits:3,4,0^5,1^6,2^7"}},
    {"MRI-grid-1", true, {"xor:0,5,31", "bits:4,3,5,2,1", "bits:4,3,2,5,1", "bits:4^9,3^8,2^7,1^6,0^5", "bits:0^5,1^6,2^7,3^8,4^9"}},
    {"MRI-grid-2", true, {"xor:1,6,1", "bits:5,4,3,2,6", "bits:2,3,4,5,1", "bits:1^6,0^5,0^4,4^5,0^3", "bits:2,3,4,5,1^6"}},
    {"MRI-grid-3", true, {"xor:1,6,1", "bits:5,4,3,6,2", "bits:2,3,4,5,1", "bits:1^6,0^5,0^4,4^5,0^3", "bits:2,3,4,5,1^6"}},
    {"MRI-grid-4", true, {"xor:0,5,3", "bits:2,3,4,6,5", "bits:6,3,2,5,4", "bits:0^2,3^6,2^3,2^4,1^4", "bits:6,3,2,0^4,1^5"}},
    {"NW-1", true, {"xor:0,5,7", "bits:4,5,6,1,0", "bits:4,5,6,7,0", "bits:1^4,2^5,0^6,4^5,3^7", "bits:0^5,2^4,3^6,1^7,4"}},
    {"NW-2", true, {"xor:0,5,15", "bits:4,5,6,1,0", "bits:4,5,6,7,0", "bits:1^4,2^5,0^6,4^5,3^7", "bits:1^4,2^5,3^6,0^7,4"}},
    {"reduction", true, {"xor:0,5,7", "bits:4,3,5,2,1", "bits:4,3,2,1,5", "bits:2^7,1^6,0^5,0^4,4^5", "bits:2^7,1^6,0^5,4,3"}},
    {"transpose", false, {"xor:0,4,14", "bits:0,4,1,2,3", "bits:0,4,1,2,3", "bits:0,0^4,1^4,1^5,2^6", "bits:0,4,1^5,2^6,3^7"}},
    {NULL, false, {NULL}},
};
/* clang-format on */

const bf_published_row *bf_published_find(const char *name) {
  for (const bf_published_row *at = bf_published_rows; at->name; at++)
    if (strcmp(at->name, name) == 0)
      return at;
  return NULL;
}
