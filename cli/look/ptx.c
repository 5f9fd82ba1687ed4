/* bankfold ptx: the PTX inside programs, libraries, object files and fat binaries. */
#include "ptx/ptx.h"
#include "cli/cli.h"
#include "cli/look/ptx_link.h"
#include "ptx/fatbin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct settings {
  cli_common common;
  const char *arch, *kernel, *output;
  uint64_t module;
  bool all;
} settings;

static const cli_option options[] = {
    {"arch", CLI_TEXT, offsetof(settings, arch), "ARCH", NULL,
     "not list: the best PTX that runs on it, e.g. sm_90 (default: the highest)"},
    {"module", CLI_NUMBER, offsetof(settings, module), "N", NULL,
     "not list: only this module, numbered as in the list"},
    {"all", CLI_FLAG, offsetof(settings, all), NULL, NULL,
     "extract: every PTX image, not the best one of each module"},
    {"output", CLI_TEXT, offsetof(settings, output), "FILE|DIR", NULL,
     "extract: where to write; a folder that does not exist ends with /. link: a file"},
    {"kernel", CLI_TEXT, offsetof(settings, kernel), "KERNEL", NULL,
     "show: only the kernel of that name"},
    CLI_COMMON(settings),
};

/* The most PTX that one call holds in memory. */
#define MAX_TEXT_BYTES (2 * BF_MAX_PTX_BYTES)

/* An image whose text was asked for. */
typedef struct chosen {
  const bf_image *image;
  bf_text text;
  char *path; /* extract: where it goes */
} chosen;

typedef struct selection {
  chosen *members;
  size_t count;
} selection;

static void free_selection(selection *s) {
  for (size_t i = 0; i < s->count; i++) {
    bf_text_free(&s->members[i].text);
    free(s->members[i].path);
  }
  free(s->members);
}

/* ---- Printing ---- */

/* One image as a JSON object; the caller adds what its verb has more and ends the object. */
static void begin_json_image(bf_json *json, const bf_image *image) {
  char arch[BF_ARCH_TEXT_BYTES], version[32];
  snprintf(version, sizeof version, "%u.%u", image->version_major, image->version_minor);
  bf_json_begin(json, NULL, '{', false);
  bf_json_number(json, "number", image->number);
  bf_json_number(json, "module", image->module);
  bf_json_string(json, "kind", bf_image_kind_name(image->kind));
  bf_json_string(json, "arch", image->arch.sm ? bf_arch_print(image->arch, arch) : NULL);
  bf_json_string(json, "version", version);
  bf_json_string(json, "packing", bf_image_packing_name(image->packing));
  bf_json_number(json, "stored_bytes", image->stored_bytes);
  bf_json_number(json, "bytes", image->bytes);
  bf_json_number(json, "offset", image->offset);
  bf_json_string(json, "section", image->section);
  bf_json_string(json, "identifier", image->identifier);
  bf_json_string(json, "options", image->options);
}

static void begin_json(bf_json *json, const bf_fatbin *fatbin) {
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "file", fatbin->name);
  bf_json_number(json, "modules", fatbin->module_count);
  bf_json_begin(json, "images", '[', false);
}

static void end_json(bf_json *json) {
  bf_json_end(json, ']');
  bf_json_end(json, '}');
}

/* ---- list ---- */

/* Text from the file, which may hold anything; bytes that are not printable become '?'. */
static void write_printable(bf_text *text, const char *string) {
  for (; *string; string++) {
    char c = *string < 32 || *string > 126 ? '?' : *string;
    bf_text_add(text, &c, 1);
  }
}

static void write_row(bf_text *text, const bf_image *image) {
  char arch[BF_ARCH_TEXT_BYTES], version[32];
  snprintf(version, sizeof version, "%u.%u", image->version_major, image->version_minor);
  bf_text_addf(text, "%5u %6u  %-5s  %-8s %7s  %-7s %10llu %10llu %10llu  ", image->number,
               image->module, bf_image_kind_name(image->kind), bf_arch_print(image->arch, arch),
               version, bf_image_packing_name(image->packing),
               (unsigned long long)image->stored_bytes, (unsigned long long)image->bytes,
               (unsigned long long)image->offset);
  bf_text_puts(text, image->section ? image->section : "-");
  if (image->identifier) {
    bf_text_puts(text, "  ");
    write_printable(text, image->identifier);
  }
  bf_text_puts(text, "\n");
}

