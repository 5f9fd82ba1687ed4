/* Stands for the CUDA runtime inside a program or library, without nvcc: functions with its names
 * that do what ours do not. VERSION says which CUDA it seems to be of. `constructed` is what a call
 * before main gave. */
int cudaHelper(void);
int cudaHelper(void) { return 42; } /* the program's own, before the runtime */

int libcudart_static_0123(void);
int libcudart_static_0123(void) { return 1; }

int cudaDriverGetVersion(int *version);
int cudaDriverGetVersion(int *version) {
  *version = 1;
  return 0;
}
#if VERSION == 12
int cudaGetDeviceProperties_v2(void *to, int device);
int cudaGetDeviceProperties_v2(void *to, int device) { return to ? device : 1; }
#endif
#if VERSION < 13
int cudaThreadSynchronize(void);
int cudaThreadSynchronize(void) { return libcudart_static_0123(); }
#endif

int cudaCallOfTheFuture(int number);
int cudaCallOfTheFuture(int number) { return number * libcudart_static_0123(); }

/* Inside the runtime of CUDA 11, in which functions that are not offered are called so: runs before
 * main and stays what it is. */
__attribute__((constructor)) void __cudart1670(void);
void __cudart1670(void) {
  static const char shared_file[] = "/cudart.shm.%x.%x.%llx"; /* a text of every runtime */
  static const char *volatile begun;
  begun = begun ? begun : shared_file;
}

int cudaRuntimeGetVersion(int *version);
int cudaRuntimeGetVersion(int *version) {
  *version = 1;
  return 0;
}

int constructed(void);
static int before_main;
int constructed(void) { return before_main / 1000; }
__attribute__((constructor)) static void construct(void) { cudaRuntimeGetVersion(&before_main); }

/* A section by which nvcc's device code is known. */
__attribute__((section(".nv_fatbin"), used)) static const char device_code[16] = "none";
