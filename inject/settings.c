/* The environment, read once, and the log. */
#include "inject.h"

#include "rewrite/listed.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inject_settings settings;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_hashes;

/* ---- Log ---- */

void inject_log(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  bf_log(settings.log, format, arguments);
  va_end(arguments);
}

/* ---- Settings ---- */

/* A variable that is set and not empty, or NULL. */
static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

/* Says at once that the library is there, as it may not be: other tools set LD_PRELOAD too. */
__attribute__((constructor)) static void open_log(void) {
  char program[4096];
  int kept = errno;
  const char *log = variable("BANKFOLD_LOG");
  settings.log = log ? strdup(log) : NULL;
  ssize_t length = log ? readlink("/proc/self/exe", program, sizeof program - 1) : -1;
  if (length > 0)
    inject_log("loaded into %.*s", (int)length, program);
  errno = kept;
}

/* Reads the hashes of BANKFOLD_HASHES and BANKFOLD_HASH. */
static int read_hashes(bf_diagnostic *diagnostic) {
  const char *path = variable("BANKFOLD_HASHES"), *hash = variable("BANKFOLD_HASH");
  if (path) {
    BF_TRY(bf_hash_list_read(path, bf_listed_geometry, &settings.hashes, diagnostic));
    /* The whole file is part of every key. */
    BF_TRY(bf_read_file(path, SIZE_MAX, &settings.text, diagnostic));
  }
  if (hash) {
    BF_TRY(bf_hash_parse(hash, &bf_listed_geometry, &settings.otherwise, diagnostic));
    bf_text_addf(&settings.text, "\n* %s\n", hash);
  }
  has_hashes = (path || hash) && !settings.text.failed;
  return BF_OK;
}

/* Where the cache is: BANKFOLD_CACHE, or in the user's folder for caches. */
static void find_cache(void) {
  const char *own = variable("BANKFOLD_CACHE"), *caches = variable("XDG_CACHE_HOME");
  const char *home = variable("HOME");
  size_t size = sizeof settings.cache;
  int length = 0;
  if (own && *own == '/')
    length = snprintf(settings.cache, size, "%s", own);
  else if (!own && caches && *caches == '/')
    length = snprintf(settings.cache, size, "%s/bankfold", caches);
  else if (!own && home && *home == '/')
    length = snprintf(settings.cache, size, "%s/.cache/bankfold", home);
  if (length >= (int)size)
    settings.cache[0] = 0;
}

static void read_settings(void) {
  bf_diagnostic diagnostic = {.caret = -1};
  const char *old_runtime = variable("BANKFOLD_OLD_RUNTIME");
  settings.copies_table = old_runtime && strcmp(old_runtime, "1") == 0;
  find_cache();
  if (read_hashes(&diagnostic) != BF_OK) {
    has_hashes = false;
    inject_log("nothing is rewritten: %s%s%s", diagnostic.file, *diagnostic.file ? ": " : "",
               diagnostic.message);
  } else if (!has_hashes) {
    inject_log("nothing is rewritten: neither BANKFOLD_HASHES nor BANKFOLD_HASH is set");
  }
}

const inject_settings *inject_settings_get(void) {
  int kept = errno;
  pthread_once(&once, read_settings);
  errno = kept;
  return has_hashes ? &settings : NULL;
}
