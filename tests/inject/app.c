/* A program that loads modules in every way a CUDA program does, for tests of the injection library
 * with the stub driver. It finds the driver as WAY says:
 *
 *   linked    it is linked with it
 *   dlsym     dlopen and dlsym
 *   proc      dlsym of cuGetProcAddress_v2, and that for the rest
 *   proc11    dlsym of cuGetProcAddress as CUDA 11 has it
 *   thread    as proc, with the functions for per-thread default streams
 *
 * With LD_PRELOAD, each function that the library replaces must be the library's.
 *
 * Its kernel is called twice, or as KERNEL says. app WAY JOB [FILE]: see the table of jobs at the
 * end. */
#include "abi.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, LOADS = 20, DYNAMIC_BYTES = 1000 };

static const char *way, *kernel_name = "twice";

/* Ends the program with a message. */
static void fail(const char *what) {
  printf("app: %s\n", what);
  fflush(stdout);
  _exit(1);
}

/* ---- The driver ---- */

#ifdef LINKED
#define CALL(name, types, ...)                                                                     \
  ({                                                                                               \
    extern int name types;                                                                         \
    name(__VA_ARGS__);                                                                             \
  })
#else
static void *find(const char *name) {
  static void *library;
  int (*find_v2)(const char *, void **, int, uint64_t, int *);
  int (*find_v1)(const char *, void **, int, uint64_t);
  void *found = NULL;
  if (!library)
    library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library)
    fail("no libcuda.so.1");
  if (strcmp(way, "dlsym") == 0)
    return dlsym(library, name);
  if (strcmp(way, "proc11") == 0) {
    *(void **)&find_v1 = dlsym(library, "cuGetProcAddress");
    return find_v1(name, &found, 11080, 0) == 0 ? found : NULL;
  }
  *(void **)&find_v2 = dlsym(library, "cuGetProcAddress_v2");
  find_v2("cuGetProcAddress", &found, 13000, 0, NULL); /* as the CUDA runtime does */
  *(void **)&find_v2 = found;
  uint64_t flags = strcmp(way, "thread") == 0 ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : 0;
  return find_v2(name, &found, 13000, flags, NULL) == 0 ? found : NULL;
}

/* Whether a function is the library's, or is none that it replaces. */
static bool is_replaced(const char *name, void *function) {
  static const char *const names[] = {
#define X(name, asked, since, per_thread) #name, asked,
#include "driver.def"
#undef X
  };
  Dl_info info;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], name) == 0)
      return dladdr(function, &info) && strstr(info.dli_fname, "libbankfold-inject");
  return true;
}

