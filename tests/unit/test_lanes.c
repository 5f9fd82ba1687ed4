/* Addresses of lanes: what each kernel does is what the plain one does, on random numbers of every
 * length, and the plain one does what its header says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "access/lanes.h"
#include "random.h"

/* Appends a signed number as docs/traces.md has it. */
static size_t put(unsigned char *bytes, size_t size, int64_t value) {
  uint64_t folded = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
  for (; folded >= 0x80; folded >>= 7)
    bytes[size++] = (unsigned char)(folded | 0x80);
  bytes[size++] = (unsigned char)folded;
  return size;
}

typedef struct listing {
  unsigned char bytes[BF_LANES_LIST_BYTES + 256];
  size_t size;
  uint32_t mask, before;
  uint32_t address[BF_LANES];
  bool is_right; /* all numbers are short, no address is negative, and before is small enough */
} listing;

/* Distances of up to so many bits, forwards and back. */
static listing draw(test_random *state, unsigned bits, uint32_t mask, uint32_t before) {
  listing made = {.mask = mask, .before = before, .is_right = before < 1U << 30};
  int64_t last = before;
  for (unsigned lane = 0; lane < BF_LANES; lane++) {
    if (!(mask >> lane & 1))
      continue;
    int64_t distance = (int64_t)(random_bits(state) >> 11) % ((int64_t)1 << bits);
    distance = random_bits(state) >> 63 ? distance : -distance;
    made.size = put(made.bytes, made.size, distance);
    last += distance;
    made.address[lane] = (uint32_t)last;
    made.is_right = made.is_right && last >= 0 && distance < 1 << 20 && distance >= -(1 << 20);
  }
  for (size_t i = made.size; i < sizeof made.bytes; i++)
    made.bytes[i] = (unsigned char)random_bits(state);
  return made;
}

static void assert_lists(const bf_lanes_kernel *kernel, const listing *given) {
  uint32_t address[BF_LANES];
  memset(address, 0xA5, sizeof address);
  const unsigned char *behind = kernel->list(given->bytes, given->mask, given->before, address);
  if (!given->is_right) {
    assert_null(behind);
    return;
  }
  assert_ptr_equal(behind, given->bytes + given->size);
  assert_memory_equal(address, given->address, sizeof address);
}

static void numbers_of_every_length_are_listed(void **unused) {
  (void)unused;
  test_random state = {5};
  unsigned right = 0, wrong = 0;
  for (unsigned i = 0; i < 40000; i++) {
    uint32_t mask = i % 3 == 0 ? UINT32_MAX : (uint32_t)random_bits(&state);
    uint32_t before = (uint32_t)random_bits(&state) >> random_bits(&state) % 32;
    listing given = draw(&state, (unsigned)(random_bits(&state) % 24), mask, before);
    for (unsigned k = 0; bf_lanes_available(k); k++)
      assert_lists(bf_lanes_available(k), &given);
    right += given.is_right;
    wrong += !given.is_right;
  }
  assert_true(right > 1000 && wrong > 1000);
}

static void one_number_too_long_is_found(void **unused) {
  (void)unused;
  for (unsigned at = 0; at < BF_LANES; at++) {
    listing given = {.mask = UINT32_MAX, .before = 1 << 22};
    for (unsigned lane = 0; lane < BF_LANES; lane++)
      given.size = put(given.bytes, given.size, lane == at ? 1 << 20 : 4);
    for (unsigned k = 0; bf_lanes_available(k); k++)
      assert_lists(bf_lanes_available(k), &given);
  }
}

static void bytes_that_never_end_a_number_are_refused(void **unused) {
  (void)unused;
  listing given = {.mask = 0x80000001, .before = 0};
  memset(given.bytes, 0xFF, sizeof given.bytes);
  for (unsigned k = 0; bf_lanes_available(k); k++)
    assert_lists(bf_lanes_available(k), &given);
}

/* Writes the low bits of value behind so many others. */
static void put_bits(unsigned char *bytes, unsigned place, unsigned bits, uint32_t value) {
  for (unsigned bit = 0; bit < bits; bit++, place++) {
    unsigned char one = (unsigned char)(1 << place % 8);
    bytes[place / 8] = (unsigned char)((bytes[place / 8] & ~one) | (value >> bit & 1 ? one : 0));
  }
}

