/* Calls the runtime of inside.c, in this program, in a library that it needs, or, with OPENED, in
 * the library that its argument names. */
#include <stdio.h>

#ifdef OPENED
#include <dlfcn.h>
#define FIND(name) int (*name)() = (int (*)())dlsym(library, #name)
#else
int cudaHelper(void), cudaRuntimeGetVersion(int *), cudaCallOfTheFuture(int), constructed(void);
#endif

int main(int count, char **arguments) {
  int version = 0;
  (void)count, (void)arguments;
#ifdef OPENED
  void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  FIND(cudaHelper);
  FIND(cudaRuntimeGetVersion);
  FIND(cudaCallOfTheFuture);
  FIND(constructed);
#endif
  int error = cudaRuntimeGetVersion(&version);
  printf("%d %d %d %d %d\n", error, version / 1000, constructed(), cudaCallOfTheFuture(5),
         cudaHelper());
  return 0;
}
