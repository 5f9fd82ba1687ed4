/* Calls library.c twice each. */
#include <stdio.h>

int cublasCreate_v2(void **), cufftPlan1d(int *, int, int, int),
    curandCreateGenerator(void **, int);

int main(void) {
  void *handle = NULL;
  int plan;
  for (int i = 0; i < 2; i++)
    printf("%d %d %d\n", cublasCreate_v2(&handle), cufftPlan1d(&plan, 8, 0, 1),
           curandCreateGenerator(&handle, 100));
  return 0;
}
