/* The parts of the injection library that need no driver: content hashes, images whose bytes lie,
 * which PTX stands for an image, and the cache. */
#include "inject/inject.h"

#include "random.h"
#include "sanitized.h"

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* What the library takes from the driver and from the rewriter is not called here. */
void *inject_driver(const char *name) {
  (void)name;
  return NULL;
}

int inject_rewrite(const inject_settings *settings, const char *name, const bf_text *ptx,
                   bool has_code, inject_rewritten *rewritten, bf_diagnostic *diagnostic) {
  (void)settings, (void)name, (void)ptx, (void)has_code, (void)rewritten;
  return bf_fail(diagnostic, BF_UNSUPPORTED, "no rewriter");
}

struct inject_apart *inject_aparts_create(const inject_image *image) {
  (void)image;
  return calloc(1, 1);
}

inject_apart_state inject_apart_look(const inject_pair *pair) {
  (void)pair;
  return INJECT_APART_IDLE;
}

bool inject_apart_prepare(const inject_pair *pair) {
  (void)pair;
  return false;
}

inject_apart_state inject_apart_get(const inject_pair *pair, bool gains) {
  (void)gains;
  return inject_apart_look(pair);
}

void *inject_apart_handle(const inject_pair *pair) {
  (void)pair;
  return NULL;
}

int inject_set_beside(const inject_pair *pair, unsigned setting, int value) {
  (void)pair, (void)setting, (void)value;
  return CUDA_SUCCESS;
}

/* ---- Content hashes ---- */

/* The digest of size bytes 0, 1, 2, ... taken in pieces, as hexadecimal digits. */
static void digest_of(size_t size, size_t piece, char hex[65]) {
  unsigned char bytes[1024], result[INJECT_KEY_BYTES];
  inject_digest digest;
  for (size_t i = 0; i < sizeof bytes; i++)
    bytes[i] = (unsigned char)i;
  inject_digest_start(&digest);
  for (size_t at = 0; at < size; at += piece)
    inject_digest_add(&digest, bytes + at, size - at < piece ? size - at : piece);
  inject_digest_end(&digest, result);
  for (unsigned i = 0; i < sizeof result; i++)
    sprintf(hex + 2 * i, "%02x", result[i]);
}

