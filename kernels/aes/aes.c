/* Drivers of AES: the tables that kernels use, and the reference. */
#include "kernels/aes/aes.h"

#include "kernels/corpus.h"

#include <string.h>

enum { THREADS = 256, BLOCKS_OF_DATA = THREADS / 4 };

typedef struct aes_variant {
  const char *kernel;
  bool is_decryption;
} aes_variant;

/* ---- The reference ---- */

/* a times x in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1. */
static uint8_t times_x(uint8_t a) { return (uint8_t)(a << 1 ^ (a & 0x80 ? 0x1b : 0)); }

/* a times b in GF(2^8). */
static uint8_t times(uint8_t a, uint8_t b) {
  uint8_t product = 0;
  for (; b; b >>= 1, a = times_x(a))
    if (b & 1)
      product ^= a;
  return product;
}

void bf_aes_make_boxes(bf_aes_boxes *boxes) {
  for (unsigned i = 0; i < 256; i++) {
    uint8_t inverse = 1; /* i to the power of 254 */
    for (unsigned k = 0; k < 254; k++)
      inverse = times(inverse, (uint8_t)i);
    unsigned turned = inverse | (unsigned)inverse << 8;
    turned ^= turned << 1 ^ turned << 2 ^ turned << 3 ^ turned << 4;
    const uint8_t value = (uint8_t)(turned >> 8) ^ 0x63;
    boxes->forward[i] = value;
    boxes->inverse[value] = (uint8_t)i;
  }
}

void bf_aes_expand_key(const bf_aes_boxes *boxes, const uint8_t key[16], uint8_t round_keys[176]) {
  uint8_t constant = 1;
  memcpy(round_keys, key, 16);
  for (unsigned i = 16; i < 176; i += 4) {
    uint8_t word[4];
    memcpy(word, round_keys + i - 4, 4);
    if (i % 16 == 0) {
      const uint8_t first = word[0];
      for (unsigned c = 0; c < 4; c++)
        word[c] = boxes->forward[c < 3 ? word[c + 1] : first];
      word[0] ^= constant;
      constant = times_x(constant);
    }
    for (unsigned c = 0; c < 4; c++)
      round_keys[i + c] = round_keys[i - 16 + c] ^ word[c];
  }
}

static void add_key(uint8_t block[16], const uint8_t *key) {
  for (unsigned i = 0; i < 16; i++)
    block[i] ^= key[i];
}

/* Substitutes all bytes and turns row r by r columns (`turn` 1: to the left, 3: to the right). */
static void substitute_and_turn(uint8_t block[16], const uint8_t *box, unsigned turn) {
  uint8_t old[16];
  memcpy(old, block, 16);
  for (unsigned i = 0; i < 16; i++) {
    const unsigned row = i % 4, column = i / 4;
    block[i] = box[old[(column + turn * row) % 4 * 4 + row]];
  }
}

/* Multiplies a column by the circulant matrix whose first column is given. */
static void mix(uint8_t *column, const uint8_t factors[4]) {
  uint8_t old[4];
  memcpy(old, column, 4);
  for (unsigned row = 0; row < 4; row++) {
    column[row] = 0;
    for (unsigned k = 0; k < 4; k++)
      column[row] ^= times(old[k], factors[(row + 4 - k) % 4]);
  }
}

static const uint8_t mix_forward[4] = {2, 1, 1, 3}, mix_inverse[4] = {14, 9, 13, 11};

void bf_aes_encrypt(const bf_aes_boxes *boxes, const uint8_t round_keys[176], uint8_t block[16]) {
  add_key(block, round_keys);
  for (unsigned round = 1; round <= BF_AES_ROUNDS; round++) {
    substitute_and_turn(block, boxes->forward, 1);
    for (unsigned column = 0; round < BF_AES_ROUNDS && column < 4; column++)
      mix(block + 4 * column, mix_forward);
    add_key(block, round_keys + 16 * round);
  }
}

void bf_aes_decrypt(const bf_aes_boxes *boxes, const uint8_t round_keys[176], uint8_t block[16]) {
  for (unsigned round = BF_AES_ROUNDS; round >= 1; round--) {
    add_key(block, round_keys + 16 * round);
    for (unsigned column = 0; round < BF_AES_ROUNDS && column < 4; column++)
      mix(block + 4 * column, mix_inverse);
    substitute_and_turn(block, boxes->inverse, 3);
  }
  add_key(block, round_keys);
}

