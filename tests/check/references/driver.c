/* Texture and surface references of the driver's interface. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long address;
typedef struct {
  size_t width, height;
  int format;
  unsigned channels;
} plane_form;
typedef struct {
  size_t width, height, depth;
  int format;
  unsigned channels, flags;
} array_form;

int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(void **, int);
int cuCtxSetCurrent(void *);
int cuModuleLoad(void **, const char *);
int cuModuleUnload(void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuModuleGetTexRef(void **, void *, const char *);
int cuModuleGetSurfRef(void **, void *, const char *);
int cuTexRefSetAddress_v2(size_t *, void *, address, size_t);
int cuTexRefSetAddress2D_v3(void *, const plane_form *, address, size_t);
int cuTexRefSetArray(void *, void *, unsigned);
int cuTexRefSetFormat(void *, int, int);
int cuTexRefSetFilterMode(void *, int);
int cuTexRefSetAddressMode(void *, int, int);
int cuTexRefSetFlags(void *, unsigned);
int cuTexRefGetFilterMode(int *, void *);
int cuTexRefGetArray(void **, void *);
int cuSurfRefSetArray(void *, void *, unsigned);
int cuArray3DCreate_v2(void **, const array_form *);
int cuMemcpyHtoA_v2(void *, size_t, const void *, size_t);
int cuMemcpyAtoH_v2(void *, void *, size_t, size_t);
int cuMemAlloc_v2(address *, size_t);
int cuMemcpyHtoD_v2(address, const void *, size_t);
int cuMemcpyDtoH_v2(void *, address, size_t);
int cuMemsetD8_v2(address, unsigned char, size_t);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   void *, void **, void **);

static void check(int error, int wanted, int at) {
  if (error == wanted)
    return;
  printf("line %d: error %d, not %d\n", at, error, wanted);
  exit(1);
}
#define OK(call) check(call, 0, __LINE__)
#define FAILS(wanted, call) check(call, wanted, __LINE__)

int main(void) {
  enum { N = 8, REAL = 0x20, BYTE = 1, SURFACE = 2, OVERRIDE = 1, LINEAR = 1 };
  void *context, *module, *read, *twice, *line, *plane, *bytes, *picture, *array, *same;
  address memory, out, packed;
  float host[N], back[N];
  int mode;
  OK(cuInit(0));
  OK(cuDevicePrimaryCtxRetain(&context, 0));
  OK(cuCtxSetCurrent(context));
  OK(cuModuleLoad(&module, "kernels.ptx"));
  OK(cuModuleGetFunction(&read, module, "read"));
  OK(cuModuleGetFunction(&twice, module, "twice"));
  OK(cuModuleGetTexRef(&line, module, "line"));
  OK(cuModuleGetTexRef(&plane, module, "plane"));
  OK(cuModuleGetTexRef(&bytes, module, "bytes"));
  OK(cuModuleGetSurfRef(&picture, module, "picture"));
  FAILS(500, cuModuleGetTexRef(&same, module, "nowhere"));
  for (int i = 0; i < N; i++)
    host[i] = (float)i;
  OK(cuMemAlloc_v2(&memory, sizeof host));
  OK(cuMemAlloc_v2(&out, sizeof host));
  OK(cuMemAlloc_v2(&packed, 4 * N));
  OK(cuMemcpyHtoD_v2(memory, host, sizeof host));
  OK(cuMemsetD8_v2(packed, 51, 4 * N));
  array_form form = {N, 1, 0, REAL, 1, SURFACE};
  OK(cuArray3DCreate_v2(&array, &form));
  OK(cuMemcpyHtoA_v2(array, 0, host, sizeof host));

  OK(cuTexRefSetFormat(line, REAL, 1));
  OK(cuTexRefSetAddress_v2(NULL, line, memory, sizeof host));
  OK(cuTexRefSetArray(plane, array, OVERRIDE));
  OK(cuTexRefSetFilterMode(plane, LINEAR));
  OK(cuTexRefSetAddressMode(plane, 0, 1));
  plane_form row = {N, 1, BYTE, 4};
  OK(cuTexRefSetAddress2D_v3(bytes, &row, packed, 4 * N));
  OK(cuSurfRefSetArray(picture, array, 0));
  void *arguments[] = {&out};
  OK(cuLaunchKernel(read, 1, 1, 1, N, 1, 1, 0, NULL, arguments, NULL));
  OK(cuMemcpyDtoH_v2(back, out, sizeof back));
  printf("%g %g\n", back[0], back[7]);
  OK(cuLaunchKernel(twice, 1, 1, 1, N, 1, 1, 0, NULL, NULL, NULL));
  OK(cuMemcpyAtoH_v2(back, array, 0, sizeof back));
  printf("%g %g\n", back[1], back[7]);
  OK(cuTexRefGetFilterMode(&mode, plane));
  OK(cuTexRefGetArray(&same, plane));
  printf("%d %d\n", mode, same == array);
  OK(cuModuleGetTexRef(&same, module, "plane"));
  printf("%d\n", same == plane);
  OK(cuModuleUnload(module));
  return 0;
}