#define CALL(name, types, ...)                                                                     \
  ({                                                                                               \
    int(*call) types;                                                                              \
    *(void **)&call = find(#name);                                                                 \
    if (call && getenv("LD_PRELOAD") && !is_replaced(#name, *(void **)&call))                      \
      fail(#name " is not replaced");                                                              \
    if (!call)                                                                                     \
      fail("no " #name);                                                                           \
    call(__VA_ARGS__);                                                                             \
  })
#endif

/* Ends the program where a call fails. */
static void must(int result, const char *what) {
  if (result == CUDA_SUCCESS)
    return;
  printf("app: %s fails with %d\n", what, result);
  fflush(stdout);
  _exit(1);
}

/* ---- Files ---- */

/* The content of a file, with a NUL behind it. */
static char *read_image(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  char *bytes = calloc(1, 1 << 20);
  if (!file || !bytes)
    fail("cannot read the file");
  *size = fread(bytes, 1, (1 << 20) - 1, file);
  fclose(file);
  return bytes;
}

/* ---- Jobs ---- */

static void *load_data(const char *path) {
  size_t size;
  void *module, *image = read_image(path, &size);
  must(CALL(cuModuleLoadData, (void **, const void *), &module, image), "cuModuleLoadData");
  memset(image, 'x', size); /* the driver has its own copy */
  free(image);
  return module;
}

/* A limit is read as it was set. */
static void check_limit(void *function, int bytes) {
  int limit;
  must(CALL(cuFuncGetAttribute, (int *, int, void *), &limit,
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function) ||
           limit != bytes,
       "cuFuncGetAttribute");
}

/* Launches a function in all ways, with a size that is no whole row. */
static void launch(void *function) {
  const unsigned bytes = DYNAMIC_BYTES;
  void *stream = (void *)2, **parameters = stream;
  static const cu_launch_attribute attributes[3] = {{.id = 1}, {.id = 7}, {.id = 3}};
  cu_launch_config config = {{1, 2, 3}, {4, 5, 6}, bytes, stream, attributes, 3};
  int blocks;
  must(CALL(cuFuncSetAttribute, (void *, int, int), function,
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes),
       "cuFuncSetAttribute");
  check_limit(function, (int)bytes);
  must(CALL(cuFuncSetAttribute, (void *, int, int), function, 9, 50), "cuFuncSetAttribute");
  must(CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *, void *, int, size_t), &blocks,
            function, 64, bytes),
       "cuOccupancy");
  must(CALL(cuLaunchKernel,
            (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
             void **, void **),
            function, 1, 2, 3, 4, 5, 6, bytes, stream, parameters, NULL),
       "cuLaunchKernel");
  must(CALL(cuLaunchCooperativeKernel,
            (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
             void **),
            function, 1, 2, 3, 4, 5, 6, bytes, stream, parameters),
       "cuLaunchCooperativeKernel");
  must(CALL(cuLaunchKernelEx, (const cu_launch_config *, void *, void **, void **), &config,
            function, parameters, NULL),
       "cuLaunchKernelEx");
  if (config.shared_bytes != bytes)
    fail("the program's structure was changed");
}

/* The same through nodes of a graph. */
static void launch_graph(void *function) {
  const cu_kernel_node node = {function, {1, 2, 3}, {4, 5, 6}, DYNAMIC_BYTES,
                               NULL,     NULL,      NULL,      (void *)5};
  void *graph = (void *)3, *running = (void *)4, *made;
  must(CALL(cuGraphAddKernelNode, (void **, void *, void *const *, size_t, const cu_kernel_node *),
            &made, graph, NULL, 0, &node),
       "cuGraphAddKernelNode");
  must(CALL(cuGraphKernelNodeSetParams, (void *, const cu_kernel_node *), made, &node),
       "cuGraphKernelNodeSetParams");
  must(CALL(cuGraphExecKernelNodeSetParams, (void *, void *, const cu_kernel_node *), running, made,
            &node),
       "cuGraphExecKernelNodeSetParams");
  cu_kernel_node read = {0};
  must(CALL(cuGraphKernelNodeGetParams, (void *, cu_kernel_node *), made, &read),
       "cuGraphKernelNodeGetParams");
  if (read.function != function)
    fail("a node has another function");
}

/* Adds a node of any kind, by the function of CUDA 12.2 or of later ones. */
static void *add_any_node(cu_node *node) {
  void *graph = (void *)3, *made;
#ifndef LINKED
  if (strcmp(way, "proc") == 0 || strcmp(way, "thread") == 0) {
    must(CALL(cuGraphAddNode, (void **, void *, void *const *, const void *, size_t, cu_node *),
              &made, graph, NULL, NULL, 0, node),
         "cuGraphAddNode_v2");
    return made;
  }
#endif
  must(CALL(cuGraphAddNode, (void **, void *, void *const *, size_t, cu_node *), &made, graph, NULL,
            0, node),
       "cuGraphAddNode");
  return made;
}

/* The same through nodes of all kinds, which CUDA 11 does not know. */
static void launch_any_node(void *function) {
  cu_node node = {.type = CU_GRAPH_NODE_TYPE_KERNEL,
                  .kernel = {function, {1, 2, 3}, {4, 5, 6}, DYNAMIC_BYTES, .context = (void *)5}};
  void *running = (void *)4, *made = add_any_node(&node);
  must(CALL(cuGraphNodeSetParams, (void *, cu_node *), made, &node), "cuGraphNodeSetParams");
  must(CALL(cuGraphExecNodeSetParams, (void *, void *, cu_node *), running, made, &node),
       "cuGraphExecNodeSetParams");
  if (node.kernel.shared_bytes != DYNAMIC_BYTES || node.kernel.function != function)
    fail("the program's structure was changed");
  cu_node read = {0};
  must(CALL(cuGraphNodeGetParams, (void *, cu_node *), made, &read), "cuGraphNodeGetParams");
  if (read.kernel.function != function)
    fail("a node has another function");
  node.type = 1;
  if (CALL(cuGraphNodeSetParams, (void *, cu_node *), made, &node) == CUDA_SUCCESS)
    fail("a node of another kind was taken for a kernel's");
}

/* ---- Occupancy ---- */

static size_t bytes_of_block(int threads) { return (size_t)threads * 15; }

/* Asks all there is about a function; *left is what the driver leaves. */
static void ask(void *function, size_t *left) {
  const cu_launch_config config = {{1, 2, 3}, {4, 5, 6}, DYNAMIC_BYTES, NULL, NULL, 0};
  int answer, block;
  must(CALL(cuFuncSetSharedSize, (void *, unsigned), function, DYNAMIC_BYTES),
       "cuFuncSetSharedSize");
  must(CALL(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
            (int *, void *, int, size_t, unsigned), &answer, function, 64, DYNAMIC_BYTES, 1),
       "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags");
  for (int i = 0; i < 2; i++) {
    size_t (*bytes_of)(int) = i ? bytes_of_block : NULL;
    must(CALL(cuOccupancyMaxPotentialBlockSize,
              (int *, int *, void *, size_t (*)(int), size_t, int), &answer, &block, function,
              bytes_of, DYNAMIC_BYTES, 99),
         "cuOccupancyMaxPotentialBlockSize");
    must(CALL(cuOccupancyMaxPotentialBlockSizeWithFlags,
              (int *, int *, void *, size_t (*)(int), size_t, int, unsigned), &answer, &block,
              function, bytes_of, DYNAMIC_BYTES, 99, 1),
         "cuOccupancyMaxPotentialBlockSizeWithFlags");
  }
  must(CALL(cuOccupancyAvailableDynamicSMemPerBlock, (size_t *, void *, int, int), left, function,
            2, 64),
       "cuOccupancyAvailableDynamicSMemPerBlock");
  must(CALL(cuOccupancyMaxPotentialClusterSize, (int *, void *, const cu_launch_config *), &answer,
            function, &config),
       "cuOccupancyMaxPotentialClusterSize");
  must(CALL(cuOccupancyMaxActiveClusters, (int *, void *, const cu_launch_config *), &answer,
            function, &config),
       "cuOccupancyMaxActiveClusters");
}

/* ---- Modules and libraries ---- */

static void *get_function(void *module) {
  void *function;
  must(CALL(cuModuleGetFunction, (void **, void *, const char *), &function, module, kernel_name),
       "cuModuleGetFunction");
  return function;
}

/* Settings that both versions of a kernel need. */
static void set_all(void *function) {
  must(CALL(cuFuncSetCacheConfig, (void *, int), function, 2), "cuFuncSetCacheConfig");
  must(CALL(cuFuncSetSharedMemConfig, (void *, int), function, 1), "cuFuncSetSharedMemConfig");
}

/* All that is asked for less often. */
static void job_rest(const char *path) {
  void *function = get_function(load_data(path));
  size_t left;
  launch_any_node(function);
  set_all(function);
  ask(function, &left);
  printf("left %zu\n", left);
}

/* Ends contexts in all ways, right after a launch. */
static void job_contexts(const char *path) {
  void *function, *module = load_data(path);
  must(CALL(cuModuleGetFunction, (void **, void *, const char *), &function, module, kernel_name),
       "cuModuleGetFunction");
  launch(function);
  must(CALL(cuDevicePrimaryCtxRelease_v2, (int), 0), "cuDevicePrimaryCtxRelease");
  must(CALL(cuDevicePrimaryCtxReset_v2, (int), 0), "cuDevicePrimaryCtxReset");
  must(CALL(cuCtxDestroy_v2, (void *), (void *)8), "cuCtxDestroy");
  launch(function);
}

static void job_data(const char *path) {
  void *function, *module = load_data(path), *same;
  if (CALL(cuModuleGetFunction, (void **, void *, const char *), &function, module, "missing") !=
      500)
    fail("a function that is not there was found");
  must(CALL(cuModuleGetFunction, (void **, void *, const char *), &function, module, kernel_name),
       "cuModuleGetFunction");
  launch(function);
  launch_graph(function);
  must(CALL(cuFuncGetModule, (void **, void *), &same, function), "cuFuncGetModule");
  if (same != module)
    fail("another module");
  must(CALL(cuModuleEnumerateFunctions, (void **, unsigned, void *), &function, 1, module),
       "cuModuleEnumerateFunctions");
  if (strcmp(kernel_name, "twice") == 0)
    launch(function);
  must(CALL(cuModuleUnload, (void *), module), "cuModuleUnload");
}

/* The driver says by the value how much of a buffer it used. */
static void job_dataex(const char *path) {
  size_t size;
  int option = 4;
  void *value = (void *)1000, *module, *image = read_image(path, &size);
  must(CALL(cuModuleLoadDataEx, (void **, const void *, unsigned, int *, void **), &module, image,
            1, &option, &value),
       "cuModuleLoadDataEx");
  if (value != (void *)7)
    fail("the value of an option was not given back");
}

static void job_fatbin(const char *path) {
  size_t size;
  void *module, *image = read_image(path, &size);
  must(CALL(cuModuleLoadFatBinary, (void **, const void *), &module, image),
       "cuModuleLoadFatBinary");
}

static void job_file(const char *path) {
  void *module;
  must(CALL(cuModuleLoad, (void **, const char *), &module, path), "cuModuleLoad");
}

/* As nvcc's programs do: the image is a wrapper. */
static void *load_library(const char *path) {
  size_t size;
  int option = 4, library_option = 1;
  void *value = (void *)1000, *library_value = NULL, *library;
  cu_fatbin_wrapper wrapper = {CU_FATBIN_WRAPPER_MAGIC, 1, read_image(path, &size), NULL};
  must(CALL(cuLibraryLoadData,
            (void **, const void *, int *, void **, unsigned, int *, void **, unsigned), &library,
            &wrapper, &option, &value, 1, &library_option, &library_value, 1),
       "cuLibraryLoadData");
  return library;
}

static void job_library(const char *path) {
  void *library = load_library(path), *kernel, *function, *module;
  int limit;
  must(CALL(cuLibraryGetKernel, (void **, void *, const char *), &kernel, library, kernel_name),
       "cuLibraryGetKernel");
  must(CALL(cuKernelSetAttribute, (int, int, void *, int),
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, DYNAMIC_BYTES, kernel, 3),
       "cuKernelSetAttribute");
  must(CALL(cuKernelGetAttribute, (int *, int, void *, int), &limit,
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 3) ||
           limit != DYNAMIC_BYTES,
       "cuKernelGetAttribute");
  must(CALL(cuKernelSetCacheConfig, (void *, int, int), kernel, 2, 3), "cuKernelSetCacheConfig");
  launch(kernel);
  must(CALL(cuKernelGetFunction, (void **, void *), &function, kernel), "cuKernelGetFunction");
  check_limit(function, DYNAMIC_BYTES);
  launch(function);
  must(CALL(cuLibraryGetModule, (void **, void *), &module, library), "cuLibraryGetModule");
  must(CALL(cuModuleGetFunction, (void **, void *, const char *), &function, module, kernel_name),
       "cuModuleGetFunction");
  launch(function);
  must(CALL(cuLibraryUnload, (void *), library), "cuLibraryUnload");
}

/* The kernels of a library, all at once. */
static void job_kernels(const char *path) {
  void *kernel, *library = load_library(path);
  must(CALL(cuLibraryEnumerateKernels, (void **, unsigned, void *), &kernel, 1, library),
       "cuLibraryEnumerateKernels");
  launch(kernel);
}

/* Shows all kernels of a module and of a library, and that second versions cannot be had. */
static void job_list(const char *path) {
  void *module = load_data(path), *library = load_library(path), *made[16];
  const char *name;
  unsigned count;
  must(CALL(cuModuleGetFunctionCount, (unsigned *, void *), &count, module), "count");
  must(CALL(cuModuleEnumerateFunctions, (void **, unsigned, void *), made, 16, module), "list");
  for (unsigned i = 0; i < count; i++) {
    must(CALL(cuFuncGetName, (const char **, void *), &name, made[i]), "cuFuncGetName");
    printf("function %s\n", name);
  }
  must(CALL(cuLibraryGetKernelCount, (unsigned *, void *), &count, library), "count");
  must(CALL(cuLibraryEnumerateKernels, (void **, unsigned, void *), made, 16, library), "list");
  for (unsigned i = 0; i < count; i++) {
    must(CALL(cuKernelGetName, (const char **, void *), &name, made[i]), "cuKernelGetName");
    printf("kernel %s\n", name);
  }
  printf("result %d\n", CALL(cuModuleGetFunction, (void **, void *, const char *), &made[0], module,
                             "twice__bankfold_1"));
  printf("result %d\n", CALL(cuLibraryGetKernel, (void **, void *, const char *), &made[0], library,
                             "twice__bankfold_1"));
}

static void job_libraryfile(const char *path) {
  void *library;
  must(CALL(cuLibraryLoadFromFile,
            (void **, const char *, int *, void **, unsigned, int *, void **, unsigned), &library,
            path, NULL, NULL, 0, NULL, NULL, 0),
       "cuLibraryLoadFromFile");
}

/* Links an input twice, from memory and from its file, and loads the result. */
static void job_link(const char *path) {
  size_t size;
  char *image = read_image(path, &size);
  unsigned magic;
  memcpy(&magic, image, sizeof magic);
  int type = memcmp(image, "\177ELF", 4) == 0 ? 0
             : magic == 0xBA55ED50u           ? CU_JIT_INPUT_FATBINARY
                                              : CU_JIT_INPUT_PTX;
  int option = 0;
  void *value = (void *)32, *state, *code, *module;
  must(CALL(cuLinkCreate, (unsigned, int *, void **, void **), 0, NULL, NULL, &state),
       "cuLinkCreate");
  must(CALL(cuLinkAddData, (void *, int, void *, size_t, const char *, unsigned, int *, void **),
            state, type, image, type == CU_JIT_INPUT_PTX ? size + 1 : size, "input", 1, &option,
            &value),
       "cuLinkAddData");
  must(CALL(cuLinkAddFile, (void *, int, const char *, unsigned, int *, void **), state, type, path,
            1, &option, &value),
       "cuLinkAddFile");
  must(CALL(cuLinkComplete, (void *, void **, size_t *), state, &code, &size), "cuLinkComplete");
  must(CALL(cuModuleLoadData, (void **, const void *), &module, code), "cuModuleLoadData");
  launch(get_function(module));
  must(CALL(cuLinkDestroy, (void *), state), "cuLinkDestroy");
}

/* ---- The table of old runtimes ---- */

static const unsigned char runtime_table[16] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                                0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};

static void **get_table(const unsigned char identifier[16]) {
  void **table = NULL;
  int result = CALL(cuGetExportTable, (void ***, const unsigned char *), &table, identifier);
  return result == CUDA_SUCCESS ? table : NULL;
}

/* Loads and launches as a runtime of CUDA 11 does. What lies behind the end of the table is not
 * used. */
static void *use_table(void *path) {
  size_t size;
  cu_fatbin_wrapper wrapper = {CU_FATBIN_WRAPPER_MAGIC, 1, read_image(path, &size), NULL};
  void **table = get_table(runtime_table), *module = NULL, *stream = (void *)2;
  size_t words = (size_t)table[0] / sizeof *table;
  int (*load)(void **, const void *);
  int (*load_with)(void **, const void *, void *, void *, unsigned);
  int (*load_fatbin)(const void *, void **, void *, void *, unsigned);
  int (*start)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
               void **);
  *(void **)&load = table[1];
  must(load(&module, &wrapper), "table 1");
  if (words > 6) {
    *(void **)&load_with = table[6];
    must(load_with(&module, &wrapper, NULL, NULL, 0), "table 6");
    must(load_with(&module, &wrapper, &size, &size, 1), "table 6");
  }
  if (words > 9) {
    *(void **)&load_fatbin = table[8];
    *(void **)&start = table[9];
    must(load_fatbin(wrapper.module, &module, &size, &size, 1), "table 8");
    must(load_fatbin(wrapper.module, &module, NULL, NULL, 0), "table 8");
    must(start(get_function(module), 1, 2, 3, 4, 5, 6, DYNAMIC_BYTES, stream, NULL), "table 9");
  }
  return table;
}

static void job_table(const char *path) {
  static const unsigned char other[16] = {0xa0, 0x94, 0x79, 0x8c}, unknown[16] = {1};
  void **table = use_table((void *)path);
  if (((size_t)table[0] >= 24 && table[2] != (void *)1) || use_table((void *)path) != table)
    fail("another table");
  if (get_table(unknown) || get_table(other)[1] != (void *)4)
    fail("another table than was asked for");
}

/* Runs a function in many threads; their results. */
static void run_threads(void *(*function)(void *), const char *path, void *results[THREADS]) {
  pthread_t threads[THREADS];
  for (unsigned i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, function, (void *)path) != 0)
      fail("no thread");
  for (unsigned i = 0; i < THREADS; i++)
    pthread_join(threads[i], &results[i]);
}