static int list(const settings *s, const bf_fatbin *fatbin) {
  bf_text text = {0};
  bf_json json = {.text = &text};
  if (s->common.json) {
    begin_json(&json, fatbin);
    for (size_t i = 0; i < fatbin->image_count; i++) {
      begin_json_image(&json, &fatbin->images[i]);
      bf_json_end(&json, '}');
    }
    end_json(&json);
  } else {
    bf_text_addf(&text, "%5s %6s  %-5s  %-8s %7s  %-7s %10s %10s %10s  %s\n", "image", "module",
                 "kind", "arch", "version", "packing", "stored", "bytes", "offset", "section");
    for (size_t i = 0; i < fatbin->image_count; i++)
      write_row(&text, &fatbin->images[i]);
  }
  return cli_print(&text);
}

/* ---- Choosing images ---- */

static int add_chosen(const bf_fatbin *fatbin, const bf_image *image, selection *found,
                      bf_diagnostic *diagnostic) {
  chosen *one = &found->members[found->count++];
  one->image = image;
  return bf_fatbin_text(fatbin, image, &one->text, diagnostic);
}

/* Whether the options ask for image, where best is the best PTX of its module. */
static bool is_wanted(const settings *s, bf_arch wanted, const bf_image *image,
                      const bf_image *best) {
  if (image->kind != BF_IMAGE_PTX || (s->module && s->module != image->module))
    return false;
  return s->all ? !wanted.sm || bf_arch_runs(image->arch, wanted) : image == best;
}

/* Takes the PTX that the options ask for, with its text; at least one image. */
static int choose(const settings *s, const bf_fatbin *fatbin, bf_arch wanted, selection *found,
                  bf_diagnostic *diagnostic) {
  const bf_image *best = NULL;
  unsigned module = 0;
  uint64_t bytes = 0;
  found->members = calloc(fatbin->image_count, sizeof *found->members);
  if (!found->members)
    return bf_no_memory(diagnostic);
  for (size_t i = 0; i < fatbin->image_count; i++) {
    const bf_image *image = &fatbin->images[i];
    if (image->module != module)
      best = bf_fatbin_pick(fatbin, module = image->module, wanted);
    if (!is_wanted(s, wanted, image, best))
      continue;
    BF_TRY(add_chosen(fatbin, image, found, diagnostic));
    if ((bytes += image->bytes) > MAX_TEXT_BYTES)
      return bf_fail_file(diagnostic, BF_UNSUPPORTED, fatbin->name,
                          "more than %llu bytes of PTX; choose with --module",
                          (unsigned long long)MAX_TEXT_BYTES);
  }
  return found->count ? BF_OK : bf_fatbin_no_ptx(fatbin, (unsigned)s->module, wanted, diagnostic);
}

/* ---- extract ---- */

static bool is_folder(const char *path) {
  struct stat status;
  return path[strlen(path) - 1] == '/' || (stat(path, &status) == 0 && S_ISDIR(status.st_mode));
}

/* FOLDER/NAME.NUMBER.ARCH.ptx, where NAME is the name of the file read. */
static char *path_in(const char *folder, const char *file, const bf_image *image) {
  char arch[BF_ARCH_TEXT_BYTES];
  const char *slash = strrchr(file, '/');
  bf_text path = {0};
  bf_text_addf(&path, "%s%s%s.%u.%s.ptx", folder, folder[strlen(folder) - 1] == '/' ? "" : "/",
               slash ? slash + 1 : file, image->number, bf_arch_print(image->arch, arch));
  if (path.failed)
    bf_text_free(&path);
  return path.data;
}

/* Says where each text goes; nothing is written yet. */
static int set_paths(const settings *s, const bf_fatbin *fatbin, selection *found,
                     bf_diagnostic *diagnostic) {
  bool folder = is_folder(s->output);
  if (found->count > 1 && !folder)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "%zu images for one file; name a folder (%s/), or choose with --module",
                   found->count, s->output);
  for (size_t i = 0; i < found->count; i++) {
    chosen *one = &found->members[i];
    one->path = folder ? path_in(s->output, fatbin->name, one->image) : strdup(s->output);
    if (!one->path)
      return bf_no_memory(diagnostic);
  }
  if (folder && mkdir(s->output, 0777) != 0 && errno != EEXIST)
    return bf_fail_file(diagnostic, BF_IO, s->output, "cannot make the folder: %s",
                        strerror(errno));
  return BF_OK;
}

