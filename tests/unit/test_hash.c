/* Room hash: every form against a naive reference, every map proven a bijection over every address,
 * conversions in both directions, costs by executing them, and every error message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hash/hash.h"
#include "hash/parse.h"
#include "random.h"
#include "sanitized.h"

/* ---- Help ---- */

static bf_hash *parse_in(const char *text, unsigned bank_bits, unsigned address_bits,
                         unsigned word_bytes) {
  bf_geometry geometry = {bank_bits, address_bits, word_bytes};
  bf_diagnostic diagnostic;
  bf_hash *hash;
  if (bf_hash_parse(text, &geometry, &hash, &diagnostic) != BF_OK)
    fail_msg("%s (%u bank bits, %u address bits): %s", text, bank_bits, address_bits,
             diagnostic.message);
  return hash;
}

/* 32 banks of 4 bytes, 2^14 words. */
static bf_hash *parse(const char *text) { return parse_in(text, 5, 14, 4); }

static uint64_t words_of(const bf_hash *hash) { return (uint64_t)1 << hash->geometry.address_bits; }

static bool same_banks(const bf_hash *a, const bf_hash *b) {
  for (uint64_t word = 0; word < words_of(a); word++)
    if (bf_hash_bank(a, word) != bf_hash_bank(b, word))
      return false;
  return true;
}

/* ---- Naive banks of every form, straight from its definition ---- */

typedef struct reference {
  const char *form;
  unsigned bank_bits, address_bits, word_bytes;
  uint64_t a, b, c; /* parameters in the order written */
  int shift;        /* cute: S */
  uint64_t row[16]; /* bits, rows */
} reference;

static unsigned bit_of(uint64_t x, unsigned i) { return i < 64 ? (unsigned)(x >> i & 1) : 0; }

static uint64_t reference_xor(const reference *r, unsigned k1, unsigned k2, uint64_t mask,
                              uint64_t word) {
  uint64_t bank = 0;
  for (unsigned i = 0; i < r->bank_bits; i++)
    bank |= (uint64_t)(bit_of(word, i + k1) ^ (bit_of(mask, i) & bit_of(word, i + k2))) << i;
  return bank;
}

static uint64_t reference_rows(const reference *r, uint64_t word) {
  uint64_t bank = 0;
  for (unsigned i = 0; i < r->bank_bits; i++)
    for (unsigned j = 0; j < r->address_bits; j++)
      bank ^= (uint64_t)(bit_of(r->row[i], j) & bit_of(word, j)) << i;
  return bank;
}

/* Of the byte offset, bits [M+S, M+S+B) are XORed onto [M, M+B), or the other way for S < 0. Bits
 * past the allocation are 0 because every offset lies inside it. */
static uint64_t reference_swizzle(const reference *r, unsigned bits, unsigned base, int shift,
                                  uint64_t word) {
  uint64_t offset = word * r->word_bytes, from = shift > 0 ? base + (unsigned)shift : base;
  uint64_t to = shift > 0 ? base : base + (unsigned)-shift, result = offset;
  for (unsigned i = 0; i < bits; i++)
    result ^= (uint64_t)bit_of(offset, (unsigned)from + i) << (to + i);
  return result / r->word_bytes % (1u << r->bank_bits);
}

/* Row after row, each followed by its padding. */
static uint64_t reference_pad(uint64_t row_words, uint64_t pad_words, uint64_t word) {
  uint64_t row_start = 0;
  for (; word >= row_words; word -= row_words)
    row_start += row_words + pad_words;
  return row_start + word;
}

static uint64_t reference_bank(const reference *r, uint64_t word) {
  uint64_t banks = (uint64_t)1 << r->bank_bits;
  const char *form = r->form;
  if (strcmp(form, "none") == 0)
    return word % banks;
  if (strcmp(form, "perm") == 0)
    return word / ((uint64_t)1 << r->a) % banks;
  if (strcmp(form, "xor") == 0)
    return reference_xor(r, (unsigned)r->a, (unsigned)r->b, r->c, word);
  if (strcmp(form, "fixed") == 0)
    return word % banks ^ word / banks % banks;
  if (strcmp(form, "add") == 0)
    return (word + word / banks) % banks;
  if (strcmp(form, "mod") == 0)
    return word % r->a;
  if (strcmp(form, "cute") == 0)
    return reference_swizzle(r, (unsigned)r->a, (unsigned)r->b, r->shift, word);
  if (strcmp(form, "tma") == 0)
    return reference_swizzle(r, r->a == 32 ? 1 : r->a == 64 ? 2 : 3, 4, 3, word);
  if (strcmp(form, "pad") == 0)
    return reference_pad(r->a, r->b, word) % banks;
  return reference_rows(r, word);
}

/* Random rows of full rank: some dense, some sparse. */
static void random_rows(test_random *random, reference *r) {
  uint64_t all = ((uint64_t)1 << r->address_bits) - 1;
  bool sparse = random_below(random, 2);
  bf_gf2_basis basis = {0};
  for (unsigned i = 0; i < r->bank_bits;) {
    r->row[i] = random_bits(random) & all;
    if (sparse)
      r->row[i] &= random_bits(random) & random_bits(random);
    i += bf_gf2_insert(&basis, r->row[i]);
  }
}

