/* Compares emitted headers with the library; tests/check/emit.sh compiles it as C, C++ and CUDA.
 * Beside it lie headers.inc, which includes the emitted headers with the names h0, h1, ..., and
 * hashes.inc, which says what each is: HASH(number, hash, bank bits, address bits, word bytes).
 *
 *   driver           compares everything, and as CUDA on the device too if $ON_DEVICE is set
 *   driver NUMBER    prints the library's place of every word of that hash */
#include <bankfold.h>
#include <stdio.h>
#include <stdlib.h>

#include "headers.inc"

#ifdef __CUDACC__
#define BOTH static __host__ __device__
#else
#define BOTH static
#endif

enum { RESULTS = 5 };

/* place, inverse of it, byte place, inverse of it, bank of one word. */
#define HASH(n, text, m, bits, bytes)                                                              \
  BOTH void evaluate_##n(uint64_t word, uint64_t *result) {                                        \
    uint64_t byte = word * bytes + word % bytes;                                                   \
    result[0] = h##n##_word(word);                                                                 \
    result[1] = h##n##_word_inverse(result[0]);                                                    \
    result[2] = h##n##_byte(byte);                                                                 \
    result[3] = h##n##_byte_inverse(result[2]);                                                    \
    result[4] = h##n##_bank(word);                                                                 \
  }                                                                                                \
  static uint64_t memory_##n(uint64_t words) { return H##n##_ALLOCATION_WORDS(words); }
#include "hashes.inc"
#undef HASH

#ifdef __CUDACC__
#define HASH(n, text, m, bits, bytes)                                                              \
  __global__ void kernel_##n(const uint64_t *word, uint64_t *result, unsigned count) {             \
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                            \
    if (i < count)                                                                                 \
      evaluate_##n(word[i], result + RESULTS * i);                                                 \
  }
#include "hashes.inc"
#undef HASH
#define KERNEL(n) kernel_##n
typedef void (*kernel_type)(const uint64_t *, uint64_t *, unsigned);
#else
#define KERNEL(n) NULL
typedef void *kernel_type;
#endif

typedef struct entry {
  const char *hash;
  bf_geometry geometry;
  void (*evaluate)(uint64_t word, uint64_t *result);
  uint64_t (*memory)(uint64_t words);
  kernel_type kernel;
} entry;

static const entry entries[] = {
#define HASH(n, text, m, bits, bytes) {text, {m, bits, bytes}, evaluate_##n, memory_##n, KERNEL(n)},
#include "hashes.inc"
#undef HASH
};

static int failures;

static void expect(const entry *e, uint64_t word, const char *what, uint64_t got, uint64_t wanted) {
  if (got != wanted && ++failures < 20)
    printf("%s: word %llu: %s is %llu, not %llu\n", e->hash, (unsigned long long)word, what,
           (unsigned long long)got, (unsigned long long)wanted);
}

/* Every word of small allocations; of larger ones 65536 words all over. */
static uint64_t tried_words(const entry *e) {
  return e->geometry.address_bits <= 16 ? (uint64_t)1 << e->geometry.address_bits : 65536;
}

static uint64_t tried_word(const entry *e, uint64_t i) {
  uint64_t step = ((uint64_t)1 << e->geometry.address_bits) / 65536;
  return step <= 1 ? i : i * step + i * 40503 % step;
}

/* Compares the results of word; *last is the largest place of the words so far. */
static void compare(const entry *e, const bf_hash *hash, uint64_t word, const uint64_t *result,
                    uint64_t *last) {
  uint64_t bytes = e->geometry.word_bytes, place = bf_hash_place(hash, word);
  expect(e, word, "place", result[0], place);
  expect(e, word, "inverse", result[1], word);
  expect(e, word, "byte place", result[2], place * bytes + word % bytes);
  expect(e, word, "byte inverse", result[3], word * bytes + word % bytes);
  expect(e, word, "bank", result[4], bf_hash_bank(hash, word));
  if (place > *last)
    *last = place;
  expect(e, word, "last place inside the allocation", *last < e->memory(word + 1), 1);
}

static bf_hash *parse(const entry *e) {
  bf_hash *hash;
  bf_diagnostic diagnostic;
  if (bf_hash_parse(e->hash, &e->geometry, &hash, &diagnostic) != BF_OK) {
    printf("%s: %s\n", e->hash, diagnostic.message);
    exit(1);
  }
  return hash;
}

static void compare_on_host(const entry *e) {
  bf_hash *hash = parse(e);
  uint64_t last = 0, result[RESULTS];
  for (uint64_t i = 0; i < tried_words(e); i++) {
    uint64_t word = tried_word(e, i);
    e->evaluate(word, result);
    compare(e, hash, word, result, &last);
  }
  bf_hash_free(hash);
}

#ifdef __CUDACC__
static void check_call(cudaError_t error) {
  if (error != cudaSuccess) {
    printf("%s\n", cudaGetErrorString(error));
    exit(1);
  }
}

static void compare_on_device(const entry *e) {
  unsigned count = (unsigned)tried_words(e);
  size_t word_size = count * sizeof(uint64_t), result_size = RESULTS * word_size;
  uint64_t *word = (uint64_t *)malloc(word_size), *result = (uint64_t *)malloc(result_size);
  uint64_t *device_word, *device_result, last = 0;
  for (unsigned i = 0; i < count; i++)
    word[i] = tried_word(e, i);
  check_call(cudaMalloc(&device_word, word_size));
  check_call(cudaMalloc(&device_result, result_size));
  check_call(cudaMemcpy(device_word, word, word_size, cudaMemcpyHostToDevice));
  e->kernel<<<(count + 255) / 256, 256>>>(device_word, device_result, count);
  check_call(cudaMemcpy(result, device_result, result_size, cudaMemcpyDeviceToHost));
  bf_hash *hash = parse(e);
  for (unsigned i = 0; i < count; i++)
    compare(e, hash, word[i], result + RESULTS * i, &last);
  bf_hash_free(hash);
  check_call(cudaFree(device_word));
  check_call(cudaFree(device_result));
  free(word);
  free(result);
}
#else
static void compare_on_device(const entry *e) { (void)e; }
#endif

static void print_places(const entry *e) {
  bf_hash *hash = parse(e);
  for (uint64_t word = 0; word < tried_words(e); word++)
    printf("%llu\n", (unsigned long long)bf_hash_place(hash, word));
  bf_hash_free(hash);
}

int main(int argc, char **argv) {
  if (argc > 1) {
    print_places(&entries[atoi(argv[1])]);
    return 0;
  }
  for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
    compare_on_host(&entries[i]);
    if (getenv("ON_DEVICE"))
      compare_on_device(&entries[i]);
  }
  return failures != 0;
}
