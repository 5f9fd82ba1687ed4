/* Stands for NVIDIA's libraries of machine code: each starts here, which it must not under exec. */
int cublasCreate_v2(void **handle);
int cublasCreate_v2(void **handle) {
  *handle = handle;
  return 0;
}

int cufftPlan1d(int *plan, int size, int type, int batch);
int cufftPlan1d(int *plan, int size, int type, int batch) {
  *plan = size * batch;
  return type < 0;
}

int curandCreateGenerator(void **generator, int type);
int curandCreateGenerator(void **generator, int type) {
  *generator = generator;
  return type < 0;
}