static void print_reference(const reference *r, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "%s", r->form);
  if (strcmp(r->form, "perm") == 0 || strcmp(r->form, "mod") == 0 || strcmp(r->form, "tma") == 0)
    snprintf(text + used, size - used, ":%u", (unsigned)r->a);
  else if (strcmp(r->form, "xor") == 0)
    snprintf(text + used, size - used, ":%u,%u,%u", (unsigned)r->a, (unsigned)r->b, (unsigned)r->c);
  else if (strcmp(r->form, "cute") == 0)
    snprintf(text + used, size - used, ":%u,%u,%d", (unsigned)r->a, (unsigned)r->b, r->shift);
  else if (strcmp(r->form, "pad") == 0)
    snprintf(text + used, size - used, ":%u+%u", (unsigned)r->a, (unsigned)r->b);
  for (unsigned i = 0; i < r->bank_bits && strcmp(r->form, "rows") == 0; i++)
    used += (size_t)snprintf(text + used, size - used, "%c0x%llx", i ? ',' : ':',
                             (unsigned long long)r->row[i]);
  for (unsigned i = 0; i < r->bank_bits && strcmp(r->form, "bits") == 0; i++) {
    char separator = i ? ',' : ':';
    for (unsigned j = 0; j < r->address_bits; j++)
      if (bit_of(r->row[i], j)) {
        used += (size_t)snprintf(text + used, size - used, "%c%u", separator, j);
        separator = '^';
      }
  }
  if (r->bank_bits == 0 && (strcmp(r->form, "rows") == 0 || strcmp(r->form, "bits") == 0))
    snprintf(text + used, size - used, ":");
}

/* Random parameters for the form; false where the geometry has no such hash. */
static bool random_reference(test_random *random, const char *form, reference *r) {
  unsigned n = r->address_bits, m = r->bank_bits;
  r->form = form;
  if (strcmp(form, "perm") == 0)
    r->a = random_below(random, n - m + 1);
  if (strcmp(form, "xor") == 0) {
    if (n < 2)
      return false;
    r->a = random_below(random, n - m + 1);
    do
      r->b = random_below(random, n);
    while (r->b == r->a);
    r->c = random_below(random, (uint64_t)1 << m);
  }
  if (strcmp(form, "mod") == 0)
    r->a = 1 + random_below(random, (uint64_t)1 << m);
  if (strcmp(form, "pad") == 0) {
    r->a = 1 + random_below(random, (uint64_t)1 << n);
    r->b = random_below(random, ((uint64_t)1 << m) + 1);
  }
  if (strcmp(form, "tma") == 0)
    r->a = 32u << random_below(random, 3);
  if (strcmp(form, "cute") == 0) {
    unsigned word_bits = r->word_bytes == 4 ? 2 : 3;
    r->a = random_below(random, 5);
    r->b = word_bits + random_below(random, n + 1);
    r->shift = (int)(r->a + random_below(random, n + 1));
    if (random_below(random, 3) == 0)
      r->shift = -r->shift;
  }
  random_rows(random, r);
  return true;
}

/* ---- Banks, places and bijections over every address ---- */

/* The word goes to its reference bank, to a place whose low bits are the bank, inside its block,
 * and back again; so no two words share a place. */
static void check_word(const bf_hash *hash, const reference *r, uint64_t word) {
  uint64_t bank = reference_bank(r, word), block = bf_hash_block_words(hash), back;
  uint64_t place = bf_hash_place(hash, word);
  if (bf_hash_bank(hash, word) != bank || place % ((uint64_t)1 << r->bank_bits) != bank)
    fail_msg("%s: word %u in bank %u, not %u", hash->text, (unsigned)word, bf_hash_bank(hash, word),
             (unsigned)bank);
  if (block && place / block != word / block)
    fail_msg("%s: word %u leaves its block", hash->text, (unsigned)word);
  if (bf_hash_unplace(hash, place, &back) != BF_OK || back != word)
    fail_msg("%s: word %u is not recovered", hash->text, (unsigned)word);
}

/* All words, and then every place: one that holds no word says so. */
static void check_every_address(const bf_hash *hash, const reference *r) {
  uint64_t words = words_of(hash), capacity = bf_hash_capacity_words(hash, words), word;
  uint8_t *taken = capacity <= 1u << 20 ? calloc(capacity, 1) : NULL;
  for (word = 0; word < words; word++) {
    check_word(hash, r, word);
    assert_true(bf_hash_place(hash, word) < capacity);
    if (taken)
      taken[bf_hash_place(hash, word)]++;
  }
  for (uint64_t place = 0; taken && place < capacity; place++)
    if (taken[place] != (bf_hash_unplace(hash, place, &word) == BF_OK))
      fail_msg("%s: place %u holds %u words", hash->text, (unsigned)place, taken[place]);
  if (bf_hash_block_words(hash))
    assert_true(capacity == words);
  free(taken);
}

static void check_form(test_random *random, const char *form, unsigned m, unsigned n) {
  char text[2048];
  reference r = {.bank_bits = m, .address_bits = n, .word_bytes = n % 3 ? 4 : 8};
  if (!random_reference(random, form, &r))
    return;
  print_reference(&r, text, sizeof text);
  bf_hash *hash = parse_in(text, m, n, r.word_bytes);
  assert_string_equal(bf_hash_text(hash), text);
  check_every_address(hash, &r);
  bf_hash_free(hash);
}

/* Every form, every number of banks, every allocation of up to 2^16 words; 2^12 with sanitizers. */
static void every_address_of_every_form(void **state) {
  (void)state;
  test_random random = {11};
  for (unsigned n = 0; n <= (IS_SANITIZED ? 12 : 16); n++)
    for (unsigned m = 0; m <= n; m++)
      for (unsigned f = 0; bf_hash_forms[f]; f++)
        for (unsigned round = 0; round < (n < 8 ? 20 : n < 13 ? 4 : 1); round++)
          check_form(&random, bf_hash_forms[f], m, n);
}

/* Rows given as numbers are the same hash as rows given as text. */
static void rows_by_number(void **state) {
  (void)state;
  test_random random = {12};
  for (int round = 0; round < 200; round++) {
    reference r = {.bank_bits = (unsigned)round % 7, .address_bits = 10, .word_bytes = 4};
    char text[512];
    bf_geometry geometry = {r.bank_bits, 10, 4};
    bf_hash *by_number;
    random_reference(&random, "rows", &r);
    print_reference(&r, text, sizeof text);
    bf_hash *by_text = parse_in(text, r.bank_bits, 10, 4);
    assert_int_equal(bf_hash_from_rows(r.row, &geometry, &by_number, NULL), BF_OK);
    assert_string_equal(bf_hash_text(by_number), text);
    assert_memory_equal(by_number->forward.row, by_text->forward.row, sizeof r.row);
    bf_hash_free(by_number);
    bf_hash_free(by_text);
  }
}

