/* Rewritten images on disk, one file each, named by their key and the build of the library, which
 * had each of them verified before it wrote it. Files are written under another name and renamed,
 * so that readers see all or nothing; and end with a digest of the rest, so that what a full disk
 * or a crash left of one is not taken for an image. A folder or a file that others can write to, or
 * that belongs to another user, is not used. A file:
 *
 *   bankfold image 5
 *   KEY LINES_BYTES TEXT_BYTES     (TEXT_BYTES -: the image is left alone)
 *   lines, text, and 32 bytes of digest */
#include "inject.h"

#include "base/rows.h"
#include "base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4200, HEX_BYTES = 2 * INJECT_KEY_BYTES + 1, MOST_HEADER_BYTES = 256 };

/* ---- Images ---- */

static const bf_field kernel_fields[] = {
    BF_FIELD(inject_kernel, name),         BF_FIELD_OR_NULL(inject_kernel, beside),
    BF_FIELD_OR_NULL(inject_kernel, hash), BF_FIELD_OR_NULL(inject_kernel, reason),
    BF_FIELD(inject_kernel, rounds),       BF_FIELD(inject_kernel, row_bytes),
    BF_FIELD(inject_kernel, unused_bytes), BF_FIELD(inject_kernel, most_x),
    BF_FIELD(inject_kernel, most_y),       BF_FIELD(inject_kernel, most_z),
    BF_FIELD(inject_kernel, is_alone),     BF_FIELD_OR_NULL(inject_kernel, values),
    BF_FIELD(inject_kernel, is_doubtful),
};
static const bf_row row_of_kernel = BF_ROW("kernel", kernel_fields);

void inject_add_kernel(const inject_kernel *kernel, bf_text *lines) {
  bf_row_write(&row_of_kernel, kernel, lines);
}

/* Makes the list of kernels from lines. */
static bool split_lines(inject_image *image, const char *lines, size_t size) {
  unsigned count = 0;
  for (size_t i = 0; i < size; i++)
    count += lines[i] == '\n';
  if (count == 0)
    return size == 0;
  size_t list_bytes = count * sizeof *image->kernel;
  char *all = malloc(list_bytes + 2 * size); /* the list, its texts, and a copy of the lines */
  if (!all)
    return false;
  image->kernel = (inject_kernel *)(void *)all;
  image->kernels = count;
  char *texts = all + list_bytes, *at = memcpy(texts + size, lines, size), *last = at + size;
  for (unsigned i = 0; i < count; i++) {
    char *end = memchr(at, '\n', (size_t)(last - at));
    *end = 0;
    if (bf_row_parse(&row_of_kernel, "", 0, at, texts, &image->kernel[i], NULL) != BF_OK)
      return false;
    texts += end + 1 - at;
    at = end + 1;
  }
  return at == last;
}

/* Whether all second versions can be loaded apart from the image. */
static bool is_apart(const inject_image *image) {
  if (!inject_driver("cuLibraryLoadData"))
    return false;
  for (unsigned i = 0; i < image->kernels; i++)
    if (image->kernel[i].beside && !image->kernel[i].is_alone)
      return false;
  return image->text;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(((const inject_kernel *)a)->name, ((const inject_kernel *)b)->name);
}

inject_image *inject_image_create(const unsigned char key[INJECT_KEY_BYTES], const char *text,
                                  size_t text_bytes, const char *lines, size_t lines_bytes) {
  inject_image *image = calloc(1, sizeof *image);
  if (!image)
    return NULL;
  memcpy(image->key, key, INJECT_KEY_BYTES);
  if (!split_lines(image, lines, lines_bytes)) {
    inject_image_free(image);
    return NULL;
  }
  if (text && (image->text = malloc(text_bytes + 1))) {
    memcpy(image->text, text, text_bytes);
    image->text[text_bytes] = 0;
  }
  image->is_apart = is_apart(image);
  if (image->kernels)
    qsort(image->kernel, image->kernels, sizeof *image->kernel, compare_names);
  image->subject = inject_subjects_create(image->kernel, image->kernels);
  image->apart = inject_aparts_create(image);
  if (!image->subject || !image->apart || (text && !image->text)) {
    inject_image_free(image);
    return NULL;
  }
  return image;
}

