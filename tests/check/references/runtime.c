/* Texture and surface references of the runtime of CUDA 11: what nvcc's code for the host does, by
 * hand. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char image[]; /* the fat binary */
__asm__(".section .rodata\n.balign 16\nimage:\n.incbin \"kernels.fatbin\"\n.previous");
static const struct {
  unsigned magic, version;
  const void *data;
  void *file;
} wrapper = {0x466243b1, 1, image, NULL};

typedef struct {
  int x, y, z, w, kind;
} channel;
typedef struct {
  int normalized, filter, outside[3];
  channel form;
  int more[7 + 14];
} reference;
typedef struct {
  unsigned x, y, z;
} size;

void **__cudaRegisterFatBinary(const void *wrapper);
void __cudaRegisterFunction(void **, const void *, const char *, const char *, int, void *, void *,
                            void *, void *, void *);
void __cudaRegisterTexture(void **, const void *, const void *, const char *, int, int, int);
void __cudaRegisterSurface(void **, const void *, const void *, const char *, int, int);
int cudaLaunchKernel(const void *, size, size, void **, size_t, void *);
int cudaMalloc(void *, size_t);
int cudaMallocPitch(void *, size_t *, size_t, size_t);
int cudaMemset2D(void *, size_t, int, size_t, size_t);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaMallocArray(void *, const channel *, size_t, size_t, unsigned);
int cudaMemcpyToArray(void *, size_t, size_t, const void *, size_t, int);
int cudaMemcpyFromArray(void *, const void *, size_t, size_t, size_t, int);
int cudaBindTexture(size_t *, const void *, const void *, const channel *, size_t);
int cudaBindTexture2D(size_t *, const void *, const void *, const channel *, size_t, size_t,
                      size_t);
int cudaBindTextureToArray(const void *, const void *, const channel *);
int cudaBindSurfaceToArray(const void *, const void *, const channel *);
int cudaUnbindTexture(const void *);
int cudaGetTextureReference(const void **, const void *);
int cudaGetTextureAlignmentOffset(size_t *, const void *);
int cudaDeviceSynchronize(void);

static reference line, plane, bytes, never, picture;
static char read_stub, twice_stub, unbound_stub;

static void check(int error, int wanted, int at) {
  if (error == wanted)
    return;
  printf("line %d: error %d, not %d\n", at, error, wanted);
  exit(1);
}
#define OK(call) check(call, 0, __LINE__)
#define FAILS(wanted, call) check(call, wanted, __LINE__)

static void register_all(void) {
  void **module = __cudaRegisterFatBinary(&wrapper);
  __cudaRegisterFunction(module, &read_stub, "read", "read", -1, NULL, NULL, NULL, NULL, NULL);
  __cudaRegisterFunction(module, &twice_stub, "twice", "twice", -1, NULL, NULL, NULL, NULL, NULL);
  __cudaRegisterFunction(module, &unbound_stub, "unbound", "unbound", -1, NULL, NULL, NULL, NULL,
                         NULL);
  __cudaRegisterTexture(module, &line, "line", "::line", 1, 0, 0);
  __cudaRegisterTexture(module, &plane, "plane", "::plane", 2, 0, 0);
  __cudaRegisterTexture(module, &bytes, "bytes", "::bytes", 2, 1, 0);
  __cudaRegisterTexture(module, &never, "never", "::never", 1, 0, 0);
  __cudaRegisterSurface(module, &picture, "picture", "::picture", 2, 0);
}

int main(void) {
  enum { N = 8, TO_DEVICE = 1, TO_HOST = 2, LINEAR = 1, CLAMP = 1, SURFACE = 2 };
  const channel real = {32, 0, 0, 0, 2}, four = {8, 8, 8, 8, 1};
  float host[N], back[N], *memory, *out;
  void *array, *pitched;
  size_t pitch, offset = 7;
  size one = {1, 1, 1}, threads = {N, 1, 1};
  register_all();
  for (int i = 0; i < N; i++)
    host[i] = (float)i;
  OK(cudaMalloc(&memory, sizeof host));
  OK(cudaMalloc(&out, sizeof host));
  OK(cudaMemcpy(memory, host, sizeof host, TO_DEVICE));
  OK(cudaMallocArray(&array, &real, N, 1, SURFACE));
  OK(cudaMemcpyToArray(array, 0, 0, host, sizeof host, TO_DEVICE));
  OK(cudaMallocPitch(&pitched, &pitch, 4 * N, 1));
  OK(cudaMemset2D(pitched, pitch, 51, 4 * N, 1));

  OK(cudaBindTexture(&offset, &line, memory, &real, 4294967295u)); /* as where no size is given */
  plane.filter = LINEAR;
  plane.outside[0] = CLAMP;
  OK(cudaBindTextureToArray(&plane, array, &real));
  OK(cudaBindTexture2D(NULL, &bytes, pitched, &four, N, 1, pitch));
  OK(cudaBindSurfaceToArray(&picture, array, &real));
  void *arguments[] = {&out};
  OK(cudaLaunchKernel(&read_stub, one, threads, arguments, 0, NULL));
  OK(cudaMemcpy(back, out, sizeof back, TO_HOST));
  printf("%g %g, offset %zu\n", back[0], back[7], offset);
  OK(cudaLaunchKernel(&twice_stub, one, threads, NULL, 0, NULL));
  OK(cudaMemcpyFromArray(back, array, 0, 0, sizeof back, TO_HOST));
  printf("%g %g\n", back[1], back[7]);

  /* Bound anew, from the fourth on, in the same launch otherwise. */
  OK(cudaBindTexture(&offset, &line, memory + 4, &real, 4 * sizeof *memory));
  OK(cudaLaunchKernel(&read_stub, one, threads, arguments, 0, NULL));
  OK(cudaMemcpy(back, out, sizeof back, TO_HOST));
  printf("%g %g\n", back[0], back[3]);
  const void *found;
  OK(cudaGetTextureReference(&found, &line));
  printf("%d\n", found == &line);
  FAILS(18, cudaGetTextureReference(&found, host));
  FAILS(18, cudaBindTexture(&offset, (reference *)&one, memory, &real, 4));
  OK(cudaGetTextureAlignmentOffset(&offset, &line));
  OK(cudaUnbindTexture(&line));
  FAILS(19, cudaGetTextureAlignmentOffset(&offset, &line));
  OK(cudaLaunchKernel(&unbound_stub, one, one, NULL, 0, NULL));
  FAILS(715, cudaDeviceSynchronize());
  return 0;
}