/* The largest geometry: the longest text still fits, and 40-bit words come back. */
static void largest_geometry(void **state) {
  (void)state;
  test_random random = {13};
  reference r = {.bank_bits = 16, .address_bits = 40, .word_bytes = 16};
  char text[2048];
  r.form = "bits";
  for (unsigned i = 0; i < 16; i++)
    r.row[i] = (((uint64_t)1 << 40) - 1) & ~((uint64_t)1 << i);
  print_reference(&r, text, sizeof text);
  bf_hash *hash = parse_in(text, 16, 40, 16);
  assert_string_equal(bf_hash_text(hash), text);
  for (int i = 0; i < 100000; i++)
    check_word(hash, &r, random_below(&random, (uint64_t)1 << 40));
  bf_hash_free(hash);
}

/* ---- Conversion ---- */

static const struct conversion {
  const char *from, *form, *to; /* to NULL: no such form */
} conversions[] = {
    {"none", "fixed", NULL},
    {"none", "perm", "perm:0"},
    {"none", "xor", "xor:0,1,0"},
    {"none", "cute", "cute:0,4,3"},
    {"none", "tma", NULL},
    {"none", "bits", "bits:0,1,2,3,4"},
    {"none", "rows", "rows:0x1,0x2,0x4,0x8,0x10"},
    {"none", "add", NULL},
    {"none", "mod", "mod:32"},
    {"none", "pad", "pad:32+0"},
    {"fixed", "xor", "xor:0,5,31"},
    {"fixed", "cute", "cute:5,2,5"},
    {"fixed", "bits", "bits:0^5,1^6,2^7,3^8,4^9"},
    {"fixed", "pad", NULL},
    {"xor:0,5,31", "fixed", "fixed"},
    {"bits:0^5,1^6,2^7,3^8,4^9", "fixed", "fixed"},
    {"bits:0,1,2^5,3^6,4^7", "tma", "tma:128"},
    {"rows:0x1,0x2,0x4,0x28,0x50", "cute", "cute:2,5,2"},
    {"rows:0x1,0x2,0x24,0x48,0x90", "tma", "tma:128"},
    {"rows:0x1,0x2,0x24,0x48,0x10", "tma", "tma:64"},
    {"rows:0x1,0x2,0x24,0x8,0x10", "tma", "tma:32"},
    {"tma:128", "cute", "cute:3,4,3"},
    {"tma:64", "cute", "cute:2,4,3"},
    {"tma:32", "cute", "cute:1,4,3"},
    {"tma:128", "rows", "rows:0x1,0x2,0x24,0x48,0x90"},
    {"tma:128", "xor", "xor:0,3,28"},
    {"cute:3,4,3", "tma", "tma:128"},
    {"cute:3,2,3/4", "tma", "tma:128"},
    {"cute:3,2,3/4", "cute", "cute:3,2,3/4"},
    {"cute:2,5,4", "rows", "rows:0x1,0x2,0x4,0x88,0x110"},
    {"cute:1,2,-3", "rows", "rows:0x1,0x2,0x4,0x9,0x10"},
    {"rows:0x1,0x2,0x4,0x9,0x10", "cute", "cute:1,2,-3"},
    {"cute:2,3,-2", "xor", NULL},
    {"perm:3", "xor", "xor:3,0,0"},
    {"perm:3", "bits", "bits:3,4,5,6,7"},
    {"perm:3", "cute", NULL},
    {"bits:3,4,5,6,7", "perm", "perm:3"},
    {"bits:0,1,2,3,5", "perm", NULL},
    {"bits:0,1,2,3,5", "cute", NULL},
    {"bits:0^5,1,2^7,3,4", "cute", NULL},
    {"bits:0,1,2,3,4^5", "pad", "pad:32+16"},
    {"add", "pad", "pad:32+1"},
    {"add", "xor", NULL},
    {"pad:32+1", "add", "add"},
    {"pad:32+33", "add", "add"},
    {"pad:32+33", "pad", "pad:32+33"},
    {"pad:33+0", "none", "none"},
    {"pad:16384+7", "none", "none"},
    {"pad:7+64", "none", "none"},
    {"pad:32+16", "bits", "bits:0,1,2,3,4^5"},
    {"pad:32+16", "cute", "cute:1,6,1"},
    {"pad:16+16", "perm", NULL},
    {"pad:31+1", "mod", "mod:31"},
    {"mod:31", "pad", "pad:31+1"},
    {"mod:31", "bits", NULL},
    {"mod:32", "none", "none"},
    {"mod:32", "bits", "bits:0,1,2,3,4"},
    {"mod:16", "pad", "pad:16+16"},
};

static void known_conversions(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof conversions / sizeof *conversions; i++) {
    const struct conversion *c = &conversions[i];
    bf_hash *hash = parse(c->from);
    bf_text text = {0};
    bf_diagnostic diagnostic;
    int error = bf_hash_convert(hash, c->form, &text, &diagnostic);
    if (c->to) {
      if (error != BF_OK)
        fail_msg("%s to %s: %s", c->from, c->form, diagnostic.message);
      assert_string_equal(text.data, c->to);
    } else {
      char message[512];
      snprintf(message, sizeof message, "no such form: no '%s' hash gives the same banks as %s",
               c->form, c->from);
      if (error != BF_UNSUPPORTED)
        fail_msg("%s to %s: %s", c->from, c->form, text.data ? text.data : "?");
      assert_string_equal(diagnostic.message, message);
      assert_int_equal(text.size, 0);
    }
    bf_text_free(&text);
    bf_hash_free(hash);
  }
}

