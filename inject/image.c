/* Images: where their bytes are, and the PTX in them that can stand for all of it. An image comes
 * as an address without a size, and sizes in it may lie: memory is asked for, page by page, before
 * it is read. */
#include "inject.h"

#include "ptx/bytes.h"
#include "ptx/ptx_text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, PROBES = 512, MODULE_HEADER_BYTES = 16 };

/* ---- Memory that may not be there ---- */

/* Whether the byte at each of the addresses first, first + PAGE_BYTES, ... can be read, by a system
 * call that some sandboxes forbid: then *is_allowed is false. */
static bool probe_at_once(uintptr_t first, size_t pages, bool *is_allowed) {
  struct iovec remote[PROBES];
  char bytes[PROBES];
  struct iovec local = {bytes, pages};
  for (size_t i = 0; i < pages; i++)
    remote[i] = (struct iovec){(void *)(first + i * PAGE_BYTES), 1};
  ssize_t got = process_vm_readv(getpid(), &local, 1, remote, pages, 0);
  *is_allowed = got >= 0 || errno == EFAULT;
  return got == (ssize_t)pages;
}

/* The same through /proc. */
static bool probe_by_file(uintptr_t first, size_t pages) {
  char byte;
  bool readable = true;
  int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  for (size_t i = 0; i < pages && readable && memory >= 0; i++)
    readable = pread(memory, &byte, 1, (off_t)(first + i * PAGE_BYTES)) == 1;
  if (memory >= 0)
    close(memory);
  return readable && memory >= 0;
}

/* Whether [begin, begin + size) can be read. */
static bool is_readable(const void *begin, uint64_t size) {
  uintptr_t first = (uintptr_t)begin, end = first + size;
  if (end < first)
    return false;
  first -= first % PAGE_BYTES;
  while (first < end) {
    size_t pages = (end - first + PAGE_BYTES - 1) / PAGE_BYTES;
    pages = pages < PROBES ? pages : PROBES;
    bool is_allowed;
    if (!probe_at_once(first, pages, &is_allowed) && (is_allowed || !probe_by_file(first, pages)))
      return false;
    first += pages * PAGE_BYTES;
  }
  return true;
}

/* Bytes of text that ends with a NUL or after `most`; 0 where it cannot be read so far. */
static uint64_t text_bytes(const char *text, uint64_t most) {
  for (uint64_t size = 0; size < most;) {
    uint64_t part = PAGE_BYTES - (uintptr_t)(text + size) % PAGE_BYTES;
    part = part < most - size ? part : most - size;
    if (!is_readable(text + size, part))
      return 0;
    const char *end = memchr(text + size, 0, part);
    if (end)
      return (uint64_t)(end - text);
    size += part;
  }
  return most < BF_MAX_PTX_BYTES ? most : 0;
}

/* ---- The bytes of an image ---- */

uint64_t inject_image_bytes(const void *image, uint64_t most, const void **bytes) {
  *bytes = image;
  if (!image || most < 4 || !is_readable(image, 4))
    return 0;
  if (bf_read_u32(image) == CU_FATBIN_WRAPPER_MAGIC) {
    cu_fatbin_wrapper wrapper;
    if (!is_readable(image, sizeof wrapper))
      return 0;
    memcpy(&wrapper, image, sizeof wrapper);
    *bytes = wrapper.module;
    if (wrapper.version != 1 || !wrapper.module || !is_readable(wrapper.module, 4))
      return 0;
  }
  const unsigned char *first = *bytes;
  if (memcmp(first,
             "\x7f"
             "ELF",
             4) == 0)
    return 0;
  if (is_readable(first, MODULE_HEADER_BYTES)) {
    uint64_t size = bf_fatbin_module_bytes(first);
    if (size)
      return is_readable(first, size) ? size : 0;
  }
  return *bytes == image ? text_bytes(*bytes, most) : 0;
}

/* ---- The PTX of an image ---- */

