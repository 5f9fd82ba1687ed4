/* Programs that were compiled separately (nvcc -rdc=true): they register one fat binary for all
 * their parts, with the machine code that the device linker made, and the fat binaries of the parts
 * behind it. The PTX of the parts is linked here. */
#include "ptx/link.h"
#include "context.h"
#include "ptx/fatbin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The parts of a module that have PTX, and how many have none. */
typedef struct parts {
  bf_ptx_module **part;
  unsigned count, capacity, without;
  unsigned arch;     /* the newest, e.g. 90 */
  char missing[200]; /* what the first without PTX is called */
} parts;

static void free_parts(parts *all) {
  for (unsigned i = 0; i < all->count; i++)
    bf_ptx_free(all->part[i]);
  free(all->part);
}

bool rt_is_device_runtime(const bf_text *text) {
  static const char mark[] = "cuda_device_runtime_cu";
  return text->data && memmem(text->data, text->size, mark, sizeof mark - 1);
}

/* Parses the PTX of a part and adds it. */
static int add_image(parts *all, const bf_fatbin *fatbin, const bf_image *image, const char *name,
                     bf_diagnostic *diagnostic) {
  bf_text text = {0};
  int error = bf_fatbin_text(fatbin, image, &text, diagnostic);
  if (!error && all->count == all->capacity) {
    unsigned capacity = all->capacity ? 2 * all->capacity : 16;
    bf_ptx_module **grown = realloc(all->part, capacity * sizeof *grown);
    if (grown) {
      all->part = grown;
      all->capacity = capacity;
    }
    error = grown ? BF_OK : bf_no_memory(diagnostic);
  }
  if (!error && !rt_is_device_runtime(&text)) {
    error = bf_ptx_parse(name, text.data ? text.data : "", text.size, &all->part[all->count],
                         diagnostic);
    all->count += !error;
    if (image->arch.sm > all->arch)
      all->arch = image->arch.sm;
  }
  bf_text_free(&text);
  return error;
}

/* Adds the part whose fat binary starts at bytes; number counts from 1. */
static int add_part(const rt_context *context, parts *all, const void *bytes, unsigned number,
                    bf_diagnostic *diagnostic) {
  char name[160];
  snprintf(name, sizeof name, "%.120s, part %u", program_invocation_short_name, number);
  uint64_t size = bf_fatbin_module_bytes(bytes);
  bf_fatbin *fatbin;
  if (size == 0)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, name, "no fat binary");
  if (bf_fatbin_read(name, bytes, size, &fatbin, NULL) != BF_OK)
    return BF_OK; /* one without any code */
  const bf_image *image = rt_pick_image(context, fatbin);
  const char *identifier = fatbin->images[0].identifier;
  int error = BF_OK;
  if (image)
    error = add_image(all, fatbin, image, image->identifier ? image->identifier : name, diagnostic);
  else if (all->without++ == 0)
    snprintf(all->missing, sizeof all->missing, "%s", identifier ? identifier : name);
  bf_fatbin_close(fatbin);
  return error;
}

/* The device linker has found every function; what no part defines is NVIDIA's. A kernel that calls
 * one which the emulator does not have is refused when it is launched. */
static bool is_provided(const char *name) {
  (void)name;
  return true;
}

void rt_say_machine_code(const rt_context *context, const char *what) {
  rt_say(context,
         "%s holds machine code only, which cannot be emulated: build it with PTX too, "
         "by nvcc -arch=sm_90 or -gencode arch=compute_90,code=compute_90",
         what);
}

int rt_link(const rt_context *context, rt_module *module, bf_diagnostic *diagnostic) {
  const void *const *part = module->wrapper->linked;
  parts all = {0};
  int error = BF_OK;
  for (unsigned i = 0; part && part[i] && !error; i++)
    error = add_part(context, &all, part[i], i + 1, diagnostic);
  if (all.without && !(module->without_ptx = strdup(all.missing)))
    error = bf_no_memory(diagnostic);
  if (!error && all.count == 0 && all.without)
    error = bf_fail(diagnostic, BF_UNSUPPORTED, "no part of it has PTX");
  else if (!error)
    error = bf_ptx_link(program_invocation_short_name, all.part, all.count, is_provided,
                        &module->ptx, diagnostic);
  module->ptx_arch = (int)all.arch;
  free_parts(&all);
  return error;
}