/* All hashes of the small geometry in one form that are not XOR matrices given in full. */
enum { FAMILY_MAX = 4096 };
typedef struct family {
  unsigned count;
  bf_hash *hash[FAMILY_MAX];
} family;

__attribute__((format(printf, 3, 4))) static void
add_member(family *members, const bf_geometry *geometry, const char *format, ...) {
  char text[128];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  assert_true(members->count < FAMILY_MAX);
  if (bf_hash_parse(text, geometry, &members->hash[members->count], NULL) == BF_OK)
    members->count++;
}

static void list_family(const char *form, const bf_geometry *g, family *members) {
  unsigned n = g->address_bits, banks = 1u << g->bank_bits, words = 1u << n;
  members->count = 0;
  if (strcmp(form, "none") == 0 || strcmp(form, "fixed") == 0 || strcmp(form, "add") == 0)
    add_member(members, g, "%s", form);
  for (unsigned k = 0; k <= n && strcmp(form, "perm") == 0; k++)
    add_member(members, g, "perm:%u", k);
  for (unsigned k = 0; k < (n + 1) * n * banks && strcmp(form, "xor") == 0; k++)
    add_member(members, g, "xor:%u,%u,%u", k / banks / n, k / banks % n, k % banks);
  for (unsigned span = 32; span <= 128 && strcmp(form, "tma") == 0; span *= 2)
    add_member(members, g, "tma:%u", span);
  for (unsigned b = 0; b <= n && strcmp(form, "cute") == 0; b++)
    for (unsigned m = 0; m <= n; m++)
      for (unsigned s = b; s <= n; s++) {
        add_member(members, g, "cute:%u,%u,%u/4", b, m, s);
        add_member(members, g, "cute:%u,%u,-%u/4", b, m, s);
      }
  for (unsigned r = 1; r <= banks && strcmp(form, "mod") == 0; r++)
    add_member(members, g, "mod:%u", r);
  for (unsigned r = 1; r <= words && strcmp(form, "pad") == 0; r++)
    for (unsigned p = 0; p < banks; p++)
      add_member(members, g, "pad:%u+%u", r, p);
}

/* Whether bank(a ^ b) = bank(a) ^ bank(b) for all words and the banks are all used alike. */
static bool is_xor_hash(const bf_hash *hash) {
  uint64_t words = words_of(hash), in_bank_0 = 0;
  for (uint64_t a = 0; a < words; a++) {
    uint64_t low = a & -a;
    if (bf_hash_bank(hash, a) != (bf_hash_bank(hash, a ^ low) ^ bf_hash_bank(hash, low)))
      return false;
    in_bank_0 += bf_hash_bank(hash, a) == 0;
  }
  return in_bank_0 << hash->geometry.bank_bits == words;
}

/* convert finds a form exactly when trying every hash of that form finds one, and what it writes
 * has the same banks. */
static void check_conversion(const bf_hash *hash, const char *form, const family *members) {
  bool exists = false;
  bf_text text = {0};
  if (strcmp(form, "bits") == 0 || strcmp(form, "rows") == 0)
    exists = is_xor_hash(hash);
  for (unsigned i = 0; i < members->count && !exists; i++)
    exists = same_banks(hash, members->hash[i]);
  int error = bf_hash_convert(hash, form, &text, NULL);
  if (error != (exists ? BF_OK : BF_UNSUPPORTED))
    fail_msg("%s to %s (%u bank bits): %s", hash->text, form, hash->geometry.bank_bits,
             error ? "not found" : text.data);
  if (error == BF_OK) {
    bf_hash *back = parse_in(text.data, hash->geometry.bank_bits, hash->geometry.address_bits, 4);
    assert_true(same_banks(hash, back));
    bf_hash_free(back);
  }
  bf_text_free(&text);
}

static void add_random_rows(test_random *random, const bf_geometry *geometry, family *members) {
  for (unsigned i = 0; i < 20; i++) {
    char text[512];
    reference r = {
        .bank_bits = geometry->bank_bits, .address_bits = geometry->address_bits, .word_bytes = 4};
    random_reference(random, "rows", &r);
    print_reference(&r, text, sizeof text);
    add_member(members, geometry, "%s", text);
  }
}

static void free_family(family *members) {
  for (unsigned i = 0; i < members->count; i++)
    bf_hash_free(members->hash[i]);
  members->count = 0;
}

/* About 60 hashes of every form, to every form. */
static void check_conversions_in(test_random *random, const bf_geometry *geometry, family *members,
                                 family *sources) {
  for (unsigned to = 0; bf_hash_forms[to]; to++) {
    list_family(bf_hash_forms[to], geometry, members);
    for (unsigned from = 0; bf_hash_forms[from]; from++) {
      list_family(bf_hash_forms[from], geometry, sources);
      if (strcmp(bf_hash_forms[from], "rows") == 0)
        add_random_rows(random, geometry, sources);
      for (unsigned i = 0; i < sources->count; i += 1 + sources->count / 60)
        check_conversion(sources->hash[i], bf_hash_forms[to], members);
      free_family(sources);
    }
    free_family(members);
  }
}

static void conversions_are_complete(void **state) {
  (void)state;
  test_random random = {14};
  family *families = calloc(2, sizeof *families);
  assert_non_null(families);
  for (unsigned m = 0; m <= 4; m++)
    for (unsigned n = m; n <= 6; n++) {
      bf_geometry geometry = {m, n, 4};
      check_conversions_in(&random, &geometry, &families[0], &families[1]);
    }
  free(families);
}

