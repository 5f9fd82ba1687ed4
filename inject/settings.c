/* The environment, read once, and the log. */
#include "inject.h"

#include "exchange/settings.h"
#include "hash/list.h"
#include "rewrite/listed.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inject_settings settings;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_hashes;

/* The hash that leaves the choice to us. */
static const char automatic[] = "auto";

/* ---- Log ---- */

void inject_log(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  bf_log(settings.log, format, arguments);
  va_end(arguments);
}

/* ---- Settings ---- */

/* Says at once that the library is there, as it may not be: other tools set LD_PRELOAD too.
 * Launches may come before anything is rewritten: whether they are timed must be known. */
__attribute__((constructor)) static void open_log(void) {
  char program[4096];
  int kept = errno;
  bf_rewriting_settings own;
  if (bf_rewriting_settings_get(&own, NULL) == BF_OK) {
    settings.log = own.log ? strdup(own.log) : NULL;
    inject_times_start(own.times);
  }
  bf_rewriting_settings_free(&own);
  ssize_t length = settings.log ? readlink("/proc/self/exe", program, sizeof program - 1) : -1;
  if (length > 0)
    inject_log("loaded into %.*s", (int)length, program);
  errno = kept;
}

/* Reads the file of hashes and the hash of all other kernels. */
static int read_hashes(const bf_rewriting_settings *own, bf_diagnostic *diagnostic) {
  /* The whole text is part of every key, and is read once: the file may be a pipe. */
  if (own->hashes_text)
    bf_text_puts(&settings.text, own->hashes_text);
  else if (own->hashes)
    BF_TRY(bf_hash_list_read_text(own->hashes, &settings.text, diagnostic));
  if (settings.text.failed)
    return bf_no_memory(diagnostic);
  const char *name = own->hashes_text ? bf_variable_name(BF_VARIABLE_HASHES_TEXT) : own->hashes;
  if (name)
    BF_TRY(bf_hash_list_parse(name, settings.text.data, bf_listed_geometry, &settings.hashes,
                              diagnostic));
  settings.is_auto = own->hash && strcmp(own->hash, automatic) == 0;
  if (own->hash && !settings.is_auto)
    BF_TRY(bf_hash_parse(own->hash, &bf_listed_geometry, &settings.otherwise, diagnostic));
  if (own->hash)
    bf_text_addf(&settings.text, "\n* %s\n", own->hash);
  if (settings.is_auto && own->learn)
    bf_text_puts(&settings.text, "# what may win\n");
  has_hashes = (name || own->hash) && !settings.text.failed;
  return BF_OK;
}

/* A variable of others that is an absolute path, or NULL. */
static const char *folder_of(const char *name) {
  const char *value = getenv(name);
  return value && *value == '/' ? value : NULL;
}

/* Where the cache is: as settings say, or in the user's folder for caches. */
static void find_cache(const char *own) {
  const char *caches = folder_of("XDG_CACHE_HOME"), *home = folder_of("HOME");
  size_t size = sizeof settings.cache;
  int length = 0;
  if (own && *own == '/')
    length = snprintf(settings.cache, size, "%s", own);
  else if (!own && caches)
    length = snprintf(settings.cache, size, "%s/bankfold", caches);
  else if (!own && home)
    length = snprintf(settings.cache, size, "%s/.cache/bankfold", home);
  if (length >= (int)size)
    settings.cache[0] = 0;
}

static void read_settings(void) {
  bf_diagnostic diagnostic = {.caret = -1};
  bf_rewriting_settings own;
  int error = bf_rewriting_settings_get(&own, &diagnostic);
  settings.copies_table = own.old_runtime;
  settings.recalls = own.learn;
  settings.learns = own.learn && !inject_takes_times;
  find_cache(own.cache);
  if (!error)
    error = read_hashes(&own, &diagnostic);
  bf_rewriting_settings_free(&own);
  if (error) {
    has_hashes = false;
    inject_log("nothing is rewritten: %s%s%s", diagnostic.file, *diagnostic.file ? ": " : "",
               diagnostic.message);
  } else if (!has_hashes) {
    inject_log("nothing is rewritten: neither %s nor %s is set",
               bf_variable_name(BF_VARIABLE_HASHES), bf_variable_name(BF_VARIABLE_HASH));
  }
}

const inject_settings *inject_settings_get(void) {
  int kept = errno;
  pthread_once(&once, read_settings);
  errno = kept;
  return has_hashes ? &settings : NULL;
}

bool inject_is_named(const inject_settings *of, const char *kernel) {
  const bf_hash *hash = NULL;
  if (!of->is_auto)
    return true;
  return of->hashes && bf_rewrite_listed_hash(of->hashes, kernel, NULL, &hash) == BF_OK && hash;
}