static int extract(const settings *s, const bf_fatbin *fatbin, selection *found) {
  bf_diagnostic diagnostic;
  bf_text text = {0};
  bf_json json = {.text = &text};
  int error = set_paths(s, fatbin, found, &diagnostic);
  begin_json(&json, fatbin);
  for (size_t i = 0; i < found->count && !error; i++) {
    const chosen *one = &found->members[i];
    error = bf_write_file(one->path, one->text.data, one->text.size, &diagnostic);
    begin_json_image(&json, one->image);
    bf_json_string(&json, "output", one->path);
    bf_json_end(&json, '}');
  }
  end_json(&json);
  if (!error && s->common.json)
    return cli_print(&text);
  bf_text_free(&text);
  return !error ? CLI_OK : cli_complain(&diagnostic);
}

/* ---- show ---- */

/* Reduces every text to the kernel asked for and drops those without it. */
static int keep_kernel(const char *name, selection *found, bf_text *others) {
  size_t kept = 0;
  for (size_t i = 0; i < found->count; i++) {
    chosen *one = &found->members[i];
    bf_kernel_text kernel;
    bf_text body = {0};
    const char *end = one->text.data + one->text.size;
    for (const char *at = one->text.data; bf_kernel_next(&at, end, &kernel);) {
      if (kernel.name_size == strlen(name) && memcmp(kernel.name, name, kernel.name_size) == 0) {
        bf_text_add(&body, kernel.begin, kernel.size);
        bf_text_puts(&body, "\n");
      } else if (others->size < 300) {
        bf_text_addf(others, "%s%.*s", others->size ? ", " : "",
                     (int)(kernel.name_size < 120 ? kernel.name_size : 120), kernel.name);
      }
    }
    bf_text_free(&one->text);
    if (body.size || body.failed) {
      found->members[kept] = *one;
      found->members[kept++].text = body;
    }
  }
  found->count = kept;
  return kept ? BF_OK : BF_BAD_INPUT;
}

/* The texts one after another; where there are several, each behind a line that says whose it is.
 */
static void write_texts(const bf_fatbin *fatbin, const selection *found, bf_text *text) {
  char arch[BF_ARCH_TEXT_BYTES];
  for (size_t i = 0; i < found->count; i++) {
    const chosen *one = &found->members[i];
    if (found->count > 1) {
      bf_text_puts(text, "// ");
      write_printable(text, fatbin->name);
      bf_text_addf(text, ", image %u, %s\n", one->image->number,
                   bf_arch_print(one->image->arch, arch));
    }
    bf_text_add(text, one->text.data ? one->text.data : "", one->text.size);
    text->failed |= one->text.failed;
  }
}

static int show(const settings *s, const bf_fatbin *fatbin, selection *found) {
  bf_diagnostic diagnostic;
  bf_text text = {0}, others = {0};
  bf_json json = {.text = &text};
  if (s->kernel && keep_kernel(s->kernel, found, &others) != BF_OK) {
    bf_fail_file(&diagnostic, BF_BAD_INPUT, fatbin->name, "no kernel '%s' in its PTX; %s%s",
                 s->kernel, others.size ? "there are: " : "there is none",
                 others.size ? others.data : "");
    bf_text_free(&others);
    return cli_complain(&diagnostic);
  }
  bf_text_free(&others);
  if (!s->common.json) {
    write_texts(fatbin, found, &text);
    return cli_print(&text);
  }
  begin_json(&json, fatbin);
  for (size_t i = 0; i < found->count; i++) {
    begin_json_image(&json, found->members[i].image);
    bf_json_string(&json, "text", found->members[i].text.data);
    bf_json_end(&json, '}');
  }
  end_json(&json);
  return cli_print(&text);
}

/* ---- kernels ---- */

/* The shared accesses of a kernel and the variables they can address. */
static int write_accesses(bf_json *json, const bf_ptx_module *module, const bf_ptx_function *kernel,
                          bf_diagnostic *diagnostic) {
  bf_ptx_origins *origins;
  BF_TRY(bf_ptx_origins_create(module, kernel, &origins, diagnostic));
  bf_json_begin(json, "accesses", '[', false);
  for (uint32_t i = 0; i < origins->accesses; i++) {
    const bf_ptx_origin *origin = &origins->access[i];
    const bf_ptx_instruction *instruction = kernel->instruction[origin->instruction];
    bf_json_begin(json, NULL, '{', true);
    bf_json_number(json, "line", instruction->line);
    bf_json_string(json, "opcode", bf_ptx_op_get(instruction->opcode)->name);
    if (origin->variables == 0)
      bf_json_string(json, "variables", NULL);
    else
      bf_json_begin(json, "variables", '[', true);
    for (uint64_t left = origin->variables; left; left &= left - 1)
      bf_json_string(json, NULL, origins->variable[__builtin_ctzll(left)]->name);
    if (origin->variables)
      bf_json_end(json, ']');
    bf_json_end(json, '}');
  }
  bf_json_end(json, ']');
  bf_ptx_origins_free(origins);
  return BF_OK;
}

