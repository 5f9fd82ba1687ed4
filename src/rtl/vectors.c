/* Vectors: a configuration, a word, and the results that the library's own hash gives for them. The
 * configuration is drawn first, made into a hash, and only then asked for its bank; nothing here
 * computes a bank by itself. */
#include "rtl/rtl.h"

#include <stdlib.h>
#include <string.h>

struct bf_rtl_source {
  const bf_rtl_unit *unit;
  uint64_t state; /* of the random numbers */
  bf_rtl_port port[BF_RTL_PORTS];
  unsigned ports;
  bf_machine *machine; /* locks */
  bf_hash *bank_hash;  /* locks: that of the banks */
};

/* Random numbers: the state counts in large odd steps, and is mixed. */
static uint64_t draw(bf_rtl_source *source) {
  uint64_t x = source->state += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

static unsigned draw_below(bf_rtl_source *source, unsigned limit) {
  return (unsigned)(draw(source) % limit);
}

/* ---- Ports in a vector ---- */

/* Where the lowest bit of port number index lies. */
static unsigned port_start(const bf_rtl_port *port, unsigned ports, unsigned index) {
  unsigned start = 0;
  for (unsigned i = index + 1; i < ports; i++)
    start += port[i].bits;
  return start;
}

static void set_bit(bf_rtl_vector *vector, unsigned bit) {
  vector->word[bit / 64] |= (uint64_t)1 << (bit % 64);
}

static void set_port(const bf_rtl_source *source, bf_rtl_vector *vector, const char *name,
                     unsigned low, uint64_t value) {
  for (unsigned p = 0; p < source->ports; p++)
    if (strcmp(source->port[p].name, name) == 0)
      for (unsigned i = 0; i < 64 && value >> i; i++)
        if (value >> i & 1)
          set_bit(vector, port_start(source->port, source->ports, p) + low + i);
}

/* Sets a choice: its number, or its wire where that is one-hot. Part `index` of a port whose parts
 * choose among `choices`. */
static void set_choice(const bf_rtl_source *source, bf_rtl_vector *vector, const char *name,
                       unsigned index, unsigned choices, unsigned chosen) {
  if (source->unit->one_hot)
    set_port(source, vector, name, index * choices, (uint64_t)1 << chosen);
  else
    set_port(source, vector, name, index * bf_rtl_code_bits(choices), chosen);
}

bool bf_rtl_vector_bit(const bf_rtl_unit *unit, const bf_rtl_vector *vector, unsigned index,
                       unsigned bit) {
  bf_rtl_port port[BF_RTL_PORTS];
  unsigned at = port_start(port, bf_rtl_ports(unit, port), index) + bit;
  return vector->word[at / 64] >> (at % 64) & 1;
}

/* ---- Configurations ---- */

static int draw_bit_vector(bf_rtl_source *source, bf_rtl_vector *vector, bf_hash **hash,
                           bf_diagnostic *diagnostic) {
  const bf_rtl_unit *unit = source->unit;
  unsigned n = unit->geometry.address_bits, m = unit->geometry.bank_bits;
  unsigned offset = draw_below(source, n - m + 1);
  char text[64];
  set_choice(source, vector, "offset", 0, n - m + 1, offset);
  snprintf(text, sizeof text, "perm:%u", offset);
  if (unit->kind == BF_RTL_BIT_VECTOR_XOR) {
    unsigned second = (offset + 1 + draw_below(source, n - 1)) % n; /* any but offset */
    unsigned mask = draw_below(source, 1u << m);
    set_choice(source, vector, "second", 0, n, second);
    set_port(source, vector, "mask", 0, mask);
    snprintf(text, sizeof text, "xor:%u,%u,%u", offset, second, mask);
  }
  return bf_hash_parse(text, &unit->geometry, hash, diagnostic);
}

/* One or two address bits for each bank bit. */
static void draw_rows(bf_rtl_source *source, unsigned first[], unsigned second[], uint64_t row[]) {
  unsigned n = source->unit->geometry.address_bits, m = source->unit->geometry.bank_bits;
  for (unsigned i = 0; i < m; i++) {
    first[i] = draw_below(source, n);
    second[i] = n;
    if (source->unit->kind == BF_RTL_BITWISE_XOR)
      second[i] = draw_below(source, n + 1);
    if (second[i] == first[i])
      second[i] = n;
    row[i] = (uint64_t)1 << first[i];
    if (second[i] < n)
      row[i] |= (uint64_t)1 << second[i];
  }
}

/* Draws until the bank bits are independent: others are no hashes. */
static int draw_bitwise(bf_rtl_source *source, bf_rtl_vector *vector, bf_hash **hash,
                        bf_diagnostic *diagnostic) {
  const bf_rtl_unit *unit = source->unit;
  unsigned n = unit->geometry.address_bits, m = unit->geometry.bank_bits;
  unsigned first[BF_RTL_MOST_BANK_BITS], second[BF_RTL_MOST_BANK_BITS];
  uint64_t row[BF_RTL_MOST_BANK_BITS];
  int error;
  do {
    draw_rows(source, first, second, row);
    error = bf_hash_from_rows(row, &unit->geometry, hash, diagnostic);
  } while (error == BF_BAD_INPUT);
  BF_TRY(error);
  for (unsigned i = 0; i < m; i++) {
    set_choice(source, vector, "first", i, n, first[i]);
    if (unit->kind != BF_RTL_BITWISE_XOR)
      continue;
    if (!unit->one_hot)
      set_choice(source, vector, "second", i, n + 1, second[i]);
    else if (second[i] < n)
      set_choice(source, vector, "second", i, n, second[i]);
  }
  return BF_OK;
}

/* ---- Vectors ---- */

void bf_rtl_source_word(bf_rtl_source *source, uint64_t word, bf_rtl_vector *vector) {
  const bf_rtl_unit *unit = source->unit;
  unsigned m = unit->geometry.bank_bits;
  uint64_t place;
  if (unit->kind == BF_RTL_LOCKS)
    place = bf_locks_number(source->machine, source->bank_hash, unit->lock_hash, 1u << (2 * m),
                            (uint32_t)word);
  else
    place = bf_hash_place(unit->hash, word);
  *vector = (bf_rtl_vector){{0}};
  set_port(source, vector, "word", 0, word);
  set_port(source, vector, "bank", 0, place & bf_gf2_low_bits(m));
  set_port(source, vector, unit->kind == BF_RTL_LOCKS ? "lock" : "row", 0, place >> m);
}

int bf_rtl_source_next(bf_rtl_source *source, bf_rtl_vector *vector, bf_diagnostic *diagnostic) {
  const bf_rtl_unit *unit = source->unit;
  uint64_t word = draw(source) & bf_gf2_low_bits(unit->geometry.address_bits);
  if (!bf_rtl_is_family(unit)) {
    bf_rtl_source_word(source, word, vector);
    return BF_OK;
  }
  bf_hash *hash;
  *vector = (bf_rtl_vector){{0}};
  if (unit->kind == BF_RTL_BIT_VECTOR_PERM || unit->kind == BF_RTL_BIT_VECTOR_XOR)
    BF_TRY(draw_bit_vector(source, vector, &hash, diagnostic));
  else
    BF_TRY(draw_bitwise(source, vector, &hash, diagnostic));
  set_port(source, vector, "word", 0, word);
  set_port(source, vector, "bank", 0, bf_hash_bank(hash, word));
  bf_hash_free(hash);
  return BF_OK;
}

/* The machine and the hash of the banks that the C model of locks needs. */
static int open_locks(bf_rtl_source *source, bf_diagnostic *diagnostic) {
  const bf_rtl_unit *unit = source->unit;
  bf_overrides overrides = {.struct_bytes = sizeof overrides,
                            .banks = 1u << unit->geometry.bank_bits,
                            .address_bits = unit->geometry.address_bits};
  BF_TRY(bf_machine_load("hopper", &overrides, &source->machine, diagnostic));
  return bf_hash_parse(unit->lock_hash == BF_LOCK_ADD ? "add" : "fixed", &unit->geometry,
                       &source->bank_hash, diagnostic);
}

int bf_rtl_source_open(const bf_rtl_unit *unit, uint64_t seed, bf_rtl_source **source,
                       bf_diagnostic *diagnostic) {
  bf_rtl_source *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  made->unit = unit;
  made->state = seed;
  made->ports = bf_rtl_ports(unit, made->port);
  int error = unit->kind == BF_RTL_LOCKS ? open_locks(made, diagnostic) : BF_OK;
  if (!error)
    *source = made;
  else
    bf_rtl_source_close(made);
  return error;
}

void bf_rtl_source_close(bf_rtl_source *source) {
  if (!source)
    return;
  bf_machine_free(source->machine);
  bf_hash_free(source->bank_hash);
  free(source);
}

/* ---- All vectors, as text ---- */

static void put_vector(const bf_rtl_vector *vector, unsigned bits, bf_text *text) {
  char line[BF_RTL_VECTOR_WORDS * 16 + 2];
  unsigned digits = (bits + 3) / 4;
  for (unsigned i = 0; i < digits; i++) {
    unsigned digit = digits - 1 - i;
    line[i] = "0123456789abcdef"[vector->word[digit / 16] >> (digit % 16 * 4) & 15];
  }
  line[digits] = '\n';
  bf_text_add(text, line, digits + 1);
}

int bf_rtl_write_vectors(const bf_rtl_unit *unit, uint64_t asked, bf_text *text, uint64_t *written,
                         bf_diagnostic *diagnostic) {
  bf_rtl_source *source;
  BF_TRY(bf_rtl_source_open(unit, 1, &source, diagnostic));
  bool every = !bf_rtl_is_family(unit) && unit->geometry.address_bits <= BF_RTL_EVERY_WORD_BITS;
  unsigned bits = source->port[0].bits + port_start(source->port, source->ports, 0);
  int error = BF_OK;
  *written = every ? (uint64_t)1 << unit->geometry.address_bits : asked;
  for (uint64_t i = 0; i < *written && !error; i++) {
    bf_rtl_vector vector;
    if (every)
      bf_rtl_source_word(source, i, &vector);
    else
      error = bf_rtl_source_next(source, &vector, diagnostic);
    if (!error)
      put_vector(&vector, bits, text);
  }
  bf_rtl_source_close(source);
  if (!error && text->failed)
    return bf_no_memory(diagnostic);
  return error;
}
