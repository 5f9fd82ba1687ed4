/* What was learnt, kept on disk: a file for each program in the folder of the cache, in the form of
 * exchange/learnt.h. It is read when the first launch is decided about. It is written as a whole
 * under another name and renamed; what other processes have written meanwhile is read before, and
 * stays. */
#include "inject.h"

#include "exchange/learnt.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_DIGITS = 16, HEX_BYTES = 2 * INJECT_KEY_BYTES + 1 };

static bf_learnt earlier; /* runs */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- Files ---- */

static void print_hex(const unsigned char *key, unsigned digits, char *hex) {
  for (unsigned i = 0; i < digits / 2; i++)
    snprintf(hex + 2 * i, 3, "%02x", key[i]);
}

/* The file of this program; false: there is no folder for it that can be trusted. */
static bool find_path(bf_text *path) {
  const inject_settings *settings = inject_settings_get();
  char program[4096], hex[NAME_DIGITS + 1];
  unsigned char key[INJECT_KEY_BYTES];
  inject_digest digest;
  bool is_there;
  ssize_t length = readlink("/proc/self/exe", program, sizeof program);
  if (length <= 0 || !settings || !*settings->cache ||
      !inject_cache_is_trusted(settings, &is_there))
    return false;
  inject_digest_start(&digest);
  inject_digest_add(&digest, program, (size_t)length);
  inject_digest_end(&digest, key);
  print_hex(key, NAME_DIGITS, hex);
  bf_text_addf(path, "%s/learnt-%s", settings->cache, hex);
  return !path->failed;
}

/* Adds what the file holds, where there is one that can be read. */
static void read_file(const char *path, bf_learnt *learnt) {
  bf_diagnostic diagnostic = {.caret = -1};
  if (access(path, R_OK) == 0 && bf_learnt_read(path, learnt, &diagnostic) != BF_OK) {
    inject_log("%s is not used: line %llu: %s", path, (unsigned long long)diagnostic.line,
               diagnostic.message);
    bf_learnt_free(learnt);
  }
}

static void read_earlier(void) {
  bf_text path = {0};
  if (find_path(&path))
    read_file(path.data, &earlier);
  bf_text_free(&path);
}

/* ---- Lessons and rows ---- */

static const char *const words[] = {
    [INJECT_UNDECIDED] = "unknown", [INJECT_OWN] = "own", [INJECT_BESIDE] = "hashed"};

/* The row of a lesson; hex is room for its key. Times are not filled in. */
static bf_learnt_row row_of(const inject_lesson *lesson, char hex[HEX_BYTES]) {
  print_hex(lesson->pair->image->key, 2 * INJECT_KEY_BYTES, hex);
  bf_learnt_row row = {.image = hex,
                       .kernel = lesson->pair->kernel->name,
                       .gpu = lesson->gpu,
                       .block_x = lesson->block[0],
                       .block_y = lesson->block[1],
                       .block_z = lesson->block[2],
                       .dynamic_rows = lesson->rows,
                       .grid_bits = lesson->grid_bits,
                       .faster = words[lesson->verdict],
                       .own_ns = "",
                       .hashed_ns = ""};
  return row;
}

/* Times with commas between. */
static void print_times(const float *ns, unsigned count, bf_text *text) {
  bf_text_puts(text, "");
  for (unsigned i = 0; i < count; i++)
    bf_text_addf(text, "%s%.0f", i ? "," : "", (double)ns[i]);
}

/* Reads them back; what is no time ends them. */
static unsigned parse_times(const char *text, float ns[INJECT_MOST_SAMPLES]) {
  unsigned count = 0;
  uint64_t value;
  while (count < INJECT_MOST_SAMPLES && bf_parse_number(&text, &value) && value < 1u << 31) {
    ns[count++] = (float)value;
    text += *text == ',';
  }
  return count;
}

void inject_memory_recall(inject_lesson *lesson) {
  char hex[HEX_BYTES];
  int kept = errno;
  pthread_once(&once, read_earlier);
  bf_learnt_row like = row_of(lesson, hex);
  const bf_learnt_row *found = bf_learnt_find(&earlier, &like);
  for (unsigned i = 0; found && i < sizeof words / sizeof *words; i++)
    if (strcmp(found->faster, words[i]) == 0)
      lesson->verdict = (inject_verdict)i;
  if (found && lesson->verdict == INJECT_UNDECIDED) {
    lesson->learning.count[0] = parse_times(found->own_ns, lesson->learning.ns[0]);
    lesson->learning.count[1] = parse_times(found->hashed_ns, lesson->learning.ns[1]);
  }
  errno = kept;
}

/* Adds a lesson to rows; false where memory is exhausted. */
static bool add_lesson(bf_learnt *learnt, const inject_lesson *lesson) {
  char hex[HEX_BYTES];
  bf_text own = {0}, hashed = {0};
  bf_learnt_row row = row_of(lesson, hex);
  print_times(lesson->learning.ns[0], lesson->learning.count[0], &own);
  print_times(lesson->learning.ns[1], lesson->learning.count[1], &hashed);
  row.own_ns = own.data ? own.data : "";
  row.hashed_ns = hashed.data ? hashed.data : "";
  bool done = !own.failed && !hashed.failed && bf_learnt_add(learnt, &row, NULL) == BF_OK;
  bf_text_free(&own);
  bf_text_free(&hashed);
  return done;
}

void inject_memory_keep(const inject_lesson *lesson, size_t count) {
  bf_text path = {0}, text = {0};
  bf_learnt all = {0};
  int kept = errno;
  bool done = find_path(&path);
  if (done)
    read_file(path.data, &all);
  for (size_t i = 0; i < count && done; i++)
    done = add_lesson(&all, &lesson[i]);
  if (done)
    bf_learnt_write(&all, &text);
  if (done && !text.failed) {
    inject_make_folders(inject_settings_get()->cache);
    if (!inject_write_file(path.data, &text))
      inject_log("cannot write %s: %s", path.data, strerror(errno));
  }
  bf_text_free(&path);
  bf_text_free(&text);
  bf_learnt_free(&all);
  errno = kept;
}