/* A swizzle that also moves address bits above the banks is found whole, not cut to the banks. */
static void swizzle_is_found_whole(void **state) {
  (void)state;
  test_random random = {15};
  for (int round = 0; round < 2000; round++) {
    unsigned b = (unsigned)random_below(&random, 6), m = 2 + (unsigned)random_below(&random, 6);
    int s = (int)(b + random_below(&random, 4)) * (random_below(&random, 2) ? 1 : -1);
    unsigned bits, base;
    int shift;
    char text[64];
    snprintf(text, sizeof text, "cute:%u,%u,%d", b, m, s);
    bf_hash *hash = parse_in(text, 4, 20, 4);
    assert_true(bf_hash_find_swizzle(hash, &bits, &base, &shift));
    assert_int_equal(bits, b);
    assert_int_equal(base, b ? m : 4);
    assert_int_equal(shift, b ? s : 3);
    bf_hash_free(hash);
  }
}

static void unknown_form(void **state) {
  (void)state;
  bf_hash *hash = parse("none");
  bf_text text = {0};
  bf_diagnostic diagnostic;
  assert_int_equal(bf_hash_convert(hash, "swirl", &text, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message, "unknown hash form 'swirl'");
  bf_hash_free(hash);
}

/* ---- Cost ---- */

static const struct known_cost {
  const char *text;
  unsigned xor_inputs, instructions, gate_depth, gates;
} known_costs[] = {
    {"none", 0, 0, 0, 0},
    {"fixed", 5, 2, 1, 5},
    {"tma:128", 3, 2, 1, 3},
    {"cute:2,5,4", 2, 2, 1, 2},
    {"xor:0,4,14", 3, 2, 1, 3},
    {"perm:4", 0, 4, 0, 0},
    {"perm:5", 0, 4, 0, 0},
    {"bits:1,0,2,3,4", 0, 4, 0, 0},
    {"bits:0^5^7,1^6^8,2,3,4", 4, 4, 2, 4},
    {"bits:0^5^7^9,1^6^8^10,2^7^9^11,3^8^10^12,4^9^11^13", 15, 5, 2, 15},
    {"bits:0^5^6,1^6^7,2^9,3^10,4", 6, 6, 2, 6},
    {"add", 9, 3, 8, 19},
    {"mod:32", 0, 0, 0, 0},
    {"mod:31", 0, 3, 0, 0},
    {"mod:16", 0, 2, 0, 0},
    {"pad:32+1", 0, 0, 0, 0},
};

static void known_cost_values(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof known_costs / sizeof *known_costs; i++) {
    const struct known_cost *known = &known_costs[i];
    bf_hash *hash = parse(known->text);
    bf_hash_cost cost = bf_hash_get_cost(hash);
    if (cost.xor_inputs != known->xor_inputs || cost.instructions != known->instructions ||
        cost.gate_depth != known->gate_depth || cost.gates != known->gates)
      fail_msg("%s costs %u %u %u %u", known->text, cost.xor_inputs, cost.instructions,
               cost.gate_depth, cost.gates);
    bf_hash_free(hash);
  }
}

/* A machine that executes the hash with shifts and three-input logic, and counts. */
typedef struct executed {
  unsigned instructions;
  uint64_t result;
} executed;

static uint64_t shifted(executed *e, uint64_t word, int shift) {
  e->instructions++;
  return shift > 0 ? word >> shift : word << -shift;
}

static uint64_t xor3(executed *e, uint64_t a, uint64_t b, uint64_t c) {
  e->instructions++;
  return a ^ b ^ c;
}

/* XOR of the first count values of a group, three at a time. */
static uint64_t xor_all(executed *e, const uint64_t *value, unsigned count) {
  uint64_t sum = value[0];
  for (unsigned i = 1; i < count; i += 2)
    sum = xor3(e, sum, value[i], i + 1 < count ? value[i + 1] : 0);
  return sum;
}

/* Selecting groups first, then the others; see src/hash/cost.c. */
static executed execute(const bf_gf2_matrix *matrix, uint64_t word) {
  bf_hash_term terms[2 * BF_GF2_MAX];
  unsigned count = bf_hash_terms(matrix, terms), pending = 0;
  uint64_t all = bf_gf2_low_bits(matrix->columns), value[BF_GF2_MAX * 2], held = 0;
  uint64_t own = count && terms[0].shift == 0 ? terms[0].mask : 0, clear = all & ~own;
  bool selects[2 * BF_GF2_MAX] = {0};
  executed e = {0, word};
  for (unsigned i = own != 0; i < count; i++) {
    bool starts = i == 0 || terms[i - 1].mask != terms[i].mask || terms[i - 1].shift == 0;
    selects[i] = starts ? (terms[i].mask & ~clear) == 0 : selects[i - 1];
    if (starts && selects[i])
      clear &= ~terms[i].mask;
  }
  if (clear) {
    e.result = own ? word & ~clear : 0; /* without own bits the first masking starts from 0 */
    e.instructions += own != 0;
  }
  for (int pass = 0; pass < 2; pass++)
    for (unsigned i = own != 0, group; i < count; i += group) {
      for (group = 1; i + group < count && terms[i + group].mask == terms[i].mask; group++)
        ;
      if (selects[i] != (pass == 0))
        continue;
      uint64_t mask = terms[i].mask;
      for (unsigned k = 0; k < group; k++)
        value[k] = shifted(&e, word, terms[i + k].shift);
      if (selects[i] || group % 2) {
        uint64_t sum = xor_all(&e, value, group) & mask;
        e.instructions++; /* mask and replace, or mask and XOR */
        e.result = selects[i] ? (e.result & ~mask) | sum : e.result ^ sum;
      } else {
        uint64_t sum = (xor_all(&e, value, group - 1) ^ value[group - 1]) & mask;
        e.instructions++; /* (a ^ b) & mask */
        held ^= sum;
        pending++;
      }
    }
  e.instructions += (pending + 1) / 2; /* results of two groups join the total at once */
  e.result ^= held;
  return e;
}

