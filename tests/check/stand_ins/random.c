/* The stand-in for cuRAND (argument 1) against NVIDIA's generators for the CPU (argument 2, where
 * the library is installed), number for number, and against sums that these gave (libcurand.so.10
 * of CUDA 13.0). */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 20000, MANY = 300000 };

typedef struct library {
  void *handle;
  void *generator;
} library;

static int faults;

#define CALL(own, name, types) ((int(*) types)(uintptr_t)dlsym((own)->handle, name))

static void expect(int is_so, const char *what, int type) {
  if (!is_so) {
    printf("cuRAND, type %d: %s\n", type, what);
    faults++;
  }
}

/* What is asked of a generator. */
typedef struct request {
  const char *name;
  size_t bytes; /* of a number */
  int has_moments;
} request;

static const request requests[] = {
    {"curandGenerate", 4, 0},
    {"curandGenerateUniform", 4, 0},
    {"curandGenerateUniformDouble", 8, 0},
    {"curandGenerateNormal", 4, 1},
    {"curandGenerateNormalDouble", 8, 1},
    {"curandGenerateLogNormal", 4, 1},
    {"curandGenerateLogNormalDouble", 8, 1},
};
enum { REQUESTS = sizeof requests / sizeof *requests };

static int make(const library *own, const request *what, void *out, size_t count) {
  if (!what->has_moments)
    return CALL(own, what->name, (void *, void *, size_t))(own->generator, out, count);
  if (what->bytes == 4)
    return CALL(own, what->name, (void *, void *, size_t, float, float))(own->generator, out, count,
                                                                         0.5f, 1.25f);
  return CALL(own, what->name, (void *, void *, size_t, double, double))(own->generator, out, count,
                                                                         0.5, 1.25);
}

static int begin(library *own, int type, uint64_t seed, uint64_t offset) {
  int status = CALL(own, "curandCreateGeneratorHost", (void **, int))(&own->generator, type);
  status |=
      CALL(own, "curandSetPseudoRandomGeneratorSeed", (void *, uint64_t))(own->generator, seed);
  return status | CALL(own, "curandSetGeneratorOffset", (void *, uint64_t))(own->generator, offset);
}

static void end(const library *own) {
  CALL(own, "curandDestroyGenerator", (void *))(own->generator);
}

/* The bytes of a request, in pieces of a size, as a sum. */
static uint64_t sum(const unsigned char *bytes, size_t count) {
  uint64_t result = 14695981039346656037u;
  for (size_t i = 0; i < count; i++)
    result = (result ^ bytes[i]) * 1099511628211u;
  return result;
}

/* One request of both libraries in pieces; the bytes must be the same. */
static void compare(library *own, library *other, int type, const request *what, size_t piece,
                    uint64_t offset) {
  static unsigned char out[2][COUNT * 8];
  char text[200];
  library *all[] = {own, other};
  for (int i = 0; i < 2; i++) {
    int status = begin(all[i], type, 0x123456789abcdef0u, offset);
    for (size_t at = 0; at < COUNT && !status; at += piece)
      status =
          make(all[i], what, out[i] + at * what->bytes, at + piece > COUNT ? COUNT - at : piece);
    expect(!status, what->name, type);
    end(all[i]);
  }
  size_t wrong = 0, first = 0;
  for (size_t i = 0; i < COUNT; i++)
    if (memcmp(out[0] + i * what->bytes, out[1] + i * what->bytes, what->bytes) != 0 && !wrong++)
      first = i;
  snprintf(text, sizeof text,
           "%s in pieces of %zu behind %" PRIu64 ": %zu of %d differ, the first at %zu", what->name,
           piece, offset, wrong, COUNT, first);
  expect(!wrong, text, type);
}

/* Requests of several kinds one after the other. */
static void mix(library *own, library *other, int type, size_t numbers) {
  static unsigned char out[2][MANY * 8];
  char text[200];
  begin(own, type, 7, 0);
  begin(other, type, 7, 0);
  for (int i = 0; i < 9; i++) {
    const request *what = &requests[i * 5 % REQUESTS];
    int status = make(own, what, out[0], numbers) | make(other, what, out[1], numbers);
    snprintf(text, sizeof text, "%s, request %d of %zu numbers of several kinds", what->name, i,
             numbers);
    expect(!status && memcmp(out[0], out[1], numbers * what->bytes) == 0, text, type);
  }
  end(own);
  end(other);
}

/* What NVIDIA's library gave, so that a machine without it can tell. */
static const struct {
  int type;
  uint64_t sum[REQUESTS];
} recorded[] = {
    {101,
     {0x3e28bd06e696840u, 0x9c6aa2e2b723aafu, 0xa37d105639ecc5c9u, 0xe192d170f98df1aeu,
      0x777bfbc582f596c0u, 0x4ef388894ace32abu, 0xefb10e269e8837feu}},
    {121,
     {0x92ea687240baf63au, 0xb29edcae923382ebu, 0x591543a2f2b6e415u, 0xa82aacb1519ec858u,
      0xf1348018a37a0c8au, 0xb8e5a49c63c5363cu, 0xd37be2aefc884d08u}},
    {161,
     {0x4769d6616d8f8fa5u, 0x875c83ae5f6f0c2bu, 0x36c6877495c244d6u, 0x9e21124e72caa6b0u,
      0x6ebf74f092d59616u, 0x7851fcf7a9efb2beu, 0x2216c9057c55ca8du}},
};

int main(int count, char **argument) {
  static unsigned char out[COUNT * 8];
  library own = {.handle = dlopen(argument[1], RTLD_NOW)};
  library other = {.handle = count > 2 ? dlopen(argument[2], RTLD_NOW) : NULL};
  int is_recording = count > 3;
  if (!own.handle || (count > 2 && !other.handle)) {
    puts(dlerror());
    return 1;
  }
  for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
    int type = recorded[i].type;
    library *asked = is_recording ? &other : &own;
    printf(is_recording ? "    {%d, {" : "", type);
    for (int k = 0; k < REQUESTS; k++) {
      int status = begin(asked, type, 42, 5) | make(asked, &requests[k], out, COUNT);
      uint64_t now = sum(out, COUNT * requests[k].bytes);
      if (is_recording)
        printf("0x%" PRIx64 "u, ", now);
      expect(!status && (is_recording || now == recorded[i].sum[k]), requests[k].name, type);
      end(asked);
    }
    printf(is_recording ? "}},\n" : "");
    /* The start of MRG32k3a takes NVIDIA's library a second: fewer comparisons. */
    for (int k = type == 121 ? 3 : 0; other.handle && k < (type == 121 ? 4 : REQUESTS); k++) {
      compare(&own, &other, type, &requests[k], 1000, 0);
      compare(&own, &other, type, &requests[k], COUNT, 12345678901u);
    }
    if (other.handle) {
      mix(&own, &other, type, 6);
      mix(&own, &other, type, type == 161 ? MANY : 5000);
    }
  }
  begin(&own, 101, 1, 0);
  expect(make(&own, &requests[3], out, 7) == 105, "an odd number of normal numbers is no pair",
         101);
  end(&own);
  return faults != 0;
}