static int write_kernel_json(bf_json *json, const bf_ptx_module *module,
                             const bf_ptx_function *kernel, const bf_ptx_summary *sum,
                             bf_diagnostic *diagnostic) {
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "name", kernel->name);
  bf_json_number(json, "line", kernel->line);
  bf_json_number(json, "parameters", sum->parameters);
  bf_json_number(json, "parameter_bytes", sum->parameter_bytes);
  bf_json_number(json, "shared_bytes", sum->shared_bytes);
  bf_json_bool(json, "dynamic_shared", sum->has_dynamic_shared);
  bf_json_number(json, "instructions", sum->instructions);
  bf_json_number(json, "shared_loads", sum->shared_loads);
  bf_json_number(json, "shared_stores", sum->shared_stores);
  bf_json_number(json, "shared_atomics", sum->shared_atomics);
  bf_json_number(json, "shared_copies", sum->shared_copies);
  int error = write_accesses(json, module, kernel, diagnostic);
  bf_json_end(json, '}');
  return error;
}

static void write_kernel_row(bf_text *text, const bf_ptx_function *kernel,
                             const bf_ptx_summary *sum) {
  bf_text_addf(text, "%12u %10u %10llu%s %8u %8u %8u %8u  ", sum->instructions, sum->parameters,
               (unsigned long long)sum->shared_bytes, sum->has_dynamic_shared ? "+" : " ",
               sum->shared_loads, sum->shared_stores, sum->shared_atomics, sum->shared_copies);
  write_printable(text, kernel->name);
  bf_text_puts(text, "\n");
}

/* Every kernel of one image, as rows or as members of a JSON list. */
static int write_kernels(const chosen *one, const char *file, bool wants_json, bf_json *json,
                         bf_diagnostic *diagnostic) {
  bf_ptx_module *module;
  int error =
      bf_ptx_parse(file, one->text.data ? one->text.data : "", one->text.size, &module, diagnostic);
  if (error)
    return error;
  for (const bf_ptx_item *item = module->first; item && !error; item = item->next) {
    if (item->kind != BF_PTX_ITEM_FUNCTION || !item->function->is_entry ||
        !item->function->has_body)
      continue;
    bf_ptx_summary sum = bf_ptx_summarise(module, item->function);
    if (wants_json)
      error = write_kernel_json(json, module, item->function, &sum, diagnostic);
    else
      write_kernel_row(json->text, item->function, &sum);
  }
  bf_ptx_free(module);
  return error;
}

static int kernels(const settings *s, const bf_fatbin *fatbin, selection *found) {
  bf_diagnostic diagnostic;
  bf_text text = {0};
  bf_json json = {.text = &text};
  int error = BF_OK;
  if (s->common.json)
    begin_json(&json, fatbin);
  else
    bf_text_addf(&text, "%12s %10s %11s %8s %8s %8s %8s  %s\n", "instructions", "parameters",
                 "shared", "loads", "stores", "atomics", "copies", "kernel");
  for (size_t i = 0; i < found->count && !error; i++) {
    const chosen *one = &found->members[i];
    if (s->common.json) {
      begin_json_image(&json, one->image);
      bf_json_begin(&json, "kernels", '[', false);
    }
    error = write_kernels(one, fatbin->name, s->common.json, &json, &diagnostic);
    if (s->common.json) {
      bf_json_end(&json, ']');
      bf_json_end(&json, '}');
    }
  }
  if (error) {
    bf_text_free(&text);
    return cli_complain(&diagnostic);
  }
  if (s->common.json)
    end_json(&json);
  else
    bf_text_puts(&text, "shared: bytes that the kernel declares, + where the launch adds more; "
                        "loads to copies: instructions on shared memory\n");
  return cli_print(&text);
}

/* ---- The command ---- */