/* Whether machine code for `code` runs on a device: the same generation, and not a later one. */
static bool runs_on(bf_arch code, unsigned sm) {
  return code.variant == 'a' ? code.sm == sm : code.sm / 10 == sm / 10 && code.sm <= sm;
}

/* The machine code that the driver takes for a device; NULL: none runs there. */
static const bf_image *find_machine_code(const bf_fatbin *fatbin, unsigned sm) {
  const bf_image *best = NULL;
  for (size_t i = 0; i < fatbin->image_count; i++) {
    const bf_image *image = &fatbin->images[i];
    if (image->kind == BF_IMAGE_CUBIN && runs_on(image->arch, sm) &&
        (!best || image->arch.sm > best->arch.sm ||
         (image->arch.sm == best->arch.sm && image->arch.variant == 'a')))
      best = image;
  }
  return best;
}

/* The n-th PTX (from 0) for exactly that architecture; NULL: there is none. */
static const bf_image *find_ptx(const bf_fatbin *fatbin, bf_arch arch, unsigned n) {
  for (size_t i = 0; i < fatbin->image_count; i++) {
    const bf_image *image = &fatbin->images[i];
    if (image->kind == BF_IMAGE_PTX && image->arch.sm == arch.sm &&
        image->arch.variant == arch.variant && n-- == 0)
      return image;
  }
  return NULL;
}

/* The PTX of what the driver takes for a device: sources choose code by architecture, so that PTX
 * for another one than that of the machine code may be another program. */
static int choose_for_device(const bf_fatbin *fatbin, unsigned sm, const bf_image **image,
                             const bf_image **code, bf_diagnostic *diagnostic) {
  char name[BF_ARCH_TEXT_BYTES];
  const bf_arch device = {sm, 'a'}; /* a device runs what is for it alone */
  *code = find_machine_code(fatbin, sm);
  *image = *code ? find_ptx(fatbin, (*code)->arch, 0) : bf_fatbin_pick(fatbin, 1, device);
  if (!*image && *code && bf_fatbin_pick(fatbin, 1, device))
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "its PTX is for another architecture than its machine code, %s",
                   bf_arch_print((*code)->arch, name));
  if (!*image)
    return bf_fatbin_no_ptx(fatbin, 1, device, diagnostic);
  if (find_ptx(fatbin, (*image)->arch, 1))
    return bf_fail(diagnostic, BF_UNSUPPORTED, "it holds several programs in PTX for %s",
                   bf_arch_print((*image)->arch, name));
  return BF_OK;
}

/* The PTX for all devices. */
static int choose(inject_source *source, const inject_devices *devices, bf_diagnostic *diagnostic) {
  const bf_fatbin *fatbin = source->fatbin;
  if (fatbin->module_count != 1)
    return bf_fail(diagnostic, BF_UNSUPPORTED, "it holds %u modules", fatbin->module_count);
  for (unsigned i = 0; i < devices->count; i++) {
    const bf_image *image, *code;
    BF_TRY(choose_for_device(fatbin, devices->sm[i], &image, &code, diagnostic));
    if (source->image && image != source->image)
      return bf_fail(diagnostic, BF_UNSUPPORTED, "devices take different code from it");
    source->image = image;
    source->code = code ? code : source->code;
  }
  unsigned version = source->image->version_major * 10 + source->image->version_minor;
  if (version > devices->ptx_version)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "its PTX is of version %u.%u, and the driver compiles up to %u.%u", version / 10,
                   version % 10, devices->ptx_version / 10, devices->ptx_version % 10);
  return BF_OK;
}

int inject_source_open(const void *bytes, uint64_t size, const inject_devices *devices,
                       inject_source *source, bf_diagnostic *diagnostic) {
  *source = (inject_source){0};
  BF_TRY(bf_fatbin_read("image", bytes, size, &source->fatbin, diagnostic));
  int error = choose(source, devices, diagnostic);
  if (error)
    inject_source_close(source);
  return error;
}

void inject_source_close(inject_source *source) { bf_fatbin_close(source->fatbin); }
