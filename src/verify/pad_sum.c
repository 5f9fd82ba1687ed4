/* Sums of numbers that are not known, modulo 2^32. */
#include "verify/pad.h"

#include <string.h>

/* As a number of 32 bits with a sign. */
static int64_t wrapped(int64_t value) { return (int32_t)(uint32_t)(uint64_t)value; }

/* The product of two such numbers, as one. */
static int64_t product(int64_t a, int64_t b) {
  return wrapped((int64_t)((uint64_t)a * (uint64_t)b));
}

bf_pad_sum bf_pad_number(int64_t constant) { return (bf_pad_sum){.constant = wrapped(constant)}; }

bf_pad_sum bf_pad_one(uint32_t atom) { return (bf_pad_sum){.terms = 1, .term = {{atom, 1}}}; }

/* Appends a term; false where there is no room. */
static bool append(bf_pad_sum *sum, uint32_t atom, int64_t factor) {
  factor = wrapped(factor);
  if (!factor)
    return true;
  if (sum->terms == BF_PAD_TERMS)
    return false;
  sum->term[sum->terms++] = (bf_pad_term){.atom = atom, .factor = factor};
  return true;
}

bool bf_pad_add(bf_pad_sum *a, const bf_pad_sum *b, int64_t factor) {
  bf_pad_sum sum = bf_pad_number(a->constant + product(b->constant, factor));
  uint32_t i = 0, k = 0;
  bool fits = true;
  while (fits && (i < a->terms || k < b->terms)) {
    uint32_t left = i < a->terms ? a->term[i].atom : UINT32_MAX;
    uint32_t right = k < b->terms ? b->term[k].atom : UINT32_MAX;
    int64_t own = left <= right ? a->term[i++].factor : 0;
    int64_t other = right <= left ? product(b->term[k++].factor, factor) : 0;
    fits = append(&sum, left < right ? left : right, own + other);
  }
  *a = sum;
  return fits;
}

bool bf_pad_same(const bf_pad_sum *a, const bf_pad_sum *b) {
  if (a->terms != b->terms || a->constant != b->constant)
    return false;
  for (uint32_t i = 0; i < a->terms; i++)
    if (a->term[i].atom != b->term[i].atom || a->term[i].factor != b->term[i].factor)
      return false;
  return true;
}

int64_t bf_pad_factor(const bf_pad_sum *sum, uint32_t atom) {
  for (uint32_t i = 0; i < sum->terms; i++)
    if (sum->term[i].atom == atom)
      return sum->term[i].factor;
  return 0;
}

bf_pad_sum bf_pad_without(const bf_pad_sum *sum, uint32_t atom) {
  bf_pad_sum rest = {.constant = sum->constant};
  for (uint32_t i = 0; i < sum->terms; i++)
    if (sum->term[i].atom != atom)
      rest.term[rest.terms++] = sum->term[i];
  return rest;
}

unsigned bf_pad_zero_bits(const bf_pad_sum *sum) {
  uint64_t all = (uint64_t)1 << 32 | (uint64_t)sum->constant;
  for (uint32_t i = 0; i < sum->terms; i++)
    all |= (uint64_t)sum->term[i].factor;
  return (unsigned)__builtin_ctzll(all);
}

const bf_pad_sum *bf_pad_keep(bf_pad *pad, const bf_pad_sum *sum) {
  struct {
    int64_t constant;
    bf_pad_term term[BF_PAD_TERMS];
  } key;
  memset(&key, 0, sizeof key);
  key.constant = sum->constant;
  for (uint32_t i = 0; i < sum->terms; i++) {
    key.term[i].atom = sum->term[i].atom;
    key.term[i].factor = sum->term[i].factor;
  }
  void **place = bf_table_at(&pad->sums, &key, sizeof key);
  if (place && !*place) {
    bf_pad_sum *copy = bf_arena_alloc(pad->arena, sizeof *copy);
    if (copy)
      *copy = *sum;
    *place = copy;
  }
  pad->no_memory |= !place || !*place;
  return place ? *place : NULL;
}

/* Room for one more atom. */
static bool grow(bf_pad *pad) {
  if (pad->atoms < pad->capacity)
    return true;
  uint32_t capacity = pad->capacity ? 2 * pad->capacity : 64;
  bf_pad_atom **list = bf_arena_alloc(pad->arena, capacity * sizeof *list);
  if (!list)
    return false;
  if (pad->atoms)
    memcpy(list, pad->atom, pad->atoms * sizeof *list);
  pad->atom = list;
  pad->capacity = capacity;
  return true;
}

uint32_t bf_pad_atom_of(bf_pad *pad, const bf_pad_atom *key) {
  const struct {
    uint64_t kind, number, other, variable, operand, inner; /* no gaps: all bytes are compared */
  } bytes = {key->kind,
             key->number,
             key->other,
             (uintptr_t)key->variable,
             (uintptr_t)key->operand,
             (uintptr_t)key->inner};
  void **place = bf_table_at(&pad->atoms_by_key, &bytes, sizeof bytes);
  if (place && *place)
    return (uint32_t)(uintptr_t)*place - 1;
  bf_pad_atom *made = bf_arena_alloc(pad->arena, sizeof *made);
  if (!place || !made || !grow(pad)) {
    pad->no_memory = true;
    return 0;
  }
  *made = *key;
  pad->atom[pad->atoms] = made;
  *place = (void *)(uintptr_t)(pad->atoms + 1);
  return pad->atoms++;
}