static void job_tables(const char *path) {
  void *tables[THREADS];
  run_threads(use_table, path, tables);
  for (unsigned i = 1; i < THREADS; i++)
    if (tables[i] != tables[0])
      fail("threads get different tables");
}

/* ---- Threads, processes, hostile images ---- */

static void *load_often(void *path) {
  for (unsigned i = 0; i < LOADS; i++) {
    void *function, *module = load_data(path);
    must(CALL(cuModuleGetFunction, (void **, void *, const char *), &function, module, kernel_name),
         "cuModuleGetFunction");
    launch(function);
  }
  return NULL;
}

static void job_threads(const char *path) {
  void *unused[THREADS];
  run_threads(load_often, path, unused);
}

/* Forks while threads load modules; the children load too. */
static void job_fork(const char *path) {
  pthread_t threads[THREADS];
  load_data(path);
  for (unsigned i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, load_often, (void *)path) != 0)
      fail("no thread");
  for (unsigned i = 0; i < LOADS; i++) {
    pid_t child = fork();
    int status;
    if (child == 0) {
      load_data(path);
      _exit(7);
    }
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
      fail("a child fails");
  }
  for (unsigned i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
}

/* Loads, starts a program that loads, and becomes one. */
static void job_exec(const char *path) {
  extern char **environ;
  char *arguments[] = {(char *)"app", (char *)way, (char *)"data", (char *)path, NULL};
  pid_t child;
  int status;
  load_data(path);
  if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ) != 0 ||
      waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 42)
    fail("a child fails");
  execv("/proc/self/exe", arguments);
  fail("cannot become another program");
}

