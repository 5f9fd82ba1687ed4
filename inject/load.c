/* From an image to what the driver is given in its place. An image that was seen before is found in
 * this process, or in the cache on disk. */
#include "inject.h"

#include "lock.h"
#include "ptx/ptx.h"
#include "ptx/ptx_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static inject_image *images;   /* all that were made, under the lock */
static inject_image *refusals; /* one for each reason why images are left alone, under the lock */
static const char not_readable[] = "it is no fat binary or PTX that can be read";

/* ---- What the driver can do ---- */

/* PTX version (major * 10 + minor) that a driver for CUDA `version` (13000 for 13.0) compiles; as
 * the release history in NVIDIA's documentation of PTX lists them. 0: too old to be known. */
static unsigned ptx_of_driver(int version) {
  static const unsigned char of_cuda_12[] = {80, 81, 82, 83, 84, 85, 85, 86, 87, 88};
  unsigned major = (unsigned)version / 1000, minor = (unsigned)version % 1000 / 10;
  if (major > 13)
    return 99;
  if (major == 13)
    return 90 + (minor < 9 ? minor : 9);
  if (major == 12)
    return of_cuda_12[minor < 9 ? minor : 9];
  return major == 11 ? 70 + (minor < 8 ? minor : 8) : 0;
}

/* The architecture of one device; false where the driver does not say. */
static bool device_arch(int number, unsigned *sm) {
  int (*get)(int *, int) = inject_driver("cuDeviceGet");
  int (*attribute)(int *, int, int) = inject_driver("cuDeviceGetAttribute");
  int device, major, minor;
  if (!get || !attribute || get(&device, number) != CUDA_SUCCESS ||
      attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) != CUDA_SUCCESS ||
      attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) != CUDA_SUCCESS)
    return false;
  *sm = (unsigned)(major * 10 + minor);
  return true;
}

/* Adds an architecture that is not there yet; false where there are too many. */
static bool add_arch(inject_devices *devices, unsigned sm) {
  for (unsigned i = 0; i < devices->count; i++)
    if (devices->sm[i] == sm)
      return true;
  if (devices->count == INJECT_MOST_ARCHS)
    return false;
  devices->sm[devices->count++] = sm;
  return true;
}

bool inject_devices_ask(inject_devices *devices) {
  int (*get_version)(int *) = inject_driver("cuDriverGetVersion");
  int (*get_count)(int *) = inject_driver("cuDeviceGetCount");
  int version, count;
  unsigned sm;
  *devices = (inject_devices){0};
  if (!get_version || !get_count || get_version(&version) != CUDA_SUCCESS ||
      get_count(&count) != CUDA_SUCCESS)
    return false;
  devices->ptx_version = ptx_of_driver(version);
  for (int i = 0; i < count; i++)
    if (!device_arch(i, &sm) || !add_arch(devices, sm))
      return false;
  return devices->count > 0;
}

/* ---- Images that are known ---- */

/* The key of a source: all that decides about the result. */
static void compute_key(const inject_settings *settings, const inject_source *source,
                        unsigned char key[INJECT_KEY_BYTES]) {
  const bf_image *image = source->image;
  char header[256];
  inject_digest digest;
  snprintf(header, sizeof header, "bankfold %s inject 5\n%zu %d %llu %llu\n", bf_version(),
           settings->text.size, (int)image->packing, (unsigned long long)image->stored_bytes,
           (unsigned long long)image->bytes);
  inject_digest_start(&digest);
  inject_digest_add(&digest, header, strlen(header));
  inject_digest_add(&digest, settings->text.data, settings->text.size);
  inject_digest_add(&digest, source->fatbin->bytes + image->payload, image->stored_bytes);
  if (source->code)
    inject_digest_add(&digest, source->fatbin->bytes + source->code->payload,
                      source->code->stored_bytes);
  inject_digest_end(&digest, key);
}

/* The image with that key, under the lock; NULL: none. */
static inject_image *find_known(const unsigned char key[INJECT_KEY_BYTES]) {
  inject_image *at = images;
  while (at && memcmp(at->key, key, INJECT_KEY_BYTES) != 0)
    at = at->next;
  return at;
}

/* Keeps an image, or frees it where another thread has made the same; the one that is kept. */
static inject_image *keep(inject_image *image) {
  inject_lock();
  inject_image *known = find_known(image->key);
  if (!known) {
    image->next = images;
    images = image;
  }
  inject_unlock();
  if (known)
    inject_image_free(image);
  return known ? known : image;
}

/* ---- Images that are left alone ---- */

/* What stands for images that are left alone for that reason; NULL where memory is exhausted. */
static inject_image *make_refusal(const char *reason) {
  inject_image *made = calloc(1, sizeof *made);
  if (made && !(made->reason = strdup(reason))) {
    free(made);
    made = NULL;
  }
  return made;
}