static void instructions_compute_the_place(void **state) {
  (void)state;
  test_random random = {16};
  for (int round = 0; round < 3000; round++) {
    unsigned n = 1 + (unsigned)random_below(&random, 16);
    reference r = {
        .bank_bits = (unsigned)random_below(&random, n + 1), .address_bits = n, .word_bytes = 4};
    const char *form = bf_hash_forms[random_below(&random, 8)];
    char text[2048];
    if (!random_reference(&random, form, &r))
      continue;
    print_reference(&r, text, sizeof text);
    bf_hash *hash = parse_in(text, r.bank_bits, n, 4);
    for (int i = 0; i < 20; i++) {
      uint64_t word = random_below(&random, (uint64_t)1 << n);
      executed e = execute(&hash->forward, word);
      assert_true(e.result == bf_hash_place(hash, word));
      assert_int_equal(e.instructions, bf_hash_get_cost(hash).instructions);
    }
    bf_hash_free(hash);
  }
}

static void row_preserving(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool preserving;
    unsigned block_words;
  } rows[] = {{"none", true, 1},          {"fixed", true, 32},        {"tma:128", true, 32},
              {"tma:32", true, 8},        {"perm:4", false, 512},     {"bits:1,0,2,3,4", false, 4},
              {"cute:1,2,-3", false, 16}, {"cute:2,7,3", false, 128}, {"add", false, 32},
              {"mod:31", false, 0},       {"pad:32+1", false, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bf_hash *hash = parse(rows[i].text);
    assert_int_equal(bf_hash_is_row_preserving(hash), rows[i].preserving);
    assert_int_equal(bf_hash_block_words(hash), rows[i].block_words);
    for (uint64_t word = 0; word < 4096 && bf_hash_is_row_preserving(hash); word++) {
      uint64_t place = bf_hash_place(hash, word);
      assert_true(place / 32 == word / 32);
      assert_true(bf_hash_place(hash, place) == word);
    }
    bf_hash_free(hash);
  }
}

/* Words of memory that hold the first words: nothing is placed past them, and no less will do. */
static void capacity_is_tight(void **state) {
  (void)state;
  static const char *const texts[] = {"none",   "fixed",    "perm:4",  "tma:64",        "add",
                                      "mod:31", "pad:32+1", "pad:7+3", "bits:1,0,2,3,4"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    bf_hash *hash = parse(texts[i]);
    uint64_t last = 0, block = bf_hash_block_words(hash);
    assert_true(bf_hash_capacity_words(hash, 0) == 0);
    for (uint64_t words = 1; words <= 2048; words++) {
      uint64_t place = bf_hash_place(hash, words - 1);
      last = place > last ? place : last;
      uint64_t capacity = bf_hash_capacity_words(hash, words);
      assert_true(last < capacity);
      assert_true(capacity < last + 1 + (block ? block : 1));
    }
    bf_hash_free(hash);
  }
}

/* Whether every aligned group of `words` words lies together, in order and aligned. */
static bool stays_whole(const bf_hash *hash, uint64_t words) {
  for (uint64_t word = 0; word < words_of(hash); word++)
    if (bf_hash_place(hash, word) != bf_hash_place(hash, word - word % words) + word % words ||
        bf_hash_place(hash, word) % words != word % words)
      return false;
  return true;
}

static void granule_is_largest(void **state) {
  (void)state;
  test_random random = {17};
  for (int round = 0; round < 2000; round++) {
    unsigned n = 1 + (unsigned)random_below(&random, 9);
    reference r = {
        .bank_bits = (unsigned)random_below(&random, n + 1), .address_bits = n, .word_bytes = 4};
    char text[2048];
    if (!random_reference(&random, bf_hash_forms[random_below(&random, 11)], &r))
      continue;
    print_reference(&r, text, sizeof text);
    bf_hash *hash = parse_in(text, r.bank_bits, n, 4);
    uint64_t granule = bf_hash_granule_words(hash);
    if (!stays_whole(hash, granule))
      fail_msg("%s (%u of %u bits): granule %u is split", text, r.bank_bits, n, (unsigned)granule);
    if (hash->kind == BF_HASH_LINEAR && granule < words_of(hash) && stays_whole(hash, 2 * granule))
      fail_msg("%s (%u of %u bits): granule %u is too small", text, r.bank_bits, n,
               (unsigned)granule);
    bf_hash_free(hash);
  }
}

/* ---- Errors ---- */

#define KNOWN                                                                                      \
  "; known: none, pad:ROW+P, perm:K, xor:K1,K2,MASK, bits:B0,B1^C1,..., fixed, add, mod:N, "       \
  "cute:B,M,S[/BYTES], tma:32|64|128, rows:HEX,..."

