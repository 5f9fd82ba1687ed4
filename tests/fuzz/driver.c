/* A stand-in for libFuzzer where the compiler has none: runs the harness on every file of the
 * corpus, then on mutations of them. Understands -runs=N, -max_total_time=SECONDS and -seed=N;
 * other options are ignored. The same seed gives the same inputs. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_INPUTS = 1024, MAX_BYTES = 4096 };

typedef struct input {
  uint8_t bytes[MAX_BYTES];
  size_t size;
} input;

typedef struct corpus {
  input *inputs;
  size_t count;
} corpus;

/* xorshift64* */
static uint64_t next_random(uint64_t *state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * 0x2545F4914F6CDD1Du;
}

static void add_file(corpus *all, const char *path) {
  FILE *file = all->count < MAX_INPUTS ? fopen(path, "rb") : NULL;
  if (!file)
    return;
  input *one = &all->inputs[all->count++];
  one->size = fread(one->bytes, 1, MAX_BYTES, file);
  fclose(file);
}

static void add_path(corpus *all, const char *path) {
  struct stat status;
  if (stat(path, &status) != 0)
    return;
  if (!S_ISDIR(status.st_mode)) {
    add_file(all, path);
    return;
  }
  DIR *directory = opendir(path);
  for (struct dirent *entry; directory && (entry = readdir(directory));) {
    char name[4096];
    snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
    if (entry->d_name[0] != '.')
      add_file(all, name);
  }
  if (directory)
    closedir(directory);
}

static void insert_bytes(input *one, size_t at, const uint8_t *bytes, size_t size) {
  if (size > MAX_BYTES - one->size)
    size = MAX_BYTES - one->size;
  memmove(one->bytes + at + size, one->bytes + at, one->size - at);
  memcpy(one->bytes + at, bytes, size);
  one->size += size;
}

static void remove_bytes(input *one, size_t at, size_t size) {
  if (size > one->size - at)
    size = one->size - at;
  memmove(one->bytes + at, one->bytes + at + size, one->size - at - size);
  one->size -= size;
}

/* One change: a bit, a byte, a piece cut out, a piece of another input put in. */
static void mutate(input *one, const corpus *all, uint64_t *state) {
  static const char interesting[] = "0123456789abcdefx,:@#^+-/ \n\t\"=\xff\x80";
  size_t at = one->size ? next_random(state) % one->size : 0;
  const input *other = &all->inputs[next_random(state) % all->count];
  size_t from = other->size ? next_random(state) % other->size : 0;
  uint8_t byte = (uint8_t)interesting[next_random(state) % (sizeof interesting)];
  switch (next_random(state) % 5) {
  case 0:
    if (one->size)
      one->bytes[at] ^= (uint8_t)(1u << next_random(state) % 8);
    break;
  case 1:
    if (one->size)
      one->bytes[at] = byte;
    break;
  case 2:
    insert_bytes(one, at, &byte, 1);
    break;
  case 3:
    remove_bytes(one, at, 1 + next_random(state) % 16);
    break;
  case 4:
    insert_bytes(one, at, other->bytes + from, (other->size - from) % 64);
    break;
  }
}

static uint64_t option(int argc, char **argv, const char *name, uint64_t otherwise) {
  size_t length = strlen(name);
  for (int i = 1; i < argc; i++)
    if (strncmp(argv[i], name, length) == 0)
      return strtoull(argv[i] + length, NULL, 10);
  return otherwise;
}

/* The harness must see exactly size readable bytes, so that reading past them is noticed. */
static void run_one(const input *one) {
  uint8_t *exact = malloc(one->size ? one->size : 1);
  if (!exact)
    exit(1);
  memcpy(exact, one->bytes, one->size);
  LLVMFuzzerTestOneInput(exact, one->size);
  free(exact);
}

int main(int argc, char **argv) {
  corpus all = {calloc(MAX_INPUTS, sizeof(input)), 0};
  if (!all.inputs)
    return 1;
  for (int i = 1; i < argc; i++)
    if (argv[i][0] != '-')
      add_path(&all, argv[i]);
  for (size_t i = 0; i < all.count; i++)
    run_one(&all.inputs[i]);
  if (all.count == 0)
    all.count = 1; /* the empty input */
  uint64_t runs = option(argc, argv, "-runs=", 100000);
  uint64_t seconds = option(argc, argv, "-max_total_time=", 0);
  uint64_t state = option(argc, argv, "-seed=", 1) * 2 + 1;
  time_t start = time(NULL);
  uint64_t done = 0;
  while (done < runs && !(seconds && (uint64_t)(time(NULL) - start) >= seconds)) {
    input one = all.inputs[next_random(&state) % all.count];
    for (uint64_t changes = 1 + next_random(&state) % 8; changes > 0; changes--)
      mutate(&one, &all, &state);
    run_one(&one);
    done++;
  }
  fprintf(stderr, "Done %llu runs\n", (unsigned long long)done);
  free(all.inputs);
  return 0;
}