/* Options that belong to another verb. */
static int check_usage(const settings *s, const char *verb, int files, bf_arch *wanted) {
  bool lists = strcmp(verb, "list") == 0, extracts = strcmp(verb, "extract") == 0;
  bool shows = strcmp(verb, "show") == 0, counts = strcmp(verb, "kernels") == 0;
  bool links = strcmp(verb, "link") == 0;
  if (!lists && !extracts && !shows && !counts && !links)
    return cli_usage_error(&cli_ptx, "ptx list, kernels, extract, show or link; not '%s'", verb);
  if (files > 1 && !links)
    return cli_usage_error(&cli_ptx, "several files are for link");
  if (links && (s->module || s->common.json))
    return cli_usage_error(&cli_ptx, "--module and --json are not for link");
  if (lists && (s->arch || s->module))
    return cli_usage_error(&cli_ptx, "--arch and --module are not for list");
  if ((!extracts && s->all) || (!extracts && !links && s->output))
    return cli_usage_error(&cli_ptx, "--all and --output are for extract");
  if (s->kernel && !shows)
    return cli_usage_error(&cli_ptx, "--kernel is for show");
  if (extracts && (!s->output || !*s->output))
    return cli_usage_error(&cli_ptx, "extract needs --output, a file or a folder");
  if (extracts && s->common.json && strcmp(s->output, "-") == 0)
    return cli_usage_error(&cli_ptx, "--json needs an --output file");
  if (s->arch && !bf_arch_parse(s->arch, wanted))
    return cli_usage_error(&cli_ptx, "--arch takes an architecture like sm_90, not '%s'", s->arch);
  return -1;
}

static int run(const void *given, int count, char **arguments) {
  const settings *s = given;
  bf_arch wanted = {0};
  int status = check_usage(s, arguments[0], count - 1, &wanted);
  if (status >= 0)
    return status;
  if (strcmp(arguments[0], "link") == 0)
    return cli_ptx_link(count - 1, arguments + 1, wanted, s->output);
  bf_fatbin *fatbin;
  bf_diagnostic diagnostic;
  if (bf_fatbin_open(arguments[1], &fatbin, &diagnostic) != BF_OK)
    return cli_complain(&diagnostic);
  selection found = {0};
  if (strcmp(arguments[0], "list") == 0)
    status = list(s, fatbin);
  else if (s->module > fatbin->module_count)
    status = cli_usage_error(&cli_ptx, "--module %llu: the file holds %u",
                             (unsigned long long)s->module, fatbin->module_count);
  else if (choose(s, fatbin, wanted, &found, &diagnostic) != BF_OK)
    status = cli_complain(&diagnostic);
  else if (strcmp(arguments[0], "show") == 0)
    status = show(s, fatbin, &found);
  else if (strcmp(arguments[0], "kernels") == 0)
    status = kernels(s, fatbin, &found);
  else
    status = extract(s, fatbin, &found);
  free_selection(&found);
  bf_fatbin_close(fatbin);
  return status;
}

const cli_command cli_ptx = {
    .name = "ptx",
    .summary = "list, extract or show the PTX and kernels of a program, library or fat binary",
    .arguments = "list|kernels|extract|show|link FILE...",
    .details =
        "FILE (\"-\": standard input) is an ELF program, library or object file made by nvcc, a\n"
        "fat binary, PTX text, or a cubin. A file holds modules, one per source file; a module\n"
        "holds images, one per architecture. \"list\" prints a table of the images. \"kernels\"\n"
        "parses the best PTX of each module and counts what its kernels do to shared memory. "
        "\"extract\"\n"
        "writes the best PTX of each module to a file, or to files in a folder. \"show\" prints\n"
        "it. The best PTX is the one for the highest architecture that runs on --arch. \"link\"\n"
        "makes one module of the PTX of files that were compiled separately (nvcc -rdc=true).",
    .examples = "bankfold ptx list ./app                             # what is inside\n"
                "bankfold ptx kernels ./app                          # shared memory per kernel\n"
                "bankfold ptx show ./app --kernel transpose          # one kernel\n"
                "bankfold ptx extract ./app --arch sm_80 --output app.ptx\n"
                "bankfold ptx extract libkernels.so --all --output ptx/  # every PTX image\n"
                "bankfold ptx link main.o parts.o --output app.ptx       # separate compilation\n",
    CLI_OPTIONS(options, settings),
    .least_arguments = 2,
    .most_arguments = 1000,
    .run = run,
};