static const struct bad_text {
  const char *text;
  unsigned column;
  const char *message;
} bad_texts[] = {
    {"", 1, "unknown hash ''" KNOWN},
    {"swirl", 1, "unknown hash 'swirl'" KNOWN},
    {"none ", 1, "unknown hash 'none ' (did you mean 'none'?)" KNOWN},
    {"nonesuch", 1, "unknown hash 'nonesuch'" KNOWN},
    {"fixed:1", 1, "unknown hash 'fixed:1' (did you mean 'fixed'?)" KNOWN},
    {"xor", 1, "unknown hash 'xor' (did you mean 'xor:'?)" KNOWN},
    {"abÿ", 1, "unknown hash 'ab'" KNOWN},
    {"perm:", 6, "expected K: a number"},
    {"perm:x", 6, "expected K: a number"},
    {"perm:-1", 6, "expected K: a number"},
    {"perm:10", 6, "K is 10, but may be at most 9"},
    {"perm:1,2", 7, "unexpected text after the hash"},
    {"perm:99999999999999999999", 6, "expected K: a number"},
    {"xor:10,1,1", 5, "K1 is 10, but may be at most 9"},
    {"xor:0", 6, "expected ','"},
    {"xor:0,", 7, "expected K2: a number"},
    {"xor:0,14,1", 7, "K2 is 14, but may be at most 13"},
    {"xor:0,5", 8, "expected ','"},
    {"xor:0,5,32", 9, "MASK is 32, but may be at most 31"},
    {"xor:5,5,31", 7, "K2 equals K1: those bits cancel each other"},
    {"xor:5,5,0", 7, "K2 equals K1: those bits cancel each other"},
    {"xor:0,5,31,", 11, "unexpected text after the hash"},
    {"bits:", 6, "expected an address bit: a number"},
    {"bits:0,1,2,3", 13, "4 entries given, but 32 banks need 5"},
    {"bits:0,1,2,3,4,5", 15, "more than 5 entries, but 32 banks need 5"},
    {"bits:0,1,2,3,14", 14, "an address bit is 14, but may be at most 13"},
    {"bits:0,1,2,3^3,4", 14, "address bit 3 occurs twice and cancels"},
    {"bits:0,1,2,3^,4", 14, "expected an address bit: a number"},
    {"bits:0,1,2,3,3", 14, "bank bits depend on each other: rank 4, but 32 banks need rank 5"},
    {"bits:0,1,0^1,0,4", 10, "bank bits depend on each other: rank 3, but 32 banks need rank 5"},
    {"bits:0,1,2,3,4x", 15, "unexpected text after the hash"},
    {"rows:", 6, "expected a hexadecimal mask of address bits"},
    {"rows:1,2,4,8", 13, "4 entries given, but 32 banks need 5"},
    {"rows:1,2,4,8,10,20", 16, "more than 5 entries, but 32 banks need 5"},
    {"rows:1,2,4,8,4000", 14, "mask 0x4000 uses bits past the 14 address bits"},
    {"rows:1,2,4,8,10000000000000000", 14, "expected a hexadecimal mask of address bits"},
    {"rows:1,2,3,8,10", 10, "bank bits depend on each other: rank 4, but 32 banks need rank 5"},
    {"rows:0,2,4,8,10", 6, "bank bits depend on each other: rank 4, but 32 banks need rank 5"},
    {"rows:1,2,4,8,10,", 16, "more than 5 entries, but 32 banks need 5"},
    {"cute:", 6, "expected B: a number"},
    {"cute:33,4,3", 6, "B is 33, but may be at most 32"},
    {"cute:3", 7, "expected ','"},
    {"cute:3,33,3", 8, "M is 33, but may be at most 32"},
    {"cute:3,4", 9, "expected ','"},
    {"cute:3,4,33", 10, "S is 33, but may be at most 32"},
    {"cute:3,4,--3", 11, "expected S: a number"},
    {"cute:3,4,2", 10, "|S| must be at least B, or the swizzle is not a bijection"},
    {"cute:3,4,-2", 10, "|S| must be at least B, or the swizzle is not a bijection"},
    {"cute:3,4,3/", 12, "expected the element size: a number"},
    {"cute:3,4,3/17", 12, "the element size is 17, but may be at most 16"},
    {"cute:3,4,3/3", 12, "an element has 1, 2, 4, 8 or 16 bytes"},
    {"cute:3,4,3/0", 12, "an element has 1, 2, 4, 8 or 16 bytes"},
    {"cute:3,1,3", 8,
     "M = 1 on offsets of 1 byte moves bytes inside a 4-byte word; append /4 to swizzle 4-byte "
     "elements"},
    {"cute:3,0,3/2", 8,
     "M = 0 on offsets of 2 bytes moves bytes inside a 4-byte word; append /4 to swizzle 4-byte "
     "elements"},
    {"tma:", 5, "expected the swizzle span: a number"},
    {"tma:16", 5, "a TMA swizzle spans 32, 64 or 128 bytes"},
    {"tma:129", 5, "the swizzle span is 129, but may be at most 128"},
    {"pad:", 5, "expected ROW: a number"},
    {"pad:0+1", 5, "ROW must be at least 1 word"},
    {"pad:16385+1", 5, "ROW is 16385, but may be at most 16384"},
    {"pad:32", 7, "expected '+'"},
    {"pad:32+", 8, "expected P: a number"},
    {"pad:32+16385", 8, "P is 16385, but may be at most 16384"},
    {"mod:", 5, "expected N: a number"},
    {"mod:0", 5, "N must be at least 1"},
    {"mod:33", 5, "N is 33, but may be at most 32"},
};

static void every_error_message(void **state) {
  (void)state;
  const bf_geometry geometry = {5, 14, 4};
  for (size_t i = 0; i < sizeof bad_texts / sizeof *bad_texts; i++) {
    const struct bad_text *bad = &bad_texts[i];
    bf_diagnostic diagnostic;
    bf_hash *hash;
    if (bf_hash_parse(bad->text, &geometry, &hash, &diagnostic) != BF_BAD_INPUT)
      fail_msg("'%s' is accepted", bad->text);
    assert_null(hash);
    if (strcmp(diagnostic.message, bad->message) != 0 || diagnostic.column != bad->column)
      fail_msg("'%s': column %u: %s", bad->text, diagnostic.column, diagnostic.message);
    assert_string_equal(diagnostic.file, "hash");
    assert_int_equal(diagnostic.line, 1);
    assert_int_equal(diagnostic.caret, (int)bad->column - 1);
    assert_int_equal(bf_hash_parse(bad->text, &geometry, &hash, NULL), BF_BAD_INPUT);
  }
}

static const struct bad_geometry {
  bf_geometry geometry;
  const char *message;
} bad_geometries[] = {
    {{17, 20, 4}, "more than 65536 banks"},
    {{5, 41, 4}, "more than 40 address bits"},
    {{5, 4, 4}, "4 address bits cannot select among 32 banks"},
    {{5, 14, 0}, "a word has 1, 2, 4, 8 or 16 bytes, not 0"},
    {{5, 14, 3}, "a word has 1, 2, 4, 8 or 16 bytes, not 3"},
    {{5, 14, 32}, "a word has 1, 2, 4, 8 or 16 bytes, not 32"},
};