static void numbers_of_equal_length_are_unpacked(void **unused) {
  (void)unused;
  test_random state = {9};
  for (unsigned i = 0; i < 40000; i++) {
    uint32_t expected[BF_LANES] = {0}, address[BF_LANES];
    uint32_t mask = i % 3 == 0 ? UINT32_MAX : (uint32_t)random_bits(&state);
    unsigned char bytes[BF_LANES_LIST_BYTES];
    unsigned bits = (unsigned)(random_bits(&state) % (BF_LANES_MOST_BITS + 1)), place = 0;
    unsigned shift = (unsigned)(random_bits(&state) % (31 - bits));
    uint32_t lowest = (uint32_t)random_bits(&state) >> 1;
    for (unsigned b = 0; b < sizeof bytes; b++)
      bytes[b] = (unsigned char)random_bits(&state);
    for (uint32_t left = mask; left; left &= left - 1, place += bits) {
      uint32_t value = (uint32_t)random_bits(&state) & ((1U << bits) - 1);
      put_bits(bytes, place, bits, value);
      expected[__builtin_ctz(left)] = lowest + (value << shift);
    }
    for (unsigned k = 0; bf_lanes_available(k); k++) {
      memset(address, 0xA5, sizeof address);
      bf_lanes_available(k)->unpack(bytes, mask, bits, shift, lowest, address);
      assert_memory_equal(address, expected, sizeof address);
    }
  }
}

static void lines_are_alike(void **unused) {
  (void)unused;
  test_random state = {11};
  for (unsigned i = 0; i < 20000; i++) {
    uint32_t address[BF_LANES], mask = i % 3 == 0 ? UINT32_MAX : (uint32_t)random_bits(&state);
    uint32_t origin = (uint32_t)random_bits(&state), stride = (uint32_t)random_bits(&state);
    for (unsigned k = 0; bf_lanes_available(k); k++) {
      memset(address, 0xA5, sizeof address);
      bf_lanes_available(k)->stride(mask, origin, stride, address);
      for (unsigned lane = 0; lane < BF_LANES; lane++)
        assert_int_equal(address[lane], mask >> lane & 1 ? origin + lane * stride : 0);
    }
  }
}

static void shapes_are_taken_and_placed_alike(void **unused) {
  (void)unused;
  test_random state = {7};
  for (unsigned i = 0; i < 20000; i++) {
    uint32_t address[BF_LANES], expected[BF_LANES], relative[BF_LANES], again[BF_LANES];
    uint32_t mask = i % 4 == 0 ? UINT32_MAX : (uint32_t)random_bits(&state);
    mask = i % 97 == 0 ? 0 : mask;
    for (unsigned lane = 0; lane < BF_LANES; lane++)
      address[lane] = (uint32_t)random_bits(&state) >> random_bits(&state) % 32;
    uint32_t first = address[i % BF_LANES];
    bf_lanes_span span = bf_lanes_plain.take(address, mask, first, expected);
    for (unsigned lane = 0; lane < BF_LANES; lane++)
      assert_int_equal(expected[lane], mask >> lane & 1 ? address[lane] - first : 0);
    for (unsigned k = 0; bf_lanes_available(k); k++) {
      const bf_lanes_kernel *kernel = bf_lanes_available(k);
      bf_lanes_span own = kernel->take(address, mask, first, relative);
      assert_memory_equal(&own, &span, sizeof own);
      assert_memory_equal(relative, expected, sizeof relative);
      kernel->place(relative, mask, first, again);
      for (unsigned lane = 0; lane < BF_LANES; lane++)
        assert_int_equal(again[lane], mask >> lane & 1 ? address[lane] : 0);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_of_every_length_are_listed),
      cmocka_unit_test(one_number_too_long_is_found),
      cmocka_unit_test(bytes_that_never_end_a_number_are_refused),
      cmocka_unit_test(numbers_of_equal_length_are_unpacked),
      cmocka_unit_test(lines_are_alike),
      cmocka_unit_test(shapes_are_taken_and_placed_alike),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