/* Says why an image, which the log calls `what`, is left alone. What stands for such, where times
 * are taken, which say so too. */
static const inject_image *refuse(const char *what, const char *reason) {
  inject_log("%s is left alone: %s", what, reason);
  if (!inject_takes_times)
    return NULL;
  inject_lock();
  inject_image **at = &refusals;
  while (*at && strcmp((*at)->reason, reason) != 0)
    at = &(*at)->next;
  if (!*at)
    *at = make_refusal(reason);
  const inject_image *found = *at;
  inject_unlock();
  return found;
}

/* ---- New images ---- */

/* Logs lines. */
static void log_lines(const bf_text *lines) {
  const char *at = lines->data;
  while (at && *at) {
    size_t length = strcspn(at, "\n");
    inject_log("  %.*s", (int)length, at);
    at += length + (at[length] == '\n');
  }
}

/* Limits the registers of kernels by the machine code of a source, where there is some. */
static void limit(const inject_source *source, bf_text *text) {
  bf_text code = {0};
  if (source->code && bf_fatbin_content(source->fatbin, source->code, &code, NULL) == BF_OK)
    inject_limit_registers(&code, text);
  bf_text_free(&code);
}

/* Rewrites the PTX of a source; NULL where that fails. */
static inject_image *make(const inject_settings *settings, const inject_source *source,
                          const unsigned char key[INJECT_KEY_BYTES], bf_diagnostic *diagnostic) {
  bf_text ptx = {0};
  inject_rewritten new = {0};
  inject_image *image = NULL;
  const char *name = source->image->identifier ? source->image->identifier : "PTX";
  int error = bf_fatbin_text(source->fatbin, source->image, &ptx, diagnostic);
  if (!error)
    error = inject_rewrite(settings, name, &ptx, source->code, &new, diagnostic);
  if (!error) {
    inject_log("%s: %u of %u kernels rewritten", name, new.hashed, new.kernels);
    log_lines(&new.remarks);
    if (new.is_changed)
      limit(source, &new.text);
    image = inject_image_create(key, new.is_changed ? new.text.data : NULL, new.text.size,
                                new.lines.data, new.lines.size);
    if (!image)
      bf_no_memory(diagnostic);
  }
  bf_text_free(&new.text);
  bf_text_free(&new.lines);
  bf_text_free(&new.remarks);
  bf_text_free(&ptx);
  return image;
}

/* Says once on standard error that code was rewritten before: hashes do not do then what the user
 * expects of them. */
static void warn_of_rewritten(const inject_image *image, const char *name) {
  static atomic_bool is_said;
  for (unsigned i = 0; i < image->kernels; i++)
    if (image->kernel[i].reason &&
        strcmp(image->kernel[i].reason, "it was rewritten before") == 0) {
      if (!atomic_exchange(&is_said, true))
        fprintf(stderr, "bankfold: warning: %s: it was rewritten before, and runs as it is\n",
                name);
      return;
    }
}

/* What is known about a source, or made now; NULL where that fails. */
static inject_image *find_or_make(const inject_settings *settings, const inject_source *source,
                                  bf_diagnostic *diagnostic) {
  unsigned char key[INJECT_KEY_BYTES];
  compute_key(settings, source, key);
  inject_lock();
  inject_image *image = find_known(key);
  inject_unlock();
  if (image)
    return image;
  image = inject_cache_read(settings, key);
  if (image) {
    inject_log("%s from the cache", image->text ? "rewritten image" : "nothing to rewrite:");
    return keep(image);
  }
  image = make(settings, source, key, diagnostic);
  if (!image)
    return NULL;
  inject_cache_write(settings, image);
  return keep(image);
}

/* The replacement of an image of which all bytes are there; what names it in the log. */
static const inject_image *replace(const inject_settings *settings, const void *bytes,
                                   uint64_t size, const char *what) {
  bf_diagnostic diagnostic = {.caret = -1};
  inject_devices devices;
  inject_source source;
  if (!inject_devices_ask(&devices))
    return refuse(what, "the driver names no device");
  const inject_image *image = NULL;
  if (inject_source_open(bytes, size, &devices, &source, &diagnostic) == BF_OK) {
    image = find_or_make(settings, &source, &diagnostic);
    inject_source_close(&source);
  }
  if (!image)
    return refuse(what, diagnostic.message);
  warn_of_rewritten(image, what);
  return image->text || inject_takes_times ? image : NULL;
}

/* The replacement of an image in memory, of which PTX has no more than `most` bytes. */
static const inject_image *image_of_memory(const void *address, uint64_t most) {
  int kept = errno;
  const inject_settings *settings = inject_settings_get();
  const inject_image *image = NULL;
  const void *bytes;
  if (settings) {
    uint64_t size = inject_image_bytes(address, most, &bytes);
    image = size ? replace(settings, bytes, size, "an image") : refuse("an image", not_readable);
  }
  errno = kept;
  return image;
}

