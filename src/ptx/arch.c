/* Architectures: which PTX runs where, and the choice among the images of a module. */
#include "ptx/fatbin.h"

#include <string.h>

bool bf_arch_parse(const char *text, bf_arch *arch) {
  static const char *const prefixes[] = {"sm_", "compute_"};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0) {
      text += strlen(prefixes[i]);
      break;
    }
  uint64_t sm;
  if (!bf_parse_number(&text, &sm) || sm == 0 || sm > 999)
    return false;
  char variant = *text;
  if (variant == 'a' || variant == 'f')
    text++;
  else
    variant = 0;
  *arch = (bf_arch){(unsigned)sm, variant};
  return *text == 0;
}

const char *bf_arch_print(bf_arch arch, char text[BF_ARCH_TEXT_BYTES]) {
  const char variant[2] = {arch.variant, 0};
  if (arch.sm)
    snprintf(text, BF_ARCH_TEXT_BYTES, "sm_%u%s", arch.sm, variant);
  else
    snprintf(text, BF_ARCH_TEXT_BYTES, "-");
  return text;
}

/* ptxas 13.0 compiles sm_90a PTX for sm_90a only, and sm_100f PTX for sm_100 and sm_103 with any
 * variant. */
bool bf_arch_runs(bf_arch from, bf_arch to) {
  if (from.variant == 'a')
    return to.sm == from.sm && to.variant == 'a';
  if (from.variant == 'f')
    return to.sm >= from.sm && to.sm / 10 == from.sm / 10;
  return to.sm >= from.sm;
}

/* Larger for architectures that know more instructions. */
static unsigned rank(bf_arch arch) {
  return arch.sm * 3 + (arch.variant == 'a' ? 2 : arch.variant == 'f' ? 1 : 0);
}

/* Index of the first image of a module; images are in the order of their modules. */
static size_t first_of(const bf_fatbin *fatbin, unsigned module) {
  size_t low = 0, high = fatbin->image_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (fatbin->images[middle].module < module)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

const bf_image *bf_fatbin_pick(const bf_fatbin *fatbin, unsigned module, bf_arch wanted) {
  const bf_image *best = NULL;
  for (size_t i = first_of(fatbin, module); i < fatbin->image_count; i++) {
    const bf_image *image = &fatbin->images[i];
    if (image->module != module)
      break;
    if (image->kind == BF_IMAGE_PTX && (wanted.sm == 0 || bf_arch_runs(image->arch, wanted)) &&
        (!best || rank(image->arch) > rank(best->arch)))
      best = image;
  }
  return best;
}

/* Architectures seen, at most as many as a message can name. */
typedef struct arch_list {
  bf_arch archs[12];
  unsigned count;
  bool more;
} arch_list;

static void add_arch(arch_list *list, bf_arch arch) {
  for (unsigned i = 0; i < list->count; i++)
    if (rank(list->archs[i]) == rank(arch))
      return;
  if (list->count < sizeof list->archs / sizeof *list->archs)
    list->archs[list->count++] = arch;
  else
    list->more = true;
}

/* "PTX for sm_75, sm_90" into text, where there is any of that kind. */
static void list_archs(const bf_fatbin *fatbin, unsigned module, bf_image_kind kind,
                       const char *what, bf_text *text) {
  arch_list list = {0};
  char arch[BF_ARCH_TEXT_BYTES];
  for (size_t i = 0; i < fatbin->image_count; i++)
    if (fatbin->images[i].kind == kind && (!module || fatbin->images[i].module == module))
      add_arch(&list, fatbin->images[i].arch);
  for (unsigned i = 0; i < list.count; i++) {
    if (i == 0)
      bf_text_addf(text, "%s%s for ", text->size ? "; " : "", what);
    bf_text_addf(text, "%s%s", i ? ", " : "", bf_arch_print(list.archs[i], arch));
  }
  bf_text_puts(text, list.more ? ", ..." : "");
}

int bf_fatbin_no_ptx(const bf_fatbin *fatbin, unsigned module, bf_arch wanted,
                     bf_diagnostic *diagnostic) {
  static const char *const kinds[] = {"PTX", "machine code", "LTO code", "unknown code"};
  char arch[BF_ARCH_TEXT_BYTES], where[32] = "";
  bf_text there = {0};
  for (int kind = BF_IMAGE_PTX; kind <= BF_IMAGE_OTHER; kind++)
    list_archs(fatbin, module, (bf_image_kind)kind, kinds[kind], &there);
  if (module)
    snprintf(where, sizeof where, " in module %u", module);
  int error = there.failed
                  ? bf_no_memory(diagnostic)
                  : bf_fail_file(diagnostic, BF_UNSUPPORTED, fatbin->name,
                                 "no PTX%s%s%s; there is %s", wanted.sm ? " that runs on " : "",
                                 wanted.sm ? bf_arch_print(wanted, arch) : "", where,
                                 there.size ? there.data : "nothing");
  bf_text_free(&there);
  return error;
}
