/* run: runs a CUDA program on the GPU with hashed accesses to shared memory. */
#include "cli/cli.h"
#include "cli/library.h"
#include "cli/use/wrap.h"
#include "process/folder.h"
#include "process/process.h"
#include "process/program.h"
#include "ptx/graft.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct settings {
  const char *hash_file, *hash, *log, *binary;
  bool learn;
} settings;

static const cli_option options[] = {
    {"hash-file", CLI_TEXT, offsetof(settings, hash_file), "FILE", NULL,
     "hashes of single kernels: lines KERNEL HASH, * for all others"},
    {"hash", CLI_TEXT, offsetof(settings, hash), "HASH", NULL,
     "hash of the kernels that FILE does not name (default: decided at each launch, and none with "
     "--hash-file)"},
    {"log", CLI_TEXT, offsetof(settings, log), "FILE", NULL,
     "write what was done to FILE; stderr: to standard error"},
    {"learn", CLI_FLAG, offsetof(settings, learn), NULL, NULL,
     "measure kernels with and without their hashes, and keep what is faster, also for later runs"},
    {"binary", CLI_TEXT, offsetof(settings, binary), "FILE", NULL,
     "do not run it: write the program with hashed kernels to FILE, for profilers"},
};

/* Sets all that the library reads. */
static int set_environment(const settings *s, const bf_text *content, const char *library,
                           bf_diagnostic *diagnostic) {
  bf_rewriting_settings told = {.hash = s->hash        ? s->hash
                                        : s->hash_file ? NULL
                                                       : "auto",
                                .log = s->log,
                                .learn = s->learn};
  BF_TRY(cli_wrap_put_hashes(s->hash_file, content, &told, diagnostic));
  return bf_process_preload(library) ? BF_OK : bf_no_memory(diagnostic);
}

/* Whether a folder of LD_LIBRARY_PATH has a CUDA driver. */
static bool is_driver_given(void) {
  const char *path = getenv("LD_LIBRARY_PATH");
  for (size_t length; path && *path; path += length + (path[length] != 0)) {
    char file[PATH_MAX];
    length = strcspn(path, ":;");
    if (snprintf(file, sizeof file, "%.*s/libcuda.so.1", (int)length, path) < (int)sizeof file &&
        access(file, R_OK) == 0)
      return true;
  }
  return false;
}

/* Whether the kernel has a driver for NVIDIA's GPUs: on ordinary machines, in WSL, on Tegra. To
 * load the library is not for a program that may be linked statically. */
static bool has_driver(void) {
  static const char *const devices[] = {"/proc/driver/nvidia/version", "/dev/nvidiactl",
                                        "/dev/nvidia0", "/dev/dxg", "/dev/nvhost-gpu"};
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
    if (access(devices[i], F_OK) == 0)
      return true;
  return is_driver_given();
}

/* Says where a program that uses CUDA will find no driver. */
static void warn_without_driver(const bf_process_program *program) {
  if (!program->has_fatbin && !*program->cuda_library && !program->needs_driver)
    return;
  if (!has_driver())
    fprintf(stderr,
            "bankfold: warning: there is no CUDA driver here, which %s needs for a GPU; 'bankfold "
            "exec' runs programs without one\n",
            program->path);
}

/* ---- A program with hashed kernels, in a file ---- */

/* Rewrites the PTX of an image into *ptx, which stays empty where that changes nothing. */
static int rewrite_image(const cli_wrap *wrap, const bf_fatbin *fatbin, const bf_image *image,
                         bf_text *ptx, bf_diagnostic *diagnostic) {
  bf_text old = {0};
  BF_TRY(bf_fatbin_text(fatbin, image, &old, diagnostic));
  int error = cli_wrap_rewrite(wrap, image->identifier ? image->identifier : fatbin->name, &old,
                               NULL, NULL, ptx, diagnostic);
  bf_text_free(&old);
  return error;
}

/* The program with all of its PTX rewritten, into *content. */
static int rewrite_program(const cli_wrap *wrap, const bf_fatbin *fatbin, bf_text *content,
                           bf_diagnostic *diagnostic) {
  bf_graft *grafts = calloc(fatbin->image_count, sizeof *grafts);
  bf_text *texts = calloc(fatbin->image_count, sizeof *texts);
  size_t count = 0;
  bool has_ptx = false;
  int error = grafts && texts ? BF_OK : bf_no_memory(diagnostic);
  for (size_t i = 0; i < fatbin->image_count && !error; i++) {
    if (fatbin->images[i].kind != BF_IMAGE_PTX)
      continue;
    has_ptx = true;
    error = rewrite_image(wrap, fatbin, &fatbin->images[i], &texts[count], diagnostic);
    if (!error && texts[count].data) {
      grafts[count] = (bf_graft){&fatbin->images[i], &texts[count]};
      count++;
    }
  }
  if (!error && !count)
    error = !has_ptx ? bf_fatbin_no_ptx(fatbin, 0, (bf_arch){0}, diagnostic)
                     : bf_fail_file(diagnostic, BF_UNSUPPORTED, fatbin->name,
                                    "no kernel in it is rewritten; --log stderr says why");
  if (!error)
    error = bf_graft_program(fatbin, grafts, count, content, diagnostic);
  for (size_t i = 0; texts && i < count; i++)
    bf_text_free(&texts[i]);
  free(texts);
  free(grafts);
  return error;
}