/* Puts the image at the end of a page behind which there is none, cut to ever less bytes; and lets
 * its header claim more than is there. The stub looks at no more than 4 bytes of such images. */
static void job_hostile(const char *path) {
  size_t size, page = (size_t)sysconf(_SC_PAGESIZE), room;
  char *image = read_image(path, &size);
  room = (size + page - 1) / page * page;
  char *memory =
      mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory + room, page, PROT_NONE) != 0)
    fail("no memory");
  void *module;
  for (size_t left = 4; left <= size; left += left < 200 ? 1 : 37) {
    char *at = memory + room - left;
    memcpy(at, image, left);
    must(CALL(cuModuleLoadData, (void **, const void *), &module, at), "cuModuleLoadData");
    cu_fatbin_wrapper wrapper = {CU_FATBIN_WRAPPER_MAGIC, 1, at, NULL};
    must(CALL(cuModuleLoadData, (void **, const void *), &module, &wrapper), "cuModuleLoadData");
  }
  static const uint64_t lies[] = {0, 1, 1 << 20, UINT64_MAX, UINT64_MAX - 15, (uint64_t)1 << 40};
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
    for (size_t offset = 8; offset < 120; offset += 4) {
      char *at = memory + room - size;
      memcpy(at, image, size);
      memcpy(at + offset, &lies[i], sizeof lies[i]);
      must(CALL(cuModuleLoadData, (void **, const void *), &module, at), "cuModuleLoadData");
    }
  char *at = memory + room - sizeof(cu_fatbin_wrapper);
  cu_fatbin_wrapper bad[] = {{CU_FATBIN_WRAPPER_MAGIC, 1, NULL, NULL},
                             {CU_FATBIN_WRAPPER_MAGIC, 1, memory + room, NULL},
                             {CU_FATBIN_WRAPPER_MAGIC, 1, (void *)16, NULL},
                             {CU_FATBIN_WRAPPER_MAGIC, 2, image, NULL}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    memcpy(at, &bad[i], sizeof bad[i]);
    must(CALL(cuModuleLoadData, (void **, const void *), &module, at), "cuModuleLoadData");
  }
  unsigned magic = CU_FATBIN_WRAPPER_MAGIC; /* a wrapper that is cut off */
  memcpy(memory + room - 4, &magic, 4);
  must(CALL(cuModuleLoadData, (void **, const void *), &module, memory + room - 4),
       "cuModuleLoadData");
}