/* Expected values are those of Python's hashlib.blake2b(bytes, digest_size=32). */
static void digests_are_blake2b(void **state) {
  (void)state;
  static const struct {
    size_t size;
    const char *hex;
  } rows[] = {
      {0, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"},
      {1, "03170a2e7597b7b7e3d84c05391d139a62b157e78786d8c082f29dcf4c111314"},
      {3, "3d8c3d594928271f44aad7a04b177154806867bcf918e1549c0bc16f9da2b09b"},
      {127, "f2fe67ff342e21b8f45e8f2e0bcd1d9243245d50ee6c78042e9c491388791c72"},
      {128, "c3582f71ebb2be66fa5dd750f80baae97554f3b015663c8be377cfcb2488c1d1"},
      {129, "f7f3c46ba2564ff4c4c162da1f5b605f9f1c4aa6a20652a9f9a337c1a2f5b9c9"},
      {256, "39a7eb9fedc19aabc83425c6755dd90e6f9d0c804964a1f4aaeea3b9fb599835"},
      {1000, "c636324d47d89f2b2434dc2c994100663fbbaea880ff020fc5de89dd0f77a1ec"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (size_t piece = 1; piece <= 300; piece += 37) {
      char hex[65];
      digest_of(rows[i].size, piece, hex);
      assert_string_equal(hex, rows[i].hex);
    }
}

/* ---- Images ---- */

static size_t read_file(const char *path, unsigned char bytes[1 << 14]) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t size = fread(bytes, 1, 1 << 14, file);
  fclose(file);
  return size;
}

/* Reads an image as the library does, and as much of its PTX as there is. */
static void try_image(const void *image) {
  static const inject_devices devices = {.count = 1, .sm = {90}, .ptx_version = 90};
  const void *bytes;
  inject_source source;
  uint64_t size = inject_image_bytes(image, BF_MAX_PTX_BYTES, &bytes);
  if (size == 0 || inject_source_open(bytes, size, &devices, &source, NULL) != BF_OK)
    return;
  bf_text text = {0};
  if (bf_fatbin_text(source.fatbin, source.image, &text, NULL) == BF_OK)
    bf_text_free(&text);
  inject_source_close(&source);
}

/* Images at the end of a page behind which there is nothing, with random bytes changed. */
static void images_may_lie(void **state) {
  (void)state;
  static unsigned char image[1 << 14];
  size_t room = sizeof image, page = (size_t)sysconf(_SC_PAGESIZE);
  unsigned char *memory =
      mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(memory, MAP_FAILED);
  assert_int_equal(mprotect(memory + room, page, PROT_NONE), 0);
  static const char *const files[] = {"tests/data/fatbin/many.fatbin",
                                      "tests/data/fatbin/plain.fatbin",
                                      "tests/data/fatbin/twice.ptx"};
  test_random random = {5};
  for (unsigned round = 0; round < 30000; round++) {
    size_t size = read_file(files[round % 3], image);
    if (round % 2)
      size = 1 + random_below(&random, size);
    unsigned char *at = memory + room - size;
    memcpy(at, image, size);
    for (unsigned i = 0; i < round % 7; i++)
      at[random_below(&random, size < 200 ? size : 200)] = (unsigned char)random_bits(&random);
    try_image(at);
    cu_fatbin_wrapper wrapper = {CU_FATBIN_WRAPPER_MAGIC, 1, at, NULL};
    try_image(&wrapper);
  }
  try_image(NULL);
  munmap(memory, room + page);
}

/* The architecture of the PTX that stands for a fat binary on devices; 0: none does. */
static unsigned chosen(const char *path, unsigned first, unsigned second, unsigned ptx_version) {
  static unsigned char image[1 << 14];
  inject_devices devices = {second ? 2 : 1, {first, second}, ptx_version};
  inject_source source;
  size_t size = read_file(path, image);
  if (inject_source_open(image, size, &devices, &source, NULL) != BF_OK)
    return 0;
  unsigned sm = source.image->arch.sm * 10 + (source.image->arch.variant == 'a');
  inject_source_close(&source);
  return sm;
}

/* many.fatbin holds PTX for sm_75, sm_90, sm_90a and sm_100f, and machine code for sm_90. */
static void ptx_is_that_of_the_code_that_would_run(void **state) {
  (void)state;
  static const char many[] = "tests/data/fatbin/many.fatbin";
  assert_int_equal(chosen(many, 90, 0, 90), 900); /* not 90a: the machine code is for sm_90 */
  assert_int_equal(chosen(many, 75, 0, 90), 750);
  assert_int_equal(chosen(many, 89, 0, 90), 750);
  assert_int_equal(chosen(many, 70, 0, 90), 0);
  assert_int_equal(chosen(many, 100, 0, 90), 1000);
  assert_int_equal(chosen(many, 120, 0, 90), 900);
  assert_int_equal(chosen(many, 90, 120, 90), 900);
  assert_int_equal(chosen(many, 75, 90, 90), 0);
  assert_int_equal(chosen(many, 90, 0, 88), 0);
  assert_int_equal(chosen("tests/data/fatbin/machine_code.fatbin", 90, 0, 90), 0);
  assert_int_equal(chosen("tests/data/fatbin/lto.fatbin", 90, 0, 90), 0);
}

/* ---- Cache ---- */

/* Removes the files of a folder and the folder. */
static void remove_folder(const char *folder) {
  DIR *directory = opendir(folder);
  for (struct dirent *entry; (entry = readdir(directory));)
    if (entry->d_name[0] != '.')
      unlinkat(dirfd(directory), entry->d_name, 0);
  closedir(directory);
  rmdir(folder);
}

static void cached_images_come_back(void **state) {
  (void)state;
  inject_settings settings = {.cache = "/tmp/bankfold-test.XXXXXX"};
  unsigned char key[INJECT_KEY_BYTES] = {1, 2, 3}, other[INJECT_KEY_BYTES] = {1, 2, 4};
  assert_non_null(mkdtemp(settings.cache));
  assert_null(inject_cache_read(&settings, key));
  bf_text lines = {0};
  inject_add_kernel(
      &(inject_kernel){
          .name = "one", .beside = "one__bankfold_1", .hash = "fixed", .most_x = 32, .most_y = 8},
      &lines);
  inject_add_kernel(
      &(inject_kernel){.name = "two", .beside = "second", .hash = "cute:3,4,3", .rounds = true},
      &lines);
  inject_add_kernel(&(inject_kernel){.name = "four", .reason = "line 7:\twhy"}, &lines);
  inject_image *image = inject_image_create(key, "text", 4, lines.data, lines.size);
  bf_text_free(&lines);
  inject_cache_write(&settings, image);
  inject_image_free(image);
  image = inject_image_create(other, NULL, 0, NULL, 0);
  inject_cache_write(&settings, image);
  inject_image_free(image);

  image = inject_cache_read(&settings, key);
  assert_non_null(image);
  assert_int_equal(inject_image_kernel(image, "one")->most_x, 32);
  assert_int_equal(inject_image_kernel(image, "one")->most_y, 8);
  assert_int_equal(inject_image_kernel(image, "one")->most_z, 0);
  assert_string_equal(image->text, "text");
  assert_int_equal(image->kernels, 3);
  assert_string_equal(inject_image_kernel(image, "one")->hash, "fixed");
  assert_string_equal(inject_image_kernel(image, "two")->hash, "cute:3,4,3");
  assert_null(inject_image_kernel(image, "two")->reason);
  assert_null(inject_image_kernel(image, "four")->hash);
  assert_string_equal(inject_image_kernel(image, "four")->reason, "line 7:\twhy");
  assert_null(inject_image_kernel(image, "three"));
  assert_string_equal(inject_image_kernel(image, "one")->beside, "one__bankfold_1");
  assert_null(inject_image_kernel(image, "four")->beside);
  assert_false(inject_image_kernel(image, "one")->rounds);
  assert_true(inject_image_kernel(image, "two")->rounds);
  assert_true(inject_image_is_beside(image, "second"));
  assert_false(inject_image_is_beside(image, "two"));
  inject_image_free(image);
  image = inject_cache_read(&settings, other);
  assert_non_null(image);
  assert_null(image->text);
  assert_int_equal(image->kernels, 0);
  assert_null(inject_image_kernel(image, "one"));
  inject_image_free(image);
  remove_folder(settings.cache);
}

/* The only file of a folder. */
static void find_file(const char *folder, char path[512]) {
  DIR *directory = opendir(folder);
  path[0] = 0;
  assert_non_null(directory);
  for (struct dirent *entry; (entry = readdir(directory));)
    if (entry->d_name[0] != '.')
      snprintf(path, 512, "%s/%s", folder, entry->d_name);
  closedir(directory);
  assert_true(path[0]);
}

/* Whether the cache has an image for the key. */
static bool has_image(const inject_settings *settings, const unsigned char *key) {
  inject_image *image = inject_cache_read(settings, key);
  bool has = image;
  inject_image_free(image);
  return has;
}

/* What others can write to, or have written, is not read; nothing is left where they can. */
static void only_own_files_are_used(void **state) {
  (void)state;
  inject_settings settings = {.cache = "/tmp/bankfold-test.XXXXXX"};
  unsigned char key[INJECT_KEY_BYTES] = {7}, other[INJECT_KEY_BYTES] = {8};
  char path[512], elsewhere[] = "/tmp/bankfold-other.XXXXXX";
  assert_non_null(mkdtemp(settings.cache));
  inject_image *image = inject_image_create(key, "text", 4, NULL, 0);
  inject_image *second = inject_image_create(other, "text", 4, NULL, 0);
  inject_cache_write(&settings, image);
  find_file(settings.cache, path);
  assert_true(has_image(&settings, key));
  const mode_t bad[] = {0620, 0602};
  for (unsigned i = 0; i < 2; i++) {
    assert_int_equal(chmod(path, bad[i]), 0);
    assert_false(has_image(&settings, key));
  }
  assert_int_equal(chmod(path, 0644), 0);
  assert_true(has_image(&settings, key));
  for (unsigned i = 0; i < 2; i++) {
    assert_int_equal(chmod(settings.cache, i ? 0777 : 0770), 0);
    assert_false(has_image(&settings, key));
    inject_cache_write(&settings, second);
    assert_int_equal(chmod(settings.cache, 0755), 0);
    assert_true(has_image(&settings, key));
    assert_false(has_image(&settings, other));
  }
  if (geteuid() == 0) { /* only root can give files away */
    assert_int_equal(chown(path, 65534, 65534), 0);
    assert_false(has_image(&settings, key));
    inject_cache_write(&settings, image); /* puts an own one there */
    assert_true(has_image(&settings, key));
    assert_int_equal(chown(settings.cache, 65534, 65534), 0);
    assert_false(has_image(&settings, key));
    assert_int_equal(chown(settings.cache, 0, 0), 0);
  }
  int file = mkstemp(elsewhere);
  assert_true(file >= 0);
  close(file);
  assert_int_equal(rename(path, elsewhere), 0);
  assert_int_equal(symlink(elsewhere, path), 0);
  assert_false(has_image(&settings, key));
  unlink(elsewhere);
  inject_image_free(image);
  inject_image_free(second);
  remove_folder(settings.cache);
}

static void the_library_knows_its_build(void **state) {
  (void)state;
  size_t size = 0;
  const unsigned char *id = inject_build_id(&size);
  assert_non_null(id);
  assert_true(size >= 8);
  unsigned char sum = 0;
  for (size_t i = 0; i < size; i++)
    sum |= id[i];
  assert_true(sum);
}

/* What a thread writes again and again, until it is told to stop. */
typedef struct busy_writer {
  const inject_settings *settings;
  const inject_image *image;
  atomic_bool stops;
} busy_writer;

static void *write_again(void *context) {
  busy_writer *writer = context;
  while (!atomic_load(&writer->stops))
    inject_cache_write(writer->settings, writer->image);
  return NULL;
}

/* Files appear whole: whoever reads while they are written gets the old or the new one. */
static void images_are_read_while_written(void **state) {
  (void)state;
  enum { TEXT_BYTES = 1 << 19, READS = IS_SANITIZED ? 40 : 200 };
  inject_settings settings = {.cache = "/tmp/bankfold-test.XXXXXX"};
  unsigned char key[INJECT_KEY_BYTES] = {5};
  char *text = malloc(TEXT_BYTES);
  assert_non_null(text);
  assert_non_null(mkdtemp(settings.cache));
  memset(text, 'x', TEXT_BYTES);
  inject_image *image = inject_image_create(key, text, TEXT_BYTES, NULL, 0);
  busy_writer writer = {.settings = &settings, .image = image};
  pthread_t threads[2];
  inject_cache_write(&settings, image);
  for (unsigned i = 0; i < 2; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, write_again, &writer), 0);
  unsigned sound = 0;
  for (unsigned i = 0; i < READS; i++) {
    inject_image *found = inject_cache_read(&settings, key);
    sound += found && strlen(found->text) == TEXT_BYTES;
    inject_image_free(found);
  }
  atomic_store(&writer.stops, true);
  for (unsigned i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  assert_int_equal(sound, READS);
  inject_image_free(image);
  free(text);
  remove_folder(settings.cache);
}

/* Lines that are not those of kernels make no image. */
static void bad_lines_make_no_image(void **state) {
  (void)state;
  static const char *const bad[] = {"kernel",
                                    "kernel\n",
                                    "kernel\tname=one\thash=fixed\n",
                                    "kernel\tname=one\thash=fixed\trounds=10\n",
                                    "\n",
                                    "kernel\tname=one\trounds=0\nkernel\tname=two",
                                    "kernel\tname=one\trounds=\n",
                                    "one\tfixed\t0\n",
                                    "\t\t"};
  unsigned char key[INJECT_KEY_BYTES] = {0};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_null(inject_image_create(key, "text", 4, bad[i], strlen(bad[i])));
}

/* ---- Handles ---- */

static void handles_are_remembered(void **state) {
  (void)state;
  static char handles[20000], beside[20000];
  inject_image image = {0};
  inject_kernel kernel = {.name = "k", .beside = "k2", .rounds = true};
  for (size_t i = 0; i < sizeof handles; i++) {
    inject_pair pair = {
        .image = &image, .kernel = &kernel, .own = &handles[i], .beside = &beside[i]};
    assert_true(i % 2 ? inject_handle_set_pair(&pair) : inject_handle_set(&handles[i], &image));
  }
  for (size_t i = 0; i < sizeof handles; i += 3)
    inject_handle_set(&handles[i], NULL);
  for (size_t i = 0; i < sizeof handles; i++) {
    const inject_pair *pair = inject_handle_pair(&handles[i]);
    assert_ptr_equal(inject_handle_image(&handles[i]), i % 3 ? &image : NULL);
    assert_true((pair != NULL) == (i % 3 && i % 2));
    assert_true(!pair || (pair->own == &handles[i] && pair == inject_handle_pair(&beside[i])));
    inject_handle_set(&handles[i], NULL);
    inject_handle_set(&beside[i], NULL);
  }
}

/* The second version of a kernel gets whole rows where it needs them. */
static void sizes_are_rounded(void **state) {
  (void)state;
  inject_kernel kernel = {.rounds = true};
  static const unsigned sizes[][2] = {{0, 0}, {1, 128}, {128, 128}, {129, 256}, {232447, 232448}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    assert_int_equal(inject_round(&kernel, sizes[i][0]), sizes[i][1]);
  assert_int_equal(inject_round(&kernel, UINT32_MAX), UINT32_MAX);
  kernel.rounds = false;
  assert_int_equal(inject_round(&kernel, 129), 129);
}

static void *set_again(void *context) {
  static inject_image image;
  atomic_bool *stops = context;
  while (!atomic_load(stops))
    inject_handle_set(context, &image);
  return NULL;
}

/* A child is not left with the lock of a thread that it does not have. */
static void children_can_take_the_lock(void **state) {
  (void)state;
  enum { CHILDREN = IS_SANITIZED ? 40 : 200, MOST_SECONDS = 20, THREADS = 4 };
  static atomic_bool stops[THREADS];
  pthread_t threads[THREADS];
  inject_image image = {0};
  unsigned good = 0;
  for (unsigned i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, set_again, &stops[i]), 0);
  for (unsigned i = 0; i < CHILDREN; i++) {
    int status;
    pid_t child = fork();
    if (child == 0) {
      alarm(MOST_SECONDS);
      _exit(inject_handle_set(&status, &image) ? 7 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
      break;
    good++;
  }
  for (unsigned i = 0; i < THREADS; i++)
    atomic_store(&stops[i], true);
  for (unsigned i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  assert_int_equal(good, CHILDREN);
}

/* ---- Limits of registers ---- */

/* A copy of text; free it. */
static bf_text text_of(const char *text) {
  bf_text made = {0};
  bf_text_puts(&made, text);
  return made;
}

#define LIMITED ".visible .entry _Z7limitedPfPKf(\n\t.param .u64 p\n)"
#define KERNELS(limit)                                                                             \
  LIMITED limit "\n{\n\tret;\n}\n"                                                                 \
                ".visible .entry _Z7limitedPfPKf__bankfold_1()" limit "\n{\n\tret;\n}\n"           \
                ".visible .entry _Z7limitedPfPKf2()\n{\n\tret;\n}\n"

/* The machine code of a fat binary. */
static bf_text machine_code(const char *path) {
  bf_fatbin *fatbin;
  bf_text code = {0};
  assert_int_equal(bf_fatbin_open(path, &fatbin, NULL), BF_OK);
  for (size_t i = 0; i < fatbin->image_count; i++)
    if (fatbin->images[i].kind == BF_IMAGE_CUBIN)
      assert_int_equal(bf_fatbin_content(fatbin, &fatbin->images[i], &code, NULL), BF_OK);
  bf_fatbin_close(fatbin);
  assert_non_null(code.data);
  return code;
}

static void limit_text(const bf_text *code, const char *from, const char *expected) {
  bf_text text = text_of(from);
  inject_limit_registers(code, &text);
  assert_string_equal(text.data, expected);
  bf_text_free(&text);
}

/* Sets the registers that a cubin says its kernel has. */
static void set_registers(bf_text *code, unsigned char from, unsigned char to) {
  for (size_t i = 0; i + 12 <= code->size; i++)
    if (memcmp(code->data + i, "\4\x2f\10\0", 4) == 0 && (unsigned char)code->data[i + 8] == from) {
      code->data[i + 8] = (char)to;
      return;
    }
  fail_msg("no entry of %u registers", from);
}

static void registers_are_limited(void **state) {
  (void)state;
  static const unsigned char edges[][2] = {{53, 0},  {56, 0},    {57, 64},   {64, 64}, {65, 0},
                                           {80, 80}, {121, 128}, {161, 168}, {200, 0}};
  bf_text code = machine_code("tests/data/fatbin/limited.fatbin");
  limit_text(&code, KERNELS(""), KERNELS("\n.maxnreg 40"));
  limit_text(&code, LIMITED "\n.maxntid 32\n{\n}\n", LIMITED "\n.maxntid 32\n{\n}\n");
  bf_text_free(&code);
  code = machine_code("tests/data/fatbin/unlimited.fatbin");
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
    char expected[256];
    bf_text own = {0};
    bf_text_add(&own, code.data, code.size);
    set_registers(&own, 53, edges[i][0]);
    snprintf(expected, sizeof expected, LIMITED "\n.maxnreg %u\n{\n}\n", edges[i][1]);
    limit_text(&own, LIMITED "\n{\n}\n", edges[i][1] ? expected : LIMITED "\n{\n}\n");
    bf_text_free(&own);
  }
  bf_text_free(&code);
}

/* Machine code that is cut off or damaged limits nothing that it should not, and crashes nothing.
 */
static void damaged_code_is_harmless(void **state) {
  (void)state;
  test_random random = {3};
  bf_text code = machine_code("tests/data/fatbin/limited.fatbin");
  for (unsigned i = 0; i < 4000; i++) {
    size_t size = i < 2000 ? random_below(&random, (uint32_t)code.size) : code.size;
    char *bytes = malloc(size + 1);
    bf_text damaged = {.data = bytes, .size = size};
    assert_non_null(bytes);
    memcpy(bytes, code.data, size);
    for (unsigned k = 0; size && k < i % 20; k++)
      bytes[random_below(&random, (uint32_t)size)] = (char)random_bits(&random);
    bf_text text = text_of(KERNELS(""));
    inject_limit_registers(&damaged, &text);
    bf_text_free(&text);
    free(bytes);
  }
  bf_text_free(&code);
}

/* ---- Learning ---- */

/* Times around a median of 20 us, of which some are much longer, as on a GPU that is shared. */
static float random_time(test_random *random, double factor) {
  double ns = 20000 * factor * (1 + (double)random_below(random, 1000) / 10000);
  return (float)(random_below(random, 20) == 0 ? 3 * ns : ns);
}

/* How many of 1000 lessons end with each verdict, where the second version takes that share of the
 * time. */
static void learn_often(double share, unsigned verdicts[3]) {
  test_random random = {7};
  for (unsigned i = 0; i < 1000; i++) {
    inject_learning learning = {0};
    inject_verdict verdict = INJECT_UNDECIDED;
    for (unsigned k = 0; k < 2 * INJECT_MOST_SAMPLES && verdict == INJECT_UNDECIDED; k++) {
      learning.ns[k % 2][learning.count[k % 2]++] = random_time(&random, k % 2 ? share : 1);
      verdict = inject_learn_judge(&learning);
    }
    verdicts[verdict]++;
  }
}

/* What is faster is found, and noise seldom decides, although it is asked again and again. */
static void lessons_are_learnt(void **state) {
  (void)state;
  unsigned alike[3] = {0}, faster[3] = {0}, slower[3] = {0};
  learn_often(1, alike);
  learn_often(0.9, faster);
  learn_often(1.1, slower);
  assert_true(alike[INJECT_UNDECIDED] >= 970);
  assert_true(faster[INJECT_BESIDE] >= 990 && faster[INJECT_OWN] == 0);
  assert_true(slower[INJECT_OWN] >= 990 && slower[INJECT_BESIDE] == 0);
  inject_learning few = {.count = {7, 64}};
  assert_int_equal(inject_learn_judge(&few), INJECT_UNDECIDED);
}

/* A lesson with so many samples of each version, which takes that share of the time. */
static inject_learning lesson_of(unsigned first, unsigned second, float share) {
  inject_learning made = {.count = {first, second}};
  for (unsigned k = 0; k < 2; k++)
    for (unsigned i = 0; i < made.count[k]; i++)
      made.ns[k][i] = (k ? share : 1) * (float)(10000 + 100 * (i % 8));
  return made;
}

/* Versions that are alike are not measured for long; what may differ is, until there is no room. */
static void lessons_end(void **state) {
  (void)state;
  static const struct {
    unsigned count[2];
    float share;
    bool is_over;
  } cases[] = {{{24, 24}, 1, true},      {{23, 24}, 1, false},     {{24, 24}, 1.005f, true},
               {{24, 24}, 0.98f, false}, {{63, 64}, 0.98f, false}, {{64, 64}, 0.98f, true},
               {{64, 64}, 1, true},      {{0, 0}, 1, false},       {{64, 8}, 1, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    inject_learning own = lesson_of(cases[i].count[0], cases[i].count[1], cases[i].share);
    if (inject_learn_is_over(&own) != cases[i].is_over)
      fail_msg("%u and %u samples, share %g", cases[i].count[0], cases[i].count[1],
               (double)cases[i].share);
  }
}

/* Each version has one of every two turns; whatever repeats in a program, the third launch of five
 * or what overlaps with another kernel's turns, gets both about as often. */
static void turns_follow_no_pattern(void **state) {
  (void)state;
  enum { TURNS = 1 << 14 };
  unsigned agree = 0;
  for (unsigned i = 0; i < TURNS; i += 2)
    assert_true(inject_learn_turn(5, i) != inject_learn_turn(5, i + 1));
  for (unsigned period = 2; period <= 16; period++)
    for (unsigned at = 0; at < period; at++) {
      unsigned second = 0, all = 0;
      for (unsigned i = at; i < TURNS; i += period, all++)
        second += inject_learn_turn(5, i);
      assert_true(second > all * 0.42 && second < all * 0.58);
    }
  for (unsigned i = 0; i + 1 < TURNS; i++)
    agree += inject_learn_turn(5, i) == inject_learn_turn(6, i + 1);
  assert_true(agree > TURNS * 0.45 && agree < TURNS * 0.55);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(digests_are_blake2b),
      cmocka_unit_test(images_may_lie),
      cmocka_unit_test(ptx_is_that_of_the_code_that_would_run),
      cmocka_unit_test(cached_images_come_back),
      cmocka_unit_test(only_own_files_are_used),
      cmocka_unit_test(the_library_knows_its_build),
      cmocka_unit_test(images_are_read_while_written),
      cmocka_unit_test(bad_lines_make_no_image),
      cmocka_unit_test(handles_are_remembered),
      cmocka_unit_test(sizes_are_rounded),
      cmocka_unit_test(registers_are_limited),
      cmocka_unit_test(damaged_code_is_harmless),
      cmocka_unit_test(lessons_are_learnt),
      cmocka_unit_test(turns_follow_no_pattern),
      cmocka_unit_test(lessons_end),
      cmocka_unit_test(children_can_take_the_lock),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