void inject_image_free(inject_image *image) {
  if (!image)
    return;
  free(image->text);
  free(image->kernel);
  free(image->subject);
  free(image->apart);
  free(image);
}

/* ---- Files ---- */

static void print_hex(const unsigned char key[INJECT_KEY_BYTES], char hex[HEX_BYTES]) {
  for (unsigned i = 0; i < INJECT_KEY_BYTES; i++)
    snprintf(hex + 2 * i, 3, "%02x", key[i]);
}

/* The path of a key's file, of this build of the library; false where nothing tells builds apart.
 */
static bool path_of(const inject_settings *settings, const unsigned char key[INJECT_KEY_BYTES],
                    char path[PATH_BYTES]) {
  char hex[HEX_BYTES];
  unsigned char name[INJECT_KEY_BYTES];
  size_t size;
  const unsigned char *build = inject_build_id(&size);
  inject_digest digest;
  if (!build)
    return false;
  inject_digest_start(&digest);
  inject_digest_add(&digest, build, size);
  inject_digest_add(&digest, key, INJECT_KEY_BYTES);
  inject_digest_end(&digest, name);
  print_hex(name, hex);
  snprintf(path, PATH_BYTES, "%s/%s", settings->cache, hex);
  return true;
}

/* Whether only this user can have written it. */
static bool is_own(const struct stat *status) {
  return status->st_uid == geteuid() && !(status->st_mode & (S_IWGRP | S_IWOTH));
}

bool inject_cache_is_trusted(const inject_settings *settings, bool *is_there) {
  static atomic_flag was_said = ATOMIC_FLAG_INIT;
  struct stat status;
  size_t size;
  *is_there = stat(settings->cache, &status) == 0;
  const char *why = *is_there && !is_own(&status)
                        ? "it belongs to another user, or others can write to it"
                    : inject_build_id(&size) ? NULL
                                             : "this library has no build id";
  if (why && !atomic_flag_test_and_set(&was_said))
    inject_log("the cache %s is not used: %s", settings->cache, why);
  return !why;
}

/* The whole file into content; false where that is impossible, or others could have written it. */
static bool read_content(const char *path, bf_text *content) {
  struct stat status;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  bool good = file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
              (uint64_t)status.st_size < 2 * BF_MAX_PTX_BYTES;
  if (good && !is_own(&status)) {
    inject_log("%s belongs to another user, or others can write to it; it is not used", path);
    good = false;
  }
  size_t size = good ? (size_t)status.st_size : 0;
  content->data = good ? malloc(size + 1) : NULL;
  while (content->data && content->size < size) {
    ssize_t got = read(file, content->data + content->size, size - content->size);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      break;
    content->size += (size_t)got;
  }
  if (content->data)
    content->data[content->size] = 0;
  if (file >= 0)
    close(file);
  return content->data && content->size == size;
}

/* Whether content ends with the digest of the rest, whose size is *size. */
static bool is_sound(const bf_text *content, size_t *size) {
  unsigned char result[INJECT_KEY_BYTES];
  inject_digest digest;
  if (content->size < INJECT_KEY_BYTES)
    return false;
  *size = content->size - INJECT_KEY_BYTES;
  inject_digest_start(&digest);
  inject_digest_add(&digest, content->data, *size);
  inject_digest_end(&digest, result);
  return memcmp(result, content->data + *size, INJECT_KEY_BYTES) == 0;
}

/* The first lines of an image's file. */
static void write_header(const unsigned char key[INJECT_KEY_BYTES], size_t lines_bytes,
                         const char *text, size_t text_bytes, char header[MOST_HEADER_BYTES]) {
  char hex[HEX_BYTES], size[24] = "-";
  print_hex(key, hex);
  if (text)
    snprintf(size, sizeof size, "%zu", text_bytes);
  snprintf(header, MOST_HEADER_BYTES, "bankfold image 6\n%s %zu %s\n", hex, lines_bytes, size);
}