/* Errors are the driver's, and errno is what it was. */
static void job_errors(const char *path) {
  void *module, *code = load_data(path);
  errno = EDOM;
  code = load_data(path);
  printf("errno %s\n", code && errno == EDOM ? "kept" : "changed");
  printf("result %d\n", CALL(cuModuleLoad, (void **, const char *), &module, "no/such/file"));
  printf("result %d\n", CALL(cuModuleLoadData, (void **, const void *), &module, "no code at all"));
}

/* Loads the same again and again. */
static void job_loads(const char *path) {
  for (unsigned i = 0; i < LOADS; i++)
    load_data(path);
}

static void launch_once(void *function, unsigned grid_x) {
  void *stream = (void *)2, **parameters = stream;
  must(CALL(cuLaunchKernel,
            (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
             void **, void **),
            function, grid_x, 2, 3, 4, 5, 6, DYNAMIC_BYTES, stream, parameters, NULL),
       "cuLaunchKernel");
}

/* Launches a kernel as often as LAUNCHES says, every tenth time into a graph; rests for REST_MS
 * after each of the first four. */
static void job_learn(const char *path) {
  void *function = get_function(load_data(path)), *stream = (void *)2, *graph;
  int launches = getenv("LAUNCHES") ? atoi(getenv("LAUNCHES")) : 300;
  int rest_ms = getenv("REST_MS") ? atoi(getenv("REST_MS")) : 0;
  for (int i = 0; i < launches; i++) {
    if (i > 0 && i < 5)
      usleep((unsigned)rest_ms * 1000);
    if (i % 10 == 9)
      must(CALL(cuStreamBeginCapture_v2, (void *, int), stream, 0), "cuStreamBeginCapture");
    launch_once(function, 1);
    if (i % 10 == 9)
      must(CALL(cuStreamEndCapture, (void *, void **), stream, &graph), "cuStreamEndCapture");
  }
}