/* ---- What kernels need ---- */

static uint32_t to_word(const uint8_t *bytes) {
  return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* tables[256 r + v]: what a byte v in row r adds to its column in a round. */
static void make_tables(const uint8_t *box, const uint8_t factors[4], uint32_t tables[1024]) {
  for (unsigned value = 0; value < 256; value++)
    for (unsigned row = 0; row < 4; row++) {
      uint8_t column[4] = {0};
      column[row] = box[value];
      mix(column, factors);
      tables[256 * row + value] = to_word(column);
    }
}

/* The keys in the order of use. Decryption goes backwards and adds keys behind the mixing, so that
 * those between the first and the last are mixed too. */
static void make_keys(const uint8_t round_keys[176], bool is_decryption, uint32_t keys[44]) {
  for (unsigned round = 0; round <= BF_AES_ROUNDS; round++)
    for (unsigned column = 0; column < 4; column++) {
      const unsigned from = is_decryption ? BF_AES_ROUNDS - round : round;
      uint8_t word[4];
      memcpy(word, round_keys + 16 * from + 4 * column, 4);
      if (is_decryption && round > 0 && round < BF_AES_ROUNDS)
        mix(word, mix_inverse);
      keys[4 * round + column] = to_word(word);
    }
}

/* Encrypts or decrypts random blocks. */
static int run_aes(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                   bf_diagnostic *diagnostic) {
  const aes_variant *variant = run->benchmark->variant;
  const bool is_decryption = variant->is_decryption;
  const bf_device *device = run->device;
  const uint32_t grid = 16 * run->scale;
  const uint64_t bytes = (uint64_t)grid * BLOCKS_OF_DATA * 16;
  uint8_t *input, *reference, *result, key[16], round_keys[176];
  BF_TRY(BF_CORPUS_ALLOC(run, &input, bytes, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, bytes, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, bytes, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  for (unsigned i = 0; i < 16; i++)
    key[i] = (uint8_t)bf_corpus_next(&random);
  for (uint64_t i = 0; i < bytes; i++)
    reference[i] = input[i] = (uint8_t)bf_corpus_next(&random);
  bf_aes_boxes boxes;
  bf_aes_make_boxes(&boxes);
  bf_aes_expand_key(&boxes, key, round_keys);
  for (uint64_t i = 0; i < bytes; i += 16)
    (is_decryption ? bf_aes_decrypt : bf_aes_encrypt)(&boxes, round_keys, reference + i);

  uint32_t tables[1024], keys[44];
  const uint8_t *box = is_decryption ? boxes.inverse : boxes.forward;
  make_tables(box, is_decryption ? mix_inverse : mix_forward, tables);
  make_keys(round_keys, is_decryption, keys);
  uint64_t table, last, schedule, from, to;
  BF_TRY(bf_corpus_upload(device, tables, sizeof tables, &table, diagnostic));
  BF_TRY(bf_corpus_upload(device, box, 256, &last, diagnostic));
  BF_TRY(bf_corpus_upload(device, keys, sizeof keys, &schedule, diagnostic));
  BF_TRY(bf_corpus_upload(device, input, bytes, &from, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, bytes, &to, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, variant->kernel, grid, 1, THREADS, 1, diagnostic, &table, &last,
                          &schedule, &from, &to));
  BF_TRY(device->read(device->context, to, result, bytes, diagnostic));
  bf_corpus_compare_bytes(result, reference, bytes, outcome);
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_aes[] = {
    {
        .name = "aes-encrypt",
        .folder = "aes",
        .summary = "AES-128 encryption, tables in shared memory",
        .is_data_dependent = true,
        .variant = &(const aes_variant){"aes_encrypt", false},
        .run = run_aes,
    },
    {
        .name = "aes-decrypt",
        .folder = "aes",
        .summary = "AES-128 decryption, tables in shared memory",
        .is_data_dependent = true,
        .variant = &(const aes_variant){"aes_decrypt", true},
        .run = run_aes,
    },
    {0},
};
