/* Finds, loads and checks the library of votes on the GPU. */
#include "cli/images/gpu_vote.h"
#include "cli/library.h"
#include "exchange/settings.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static const char library_name[] = "libbankfold-vote-cuda.so";

/* Where the library is. */
static int find_library(char path[2 * PATH_MAX], bf_diagnostic *diagnostic) {
  const char *named = bf_variable_get(BF_VARIABLE_VOTE_CUDA);
  char folder[PATH_MAX];
  if (named) {
    /* A name without a slash would be looked for in the system's folders. */
    snprintf(path, 2 * PATH_MAX, "%s%s", strchr(named, '/') ? "" : "./", named);
    return BF_OK;
  }
  if (!cli_find_library(".", library_name, folder))
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "--device gpu needs %s, which gpu/build.sh makes where CUDA is: it is neither "
                   "beside the program nor installed, and %s does not name it",
                   library_name, bf_variable_name(BF_VARIABLE_VOTE_CUDA));
  snprintf(path, 2 * PATH_MAX, "%s/%s", folder, library_name);
  return BF_OK;
}

/* Sets *function, a pointer to a function, to what the library calls name. */
static int find_function(const cli_gpu *gpu, const char *path, const char *name, void *function,
                         bf_diagnostic *diagnostic) {
  void *found = dlsym(gpu->library, name);
  if (!found)
    return bf_fail_file(diagnostic, BF_UNSUPPORTED, path, "has no function %s", name);
  memcpy(function, &found, sizeof found);
  return BF_OK;
}

/* Structures are those of one version of the public header. */
static int check_version(const cli_gpu *gpu, const char *path, bf_diagnostic *diagnostic) {
  const char *(*version)(void) = NULL;
  BF_TRY(find_function(gpu, path, "bf_gpu_version", &version, diagnostic));
  if (strcmp(version(), BF_VERSION) != 0)
    return bf_fail_file(diagnostic, BF_UNSUPPORTED, path, "is of version %s; the program is of %s",
                        version(), BF_VERSION);
  return BF_OK;
}

int cli_gpu_open(cli_gpu *gpu, bf_diagnostic *diagnostic) {
  char path[2 * PATH_MAX];
  int (*open_gpu)(bf_gpu **, bf_diagnostic *) = NULL;
  const char *(*name_of)(const bf_gpu *) = NULL;
  *gpu = (cli_gpu){0};
  BF_TRY(find_library(path, diagnostic));
  gpu->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!gpu->library)
    return bf_fail(diagnostic, BF_UNSUPPORTED, "cannot load %s", dlerror());
  BF_TRY(check_version(gpu, path, diagnostic));
  BF_TRY(find_function(gpu, path, "bf_gpu_open", &open_gpu, diagnostic));
  BF_TRY(find_function(gpu, path, "bf_gpu_close", &gpu->close, diagnostic));
  BF_TRY(find_function(gpu, path, "bf_gpu_name", &name_of, diagnostic));
  BF_TRY(find_function(gpu, path, "bf_gpu_histogram_u64", &gpu->voter.histogram_u64, diagnostic));
  BF_TRY(find_function(gpu, path, "bf_gpu_histogram_f64", &gpu->voter.histogram_f64, diagnostic));
  BF_TRY(find_function(gpu, path, "bf_gpu_hough_vote", &gpu->voter.hough_vote, diagnostic));
  BF_TRY(open_gpu(&gpu->voter.gpu, diagnostic));
  gpu->name = name_of(gpu->voter.gpu);
  return BF_OK;
}

void cli_gpu_close(cli_gpu *gpu) {
  if (gpu->voter.gpu)
    gpu->close(gpu->voter.gpu);
  if (gpu->library)
    dlclose(gpu->library);
  *gpu = (cli_gpu){0};
}