/* Asks for the function of a kernel before each launch. */
static void job_again(const char *path) {
  void *library = load_library(path), *kernel, *function;
  must(CALL(cuLibraryGetKernel, (void **, void *, const char *), &kernel, library, kernel_name),
       "cuLibraryGetKernel");
  for (int i = 0; i < 10; i++) {
    must(CALL(cuKernelGetFunction, (void **, void *), &function, kernel), "cuKernelGetFunction");
    launch_once(function, 1);
  }
}

static void *learn_in_thread(void *function) {
  for (unsigned i = 0; i < 200; i++)
    launch_once(function, 1);
  return NULL;
}

/* The same kernel from many threads. */
static void job_learnthreads(const char *path) {
  void *unused[THREADS];
  run_threads(learn_in_thread, get_function(load_data(path)), unused);
}

/* Launches a kernel with two pointers and each of the numbers in VALUES as its parameters, one by
 * one or, every second time, in a buffer. */
static void job_values(const char *path) {
  void *function = get_function(load_data(path)), *pointer = path ? function : NULL;
  const char *at = getenv("VALUES");
  unsigned count = 0;
  for (char *end; at && *at; at = end + (*end == ' '), count++) {
    struct {
      void *pointer[2];
      int number;
    } all = {{pointer, pointer}, (int)strtol(at, &end, 10)};
    size_t size = sizeof all;
    void *each[] = {&all.pointer[0], &all.pointer[1], &all.number};
    void *extra[] = {(void *)1, &all, (void *)2, &size, NULL};
    must(CALL(cuLaunchKernel,
              (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
               void **, void **),
              function, 4096, 1, 1, 256, 1, 1, 8192, NULL, count % 2 ? NULL : each,
              count % 2 ? extra : NULL),
         "cuLaunchKernel");
    pointer = &pointer + count; /* another one each time */
  }
}