/* The image that the first size bytes of content describe; NULL: none. */
static inject_image *parse(const bf_text *content, size_t size,
                           const unsigned char key[INJECT_KEY_BYTES]) {
  char hex[HEX_BYTES], header[MOST_HEADER_BYTES];
  print_hex(key, hex);
  int start = snprintf(header, sizeof header, "bankfold image 6\n%s ", hex);
  if (size < (size_t)start || memcmp(content->data, header, (size_t)start) != 0)
    return NULL;
  const char *at = content->data + start;
  uint64_t lines_bytes, text_bytes = 0;
  if (!bf_parse_number(&at, &lines_bytes) || *at++ != ' ')
    return NULL;
  bool has_text = *at != '-';
  if (has_text ? !bf_parse_number(&at, &text_bytes) : *at++ != '-')
    return NULL;
  if (*at++ != '\n')
    return NULL;
  size_t left = size - (size_t)(at - content->data);
  if (lines_bytes > left || text_bytes != left - lines_bytes)
    return NULL;
  return inject_image_create(key, has_text ? at + lines_bytes : NULL, text_bytes, at, lines_bytes);
}

inject_image *inject_cache_read(const inject_settings *settings,
                                const unsigned char key[INJECT_KEY_BYTES]) {
  char path[PATH_BYTES];
  bf_text content = {0};
  size_t size;
  inject_image *image = NULL;
  bool is_there;
  if (!*settings->cache || !inject_cache_is_trusted(settings, &is_there) || !is_there ||
      !path_of(settings, key, path))
    return NULL;
  if (read_content(path, &content) && is_sound(&content, &size))
    image = parse(&content, size, key);
  if (content.data && !image)
    inject_log("%s is damaged and is not used", path);
  bf_text_free(&content);
  return image;
}

void inject_make_folders(const char *folder) {
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s", folder);
  for (char *at = path + 1; *at; at++)
    if (*at == '/') {
      *at = 0;
      mkdir(path, 0700);
      *at = '/';
    }
  mkdir(path, 0700);
}

/* All that the file of an image holds. */
static void compose(const inject_image *image, bf_text *content) {
  char header[MOST_HEADER_BYTES];
  unsigned char result[INJECT_KEY_BYTES];
  inject_digest digest;
  bf_text lines = {0};
  size_t text_bytes = image->text ? strlen(image->text) : 0;
  for (unsigned i = 0; i < image->kernels; i++)
    inject_add_kernel(&image->kernel[i], &lines);
  write_header(image->key, lines.size, image->text, text_bytes, header);
  bf_text_puts(content, header);
  bf_text_add(content, lines.data ? lines.data : "", lines.size);
  content->failed |= lines.failed;
  bf_text_free(&lines);
  bf_text_add(content, image->text ? image->text : "", text_bytes);
  if (content->failed)
    return;
  inject_digest_start(&digest);
  inject_digest_add(&digest, content->data, content->size);
  inject_digest_end(&digest, result);
  bf_text_add(content, (const char *)result, sizeof result);
}

bool inject_write_file(const char *path, const bf_text *content) {
  bf_temporary temporary;
  if (bf_temporary_open(path, 0600, &temporary) != BF_OK)
    return false;
  bool done = bf_temporary_write(&temporary, content->data, content->size) &&
              bf_temporary_commit(&temporary, path);
  bf_temporary_close(&temporary);
  return done;
}

void inject_cache_write(const inject_settings *settings, const inject_image *image) {
  char path[PATH_BYTES];
  bf_text content = {0};
  bool is_there;
  if (!*settings->cache || !inject_cache_is_trusted(settings, &is_there) ||
      !path_of(settings, image->key, path))
    return;
  if (!is_there)
    inject_make_folders(settings->cache);
  compose(image, &content);
  if (content.failed)
    inject_log("cannot write %s: out of memory", path);
  else if (!inject_write_file(path, &content))
    inject_log("cannot write %s: %s", path, strerror(errno));
  bf_text_free(&content);
}
