/* Transposes a matrix through shared memory with the driver's interface, which it loads itself or
 * was linked with
 * (-DLINKED). The kernel is PTX with lines of a source that conflicts. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry transpose(.param .u64 to, .param .u64 from) {\n"
                          ".reg .b32 %r<12>; .reg .b64 %d<8>;\n"
                          ".shared .align 4 .b8 tile[4096];\n"
                          "ld.param.u64 %d0, [to];\n"
                          "ld.param.u64 %d1, [from];\n"
                          "mov.u32 %r0, %tid.x;\n"
                          "mov.u32 %r1, %tid.y;\n"
                          "mad.lo.u32 %r2, %r1, 32, %r0;\n" /* y * 32 + x */
                          "mad.lo.u32 %r3, %r0, 32, %r1;\n" /* x * 32 + y */
                          "mul.wide.u32 %d2, %r2, 4;\n"
                          "add.u64 %d3, %d1, %d2;\n"
                          "ld.global.u32 %r4, [%d3];\n"
                          "shl.b32 %r5, %r3, 2;\n"
                          "shl.b32 %r6, %r2, 2;\n"
                          "mov.u32 %r7, tile;\n"
                          "add.u32 %r5, %r5, %r7;\n"
                          "add.u32 %r6, %r6, %r7;\n"
                          "st.shared.u32 [%r5], %r4;\n"
                          "bar.sync 0;\n"
                          "ld.shared.u32 %r8, [%r6];\n"
                          "add.u64 %d4, %d0, %d2;\n"
                          "st.global.u32 [%d4], %r8;\n"
                          "ret;\n}\n";

#ifdef LINKED
#define DECLARE(name) int name();
#else
#define DECLARE(name) static int (*name)();
#endif
#define FUNCTIONS(X)                                                                               \
  X(cuInit)                                                                                        \
  X(cuCtxCreate_v2)                                                                                \
  X(cuModuleLoadData)                                                                              \
  X(cuModuleGetFunction)                                                                           \
  X(cuMemAlloc_v2)                                                                                 \
  X(cuMemcpyHtoD_v2) X(cuMemcpyDtoH_v2) X(cuLaunchKernel) X(cuCtxSynchronize)
FUNCTIONS(DECLARE)

static void check(int error, int line) {
  if (error) {
    printf("line %d: error %d\n", line, error);
    exit(1);
  }
}
#define OK(call) check(call, __LINE__)

int main(void) {
#ifndef LINKED
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) {
    printf("%s\n", dlerror());
    return 1;
  }
#define FIND(name) *(void **)&name = dlsym(library, #name);
  FUNCTIONS(FIND)
#endif
  static unsigned host[1024], back[1024];
  void *context, *module, *function;
  uint64_t to, from;
  int wrong = 0;
  OK(cuInit(0));
  OK(cuCtxCreate_v2(&context, 0, 0));
  OK(cuModuleLoadData(&module, ptx));
  OK(cuModuleGetFunction(&function, module, "transpose"));
  OK(cuMemAlloc_v2(&to, sizeof host));
  OK(cuMemAlloc_v2(&from, sizeof host));
  for (unsigned i = 0; i < 1024; i++)
    host[i] = i;
  OK(cuMemcpyHtoD_v2(from, host, sizeof host));
  void *arguments[] = {&to, &from};
  OK(cuLaunchKernel(function, 1, 1, 1, 32, 32, 1, 0, NULL, arguments, NULL));
  OK(cuCtxSynchronize());
  OK(cuMemcpyDtoH_v2(back, to, sizeof back));
  for (unsigned i = 0; i < 1024; i++)
    wrong += back[i] != host[i % 32 * 32 + i / 32];
  printf("%d wrong\n", wrong);
  return 0;
}