static const struct {
  const char *name;
  void (*run)(const char *path);
} jobs[] = {
    {"data", job_data},
    {"dataex", job_dataex},
    {"contexts", job_contexts},
    {"fatbin", job_fatbin},
    {"file", job_file},
    {"library", job_library},
    {"libraryfile", job_libraryfile},
    {"threads", job_threads},
    {"fork", job_fork},
    {"hostile", job_hostile},
    {"errors", job_errors},
    {"loads", job_loads},
    {"rest", job_rest},
    {"kernels", job_kernels},
    {"link", job_link},
    {"table", job_table},
    {"tables", job_tables},
    {"exec", job_exec},
    {"list", job_list},
    {"again", job_again},
    {"learn", job_learn},
    {"learnthreads", job_learnthreads},
    {"values", job_values},
};

int main(int argc, char **argv) {
  if (argc < 3)
    fail("usage: app WAY JOB [FILE]");
  way = argv[1];
  if (getenv("KERNEL"))
    kernel_name = getenv("KERNEL");
  must(CALL(cuInit, (unsigned), 0), "cuInit");
  for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
    if (strcmp(jobs[i].name, argv[2]) == 0) {
      jobs[i].run(argc > 3 ? argv[3] : NULL);
      puts("done");
      return 42;
    }
  fail("no such job");
}
