/* Libraries of NVIDIA that bring their kernels as machine code, and the functions that start them.
 */
#include "lead.h"

#include <string.h>

#define MACHINE_CODE "its kernels are machine code, which cannot be emulated"
#define STAND_IN MACHINE_CODE ": exec --stand-ins puts a library of Bankfold in its place"
#define NONE MACHINE_CODE ", so that this call fails; only kernels with PTX can be run"

enum {
  CUBLAS,
  CUBLASLT,
  CUFFT,
  CURAND,
  CUSPARSE,
  CUSOLVER,
  CUDNN,
  NCCL,
  NVJPEG,
  CUTENSOR,
  NPP,
};

static const lead_library libraries[] = {
    [CUBLAS] = {"cuBLAS", STAND_IN, 1},
    [CUBLASLT] = {"cuBLASLt", NONE, 1},
    [CUFFT] = {"cuFFT", STAND_IN, 7},
    [CURAND] = {"cuRAND", STAND_IN, 101},
    [CUSPARSE] = {"cuSPARSE", NONE, 1},
    [CUSOLVER] = {"cuSOLVER", NONE, 1},
    [CUDNN] = {"cuDNN", NONE, 1},
    [NCCL] = {"NCCL", NONE, 1},
    [NVJPEG] = {"nvJPEG", NONE, 1},
    [CUTENSOR] = {"cuTENSOR", NONE, 1},
    [NPP] = {"NPP", MACHINE_CODE ": its functions fail; only kernels with PTX can be run", 1},
};

/* Each function without which a library cannot be used. */
static const struct {
  const char *function;
  int library;
} starts[] = {
    {"cublasCreate", CUBLAS},
    {"cublasCreate_v2", CUBLAS},
    {"cublasInit", CUBLAS},
    {"cublasXtCreate", CUBLAS},
    {"cublasLtCreate", CUBLASLT},
    {"cufftCreate", CUFFT},
    {"cufftPlan1d", CUFFT},
    {"cufftPlan2d", CUFFT},
    {"cufftPlan3d", CUFFT},
    {"cufftPlanMany", CUFFT},
    {"curandCreateGenerator", CURAND},
    {"cusparseCreate", CUSPARSE},
    {"cusolverDnCreate", CUSOLVER},
    {"cusolverMgCreate", CUSOLVER},
    {"cusolverRfCreate", CUSOLVER},
    {"cusolverSpCreate", CUSOLVER},
    {"cudnnCreate", CUDNN},
    {"ncclCommInitAll", NCCL},
    {"ncclCommInitRank", NCCL},
    {"ncclCommInitRankConfig", NCCL},
    {"nvjpegCreate", NVJPEG},
    {"nvjpegCreateEx", NVJPEG},
    {"nvjpegCreateExV2", NVJPEG},
    {"nvjpegCreateSimple", NVJPEG},
    {"cutensorCreate", CUTENSOR},
};

const lead_library *lead_library_of(const char *function) {
  if (strncmp(function, "cu", 2) != 0 && strncmp(function, "n", 1) != 0)
    return NULL;
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
    if (strcmp(starts[i].function, function) == 0)
      return &libraries[starts[i].library];
  return NULL;
}

bool lead_is_library(const char *path, const lead_library **silent) {
  static const char *const files[] = {"libcublas",   "libcufft", "libcurand", "libcusparse",
                                      "libcusolver", "libcudnn", "libnccl",   "libnvjpeg",
                                      "libcutensor", "libnpp"};
  const char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  *silent = NULL;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    if (strncmp(name, files[i], strlen(files[i])) == 0) {
      if (strncmp(name, "libnpp", 6) == 0)
        *silent = &libraries[NPP];
      return true;
    }
  return false;
}