static void every_geometry_error(void **state) {
  (void)state;
  const uint64_t row[16] = {1, 2, 4, 8, 16};
  for (size_t i = 0; i < sizeof bad_geometries / sizeof *bad_geometries; i++) {
    bf_diagnostic diagnostic;
    bf_hash *hash;
    const bf_geometry *geometry = &bad_geometries[i].geometry;
    assert_int_equal(bf_hash_parse("none", geometry, &hash, &diagnostic), BF_BAD_INPUT);
    assert_string_equal(diagnostic.message, bad_geometries[i].message);
    assert_int_equal(bf_hash_from_rows(row, geometry, &hash, &diagnostic), BF_BAD_INPUT);
    assert_string_equal(diagnostic.message, bad_geometries[i].message);
  }
}

static void bad_rows(void **state) {
  (void)state;
  const uint64_t dependent[] = {1, 2, 3, 8, 16}, outside[] = {1, 2, 4, 8, 1 << 14};
  const bf_geometry geometry = {5, 14, 4};
  bf_diagnostic diagnostic;
  bf_hash *hash;
  assert_int_equal(bf_hash_from_rows(dependent, &geometry, &hash, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message,
                      "bank bits depend on each other: rank 4, but 32 banks need rank 5");
  assert_int_equal(bf_hash_from_rows(outside, &geometry, &hash, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message, "mask 0x4000 uses bits past the 14 address bits");
}

/* Random rows of any rank: banks are those of the rows, and words that share a place are told. By
 * trying all words of a small memory: every place that is used holds at least words_each of them.
 */
static void dependent_rows_can_be_counted(void **state) {
  (void)state;
  test_random random = {11};
  unsigned shared = 0;
  for (unsigned trial = 0; trial < 400; trial++) {
    const bf_geometry geometry = {1 + (unsigned)random_below(&random, 5), 9, 4};
    unsigned bits = geometry.bank_bits, words[1 << 9] = {0};
    uint64_t row[5];
    char text[200];
    for (unsigned i = 0; i < bits; i++)
      row[i] = random_bits(&random) & random_bits(&random) & 0x1ff;
    if (bits > 1 && trial % 2)
      row[bits - 1] = row[0] ^ (bits > 2 ? row[1] : 0);
    bf_hash_print_rows(row, bits, text, sizeof text);
    bf_hash *hash, *strict;
    bf_hash_sharing sharing;
    assert_int_equal(bf_hash_parse_banks(text, &geometry, &hash, NULL), BF_OK);
    bool shares = bf_hash_find_sharing(hash, &sharing);
    assert_int_equal(shares, bf_gf2_rank(row, bits) < bits);
    assert_int_equal(bf_hash_parse(text, &geometry, &strict, NULL), shares ? BF_BAD_INPUT : BF_OK);
    bf_hash_free(strict);
    uint64_t used = 0;
    for (uint64_t word = 0; word < 1 << 9; word++) {
      for (unsigned i = 0; i < bits; i++)
        assert_int_equal(bf_hash_bank(hash, word) >> i & 1, bf_gf2_parity(word & row[i]));
      assert_int_equal(bf_hash_place(hash, word) & bf_gf2_low_bits(bits), bf_hash_bank(hash, word));
      words[bf_hash_place(hash, word)]++;
      used |= (uint64_t)1 << bf_hash_bank(hash, word);
    }
    if (shares) {
      uint64_t back;
      char form[8] = "rows";
      bf_text converted = {0};
      shared++;
      assert_int_equal(__builtin_popcountll(used), sharing.banks_used);
      assert_true(sharing.word[0] != sharing.word[1]);
      assert_int_equal(bf_hash_place(hash, sharing.word[0]), bf_hash_place(hash, sharing.word[1]));
      for (unsigned place = 0; place < 1 << 9; place++)
        assert_true(words[place] == 0 || words[place] >= sharing.words_each);
      assert_int_equal(bf_hash_unplace(hash, 0, &back), BF_BAD_INPUT);
      for (unsigned i = 0; bf_hash_forms[i]; i++)
        if (strcmp(bf_hash_forms[i], form) != 0)
          assert_int_equal(bf_hash_convert(hash, bf_hash_forms[i], &converted, NULL),
                           BF_UNSUPPORTED);
      assert_false(bf_hash_is_row_preserving(hash));
      assert_int_equal(bf_hash_get_cost(hash).instructions, 0);
      bf_text_free(&converted);
    }
    bf_hash_free(hash);
  }
  assert_true(shared > 100);
}

static void padding_too_large(void **state) {
  (void)state;
  const bf_geometry geometry = {5, 40, 4};
  bf_diagnostic diagnostic;
  bf_hash *hash;
  assert_int_equal(bf_hash_parse("pad:1+1099511627776", &geometry, &hash, &diagnostic),
                   BF_BAD_INPUT);
  assert_string_equal(diagnostic.message, "P makes the allocation larger than 2^56 words");
  assert_int_equal(diagnostic.column, 7);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_address_of_every_form),
      cmocka_unit_test(rows_by_number),
      cmocka_unit_test(largest_geometry),
      cmocka_unit_test(known_conversions),
      cmocka_unit_test(conversions_are_complete),
      cmocka_unit_test(swizzle_is_found_whole),
      cmocka_unit_test(unknown_form),
      cmocka_unit_test(known_cost_values),
      cmocka_unit_test(instructions_compute_the_place),
      cmocka_unit_test(row_preserving),
      cmocka_unit_test(capacity_is_tight),
      cmocka_unit_test(granule_is_largest),
      cmocka_unit_test(every_error_message),
      cmocka_unit_test(every_geometry_error),
      cmocka_unit_test(bad_rows),
      cmocka_unit_test(dependent_rows_can_be_counted),
      cmocka_unit_test(padding_too_large),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