const inject_image *inject_image_of_memory(const void *address) {
  return image_of_memory(address, BF_MAX_PTX_BYTES);
}

const inject_image *inject_input_of_memory(const void *address, size_t size) {
  return image_of_memory(address, size < BF_MAX_PTX_BYTES ? size : BF_MAX_PTX_BYTES);
}

/* ---- Files ---- */

/* The content of a plain file as malloc'ed bytes; NULL where it is none that can hold PTX. */
static char *read_file(const char *path, uint64_t *size) {
  struct stat status;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  bool good = file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
              status.st_size > 0 && (uint64_t)status.st_size <= BF_MAX_PTX_BYTES;
  char *bytes = good ? malloc((size_t)status.st_size + 1) : NULL;
  *size = 0;
  for (ssize_t got = 1; bytes && got > 0 && *size < (uint64_t)status.st_size;) {
    got = read(file, bytes + *size, (size_t)status.st_size - *size);
    *size += got > 0 ? (uint64_t)got : 0;
  }
  if (file >= 0)
    close(file);
  return bytes;
}

/* Whether the driver would take content as a fat binary or as PTX. */
static bool is_loadable(const char *bytes, uint64_t size) {
  return (size >= 16 && bf_fatbin_module_bytes(bytes)) || bf_ptx_text_is(bytes, size);
}

/* The replacement of what a file holds. */
static const inject_image *image_of_file(const char *path) {
  int kept = errno;
  const inject_settings *settings = inject_settings_get();
  const inject_image *image = NULL;
  uint64_t size = 0;
  char *bytes = settings && path ? read_file(path, &size) : NULL;
  if (bytes && is_loadable(bytes, size))
    image = replace(settings, bytes, size, path);
  else if (settings)
    image = refuse(path ? path : "-", not_readable);
  free(bytes);
  errno = kept;
  return image;
}

const inject_image *inject_image_of_file(const char *path) { return image_of_file(path); }

const inject_image *inject_input_of_file(const char *path) { return image_of_file(path); }

int inject_image_parse(const inject_image *image, const char *kernel, const char *other,
                       bf_ptx_module **module, bf_diagnostic *diagnostic) {
  bf_text part = {0};
  size_t size = strlen(image->text);
  bf_kernel_keep(image->text, size, (const char *const[2]){kernel, other}, &part);
  int error = part.failed ? bf_no_memory(diagnostic)
                          : bf_ptx_parse("image", part.data, part.size, module, diagnostic);
  if (!error && (!bf_ptx_find(*module, kernel) || (other && !bf_ptx_find(*module, other)))) {
    bf_ptx_free(*module);
    error = BF_BAD_INPUT;
  }
  bf_text_free(&part);
  /* Kernels may name others. */
  return error == BF_BAD_INPUT ? bf_ptx_parse("image", image->text, size, module, diagnostic)
                               : error;
}

static int compare_name(const void *name, const void *kernel) {
  return strcmp(name, ((const inject_kernel *)kernel)->name);
}

const inject_kernel *inject_image_kernel(const inject_image *image, const char *name) {
  return image->kernels
             ? bsearch(name, image->kernel, image->kernels, sizeof *image->kernel, compare_name)
             : NULL;
}

bool inject_image_is_beside(const inject_image *image, const char *name) {
  for (unsigned i = 0; image->text && !image->is_apart && i < image->kernels; i++)
    if (image->kernel[i].beside && strcmp(image->kernel[i].beside, name) == 0)
      return true;
  return false;
}

struct inject_subject *inject_image_subject(const inject_image *image,
                                            const inject_kernel *kernel) {
  return inject_subject_at(image->subject, (size_t)(kernel - image->kernel));
}

/* ---- Linked code ---- */

/* The images that were given to the driver's linker, under the lock. */
static struct {
  const inject_image **item;
  unsigned count, room;
} linked;

void inject_linked_add(const inject_image *image) {
  inject_lock();
  bool is_known = false;
  for (unsigned i = 0; i < linked.count; i++)
    is_known |= linked.item[i] == image;
  if (!is_known && linked.count == linked.room) {
    unsigned room = linked.room ? 2 * linked.room : 16;
    const inject_image **grown = realloc(linked.item, room * sizeof *grown);
    linked.item = grown ? grown : linked.item;
    linked.room = grown ? room : linked.room;
  }
  if (!is_known && linked.count < linked.room)
    linked.item[linked.count++] = image;
  inject_unlock();
}

const inject_image *inject_linked_image(const char *kernel) {
  const inject_image *found = NULL;
  inject_lock();
  for (unsigned i = 0; i < linked.count && !found; i++) {
    const inject_kernel *known = inject_image_kernel(linked.item[i], kernel);
    found = known && known->beside ? linked.item[i] : NULL;
  }
  inject_unlock();
  return found;
}