static int write_binary(const settings *s, const bf_process_program *program,
                        bf_diagnostic *diagnostic) {
  cli_wrap wrap = {0};
  bf_fatbin *fatbin = NULL;
  bf_text content = {0};
  cli_wrap_options told = {.hash = s->hash, .hash_file = s->hash_file, .log = s->log};
  int error = cli_wrap_put(&told, diagnostic);
  if (!error)
    error = cli_wrap_get(&wrap, diagnostic);
  if (!error)
    error = bf_fatbin_open(program->path, &fatbin, diagnostic);
  if (!error)
    error = rewrite_program(&wrap, fatbin, &content, diagnostic);
  if (!error)
    error = bf_write_file(s->binary, content.data, content.size, diagnostic);
  if (!error && chmod(s->binary, 0755) != 0)
    error = bf_fail_file(diagnostic, BF_IO, s->binary, "cannot be made executable");
  bf_text_free(&content);
  bf_fatbin_close(fatbin);
  cli_wrap_free(&wrap);
  return error;
}

static int make_binary(const settings *s, const char *name) {
  bf_diagnostic diagnostic = {.caret = -1};
  bf_process_program program;
  if (s->learn)
    return cli_usage_error(&cli_run, "--learn needs runs, and --binary does not run the program");
  int error = bf_process_inspect(name, &program, &diagnostic);
  if (!error)
    error = write_binary(s, &program, &diagnostic);
  return error ? cli_complain(&diagnostic) : CLI_OK;
}

static int run(const void *given, int count, char **arguments) {
  const settings *s = given;
  bf_diagnostic diagnostic = {.caret = -1};
  bf_process_program program;
  if (s->binary)
    return make_binary(s, arguments[0]);
  char library[2 * PATH_MAX];
  if (s->hash_file && strcmp(s->hash_file, "-") == 0)
    return cli_usage_error(&cli_run,
                           "--hash-file cannot be standard input, which is the program's");
  bf_text content = {0};
  int error = cli_wrap_check(s->hash_file, s->hash, &content, &diagnostic);
  if (!error)
    error = bf_process_inspect(arguments[0], &program, &diagnostic);
  if (!error)
    error = cli_find_injection(library, &diagnostic);
  if (!error)
    error = set_environment(s, &content, library, &diagnostic);
  bf_text_free(&content);
  if (error)
    return cli_complain(&diagnostic);
  warn_without_driver(&program);
  arguments[count] = NULL;
  return bf_process_become(program.path, arguments);
}

const cli_command cli_run = {
    .name = "run",
    .summary = "run a CUDA program on the GPU with its bank conflicts hashed away",
    .arguments = "PROGRAM [ARGUMENT...]",
    .details =
        "PROGRAM is any CUDA program, and stays as it is: a library that is loaded before it "
        "gives\n"
        "the driver PTX in which kernels have a second version, whose accesses to shared memory "
        "go\n"
        "through a hash, where that is proven to be safe. Each launch gets one of both: where the\n"
        "second cannot be launched, the first. What the program prints and its exit status are "
        "its\n"
        "own. Device code without PTX, and kernels that are refused, run as they are.\n"
        "Rewritten code is kept in ~/.cache/bankfold. Options stand before PROGRAM; all that\n"
        "follows it is for the program.",
    .examples = "bankfold run ./app 1024                            # hash every kernel\n"
                "bankfold run --log stderr ./app                    # and say what was done\n"
                "bankfold run --hash cute:3,4,3 ./app               # 16 bytes stay together\n"
                "bankfold run --learn ./app                         # find out what is faster\n"
                "bankfold run --hash-file app.hashes ./app          # each kernel its own hash\n"
                "bankfold run --binary app.hashed ./app && ncu ./app.hashed   # under a profiler\n",
    CLI_OPTIONS(options, settings),
    .least_arguments = 1,
    .most_arguments = 1,
    .passes_rest = true,
    .run = run,
};
