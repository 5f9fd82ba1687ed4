// flags: -lcuda
// module: product
// PTX that is linked while the program runs, with logs; the same with an error in it.
#include "driver.h"
#include <string>

int main(int count, char **words) {
  CUdevice device;
  CUcontext context;
  CUlinkState link;
  CUmodule module;
  CUfunction scale;
  (void)count;
  std::string self = words[0], path = self.substr(0, self.rfind('/') + 1) + "product.ptx";
  OK(cuInit(0));
  OK(cuDeviceGet(&device, 0));
  OK(cuCtxCreate(&context, NULL, 0, device));

  char log[1000] = "", errors[1000] = "";
  float milliseconds = -1;
  CUjit_option options[] = {CU_JIT_WALL_TIME,
                            CU_JIT_INFO_LOG_BUFFER,
                            CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_LOG_VERBOSE};
  void *values[] = {NULL, log, (void *)sizeof log, errors, (void *)sizeof errors, (void *)1};
  OK(cuLinkCreate(6, options, values, &link));
  OK(cuLinkAddFile(link, CU_JIT_INPUT_PTX, path.c_str(), 0, NULL, NULL));
  void *image;
  size_t bytes;
  OK(cuLinkComplete(link, &image, &bytes));
  memcpy(&milliseconds, &values[0], sizeof milliseconds);
  printf("linked: %s, errors '%s', time %s\n", bytes > 0 ? "fine" : "empty", errors,
         milliseconds >= 0 ? "fine" : "wrong");
  OK(cuModuleLoadData(&module, image));
  OK(cuLinkDestroy(link));
  OK(cuModuleGetFunction(&scale, module, "scale"));
  CUdeviceptr data;
  float host[64];
  for (int i = 0; i < 64; i++)
    host[i] = (float)i;
  OK(cuMemAlloc(&data, sizeof host));
  OK(cuMemcpyHtoD(data, host, sizeof host));
  int n = 64;
  void *arguments[] = {&data, &n};
  OK(cuLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 64 * sizeof(float), NULL, arguments, NULL));
  OK(cuMemcpyDtoH(host, data, sizeof host));
  int wrong = 0;
  for (int i = 0; i < 64; i++)
    wrong += host[i] != 2 * i;
  printf("%d wrong\n", wrong);

  static const char bad[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                            ".visible .entry f() {\n  no.such.thing %r1;\n  ret;\n}\n";
  values[4] = (void *)sizeof errors;
  OK(cuLinkCreate(6, options, values, &link));
  FAILS(CUDA_ERROR_INVALID_PTX,
        cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)bad, sizeof bad, "bad.ptx", 0, NULL, NULL));
  printf("log: %s\n", strstr(errors, "line 5") ? "names the line" : errors);
  OK(cuLinkDestroy(link));
  errors[0] = 0;
  values[4] = (void *)sizeof errors;
  FAILS(CUDA_ERROR_INVALID_PTX, cuModuleLoadDataEx(&module, bad, 6, options, values));
  printf("log: %s\n", strstr(errors, "line 5") ? "names the line" : errors);
  OK(cuCtxDestroy(context));
  return 0;
}
