/* Speed of the exact search: full evaluations of random hashes per second and core by every kernel
 * this CPU runs, on workloads of different size, and the time to the proven optimum of every
 * workload in tests/data. Prints one JSON line each. */
#include "search/kernel.h"
#include "search/ladder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const names[] = {"strides64",   "tile32", "tile64", "tile128", "reduce", "walsh",
                                    "transpose16", "dct8",   "nw17",   "fft512",  "fft1024"};
enum { NAMES = sizeof names / sizeof *names };

static uint64_t random_state = 88172645463325252u;

static uint32_t random_below(uint32_t below) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (uint32_t)((random_state >> 16) % below);
}

static void die(const bf_diagnostic *diagnostic) {
  fprintf(stderr, "bench_search: %s\n", diagnostic->message);
  exit(2);
}

/* Shape evaluations per second of one kernel. */
static double measure(const bf_kernel *kernel, const bf_planes *planes, size_t shapes) {
  enum { HASHES = 512 };
  uint32_t functional[HASHES][BF_MAX_FUNCTIONALS];
  for (unsigned h = 0; h < HASHES; h++)
    for (unsigned i = 0; i < 5; i++)
      functional[h][i] = 1 + random_below((1u << planes->dimension) - 1);
  uint64_t evaluations = 0, sum = 0;
  double started = bf_seconds(), now;
  do {
    for (unsigned h = 0; h < HASHES; h++)
      sum += kernel->cost(planes, functional[h], 5);
    evaluations += HASHES * shapes;
    now = bf_seconds();
  } while (now - started < 0.5);
  if (sum == 0)
    fputs("bench_search: nothing conflicts\n", stderr);
  return (double)evaluations / (now - started);
}

/* The reference: one histogram per shape. */
static double measure_reference(const bf_problem *problem) {
  uint64_t evaluations = 0, sum = 0, row[5];
  double started = bf_seconds(), now;
  do {
    for (unsigned i = 0; i < 5; i++)
      row[i] = 1 + random_below(1u << 13);
    sum += bf_problem_cost(problem, row);
    evaluations += problem->count;
    now = bf_seconds();
  } while (now - started < 0.5);
  return sum ? (double)evaluations / (now - started) : 0;
}

static void bench_kernels(const char *name, const bf_machine *machine,
                          const bf_workload *workload) {
  bf_problem problem;
  bf_planes planes;
  bf_diagnostic diagnostic;
  if (bf_problem_build(machine, workload, 0, &problem, &diagnostic) != BF_OK)
    die(&diagnostic);
  bf_coordinates coordinates = bf_problem_coordinates(&problem, 0);
  if (bf_planes_build(&problem, &coordinates, &planes, &diagnostic) != BF_OK)
    die(&diagnostic);
  printf("{\"bench\": \"evaluate\", \"workload\": \"%s\", \"accesses\": %zu, \"dimension\": %u, "
         "\"unit\": \"million access evaluations per second and core\", \"reference\": %.1f",
         name, problem.count, coordinates.dimension, measure_reference(&problem) / 1e6);
  for (unsigned k = 0; bf_kernel_available(k); k++)
    printf(", \"%s\": %.0f", bf_kernel_available(k)->name,
           measure(bf_kernel_available(k), &planes, problem.count) / 1e6);
  printf("}\n");
  bf_planes_free(&planes);
  bf_problem_free(&problem);
}

static void bench_solve(const char *name, const bf_machine *machine, const bf_workload *workload,
                        double limit_seconds) {
  bf_solve_options options = {.struct_bytes = sizeof options,
                              .method = BF_METHOD_EXACT,
                              .time_limit_seconds = limit_seconds};
  bf_solution solution;
  bf_problem problem;
  bf_diagnostic diagnostic;
  clock_t started = clock();
  if (bf_solve(machine, workload, &options, &solution, &diagnostic) != BF_OK ||
      bf_problem_build(machine, workload, 0, &problem, &diagnostic) != BF_OK)
    die(&diagnostic);
  double core_seconds = (double)(clock() - started) / CLOCKS_PER_SEC;
  printf("{\"bench\": \"solve\", \"workload\": \"%s\", \"accesses\": %zu, \"shapes\": %zu, "
         "\"before\": %llu, \"after\": %llu, "
         "\"lower_bound\": %llu, \"proven\": %s, \"seconds\": %.3f, \"core_seconds\": %.3f, "
         "\"hash\": \"%s\"}\n",
         name, bf_workload_size(workload), problem.count,
         (unsigned long long)solution.conflicts_before,
         (unsigned long long)solution.conflicts_after, (unsigned long long)solution.lower_bound,
         solution.proven ? "true" : "false", solution.seconds, core_seconds,
         bf_hash_text(solution.hash));
  fflush(stdout);
  bf_problem_free(&problem);
  bf_solution_clear(&solution);
}

/* Accesses of random words of that many address bits and bytes: many shapes, as a histogram's trace
 * has. */
static bf_workload *random_words(unsigned accesses, unsigned bits, uint8_t bytes) {
  bf_workload *workload;
  if (bf_workload_create(&workload) != BF_OK)
    exit(2);
  for (unsigned a = 0; a < accesses; a++) {
    bf_access access = {.op = BF_OP_LD, .width_bytes = bytes, .mask = 0xffffffff, .count = 1};
    for (unsigned lane = 0; lane < 32; lane++)
      access.address[lane] = bytes * random_below(1u << bits);
    if (bf_workload_add(workload, &access) != BF_OK)
      exit(2);
  }
  return workload;
}

static bf_workload *random_workload(unsigned accesses) { return random_words(accesses, 12, 4); }

/* Strides 1 to last, or, with 0, a random order of 1024 words. */
static bf_workload *ordered_words(unsigned last) {
  bf_workload *workload;
  uint32_t order[1024];
  for (uint32_t i = 0; i < 1024; i++) {
    uint32_t at = random_below(i + 1);
    order[i] = order[at];
    order[at] = i;
  }
  if (bf_workload_create(&workload) != BF_OK)
    exit(2);
  for (unsigned a = 0; a < (last ? last : 32); a++) {
    bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .mask = 0xffffffff, .count = 1};
    for (uint32_t lane = 0; lane < 32; lane++)
      access.address[lane] = 4 * (last ? (a + 1) * lane : order[32 * a + lane]);
    if (bf_workload_add(workload, &access) != BF_OK)
      exit(2);
  }
  return workload;
}

/* What takes long, with a limit: how far the bounds come, and whether the limit is kept. */
static void bench_hard(const bf_machine *machine, double limit_seconds, const char *only) {
  const struct {
    const char *name;
    bf_workload *workload;
  } hard[] = {
      {"permutation1024", ordered_words(0)},       {"strides80", ordered_words(80)},
      {"strides128", ordered_words(128)},          {"random40_11", random_words(40, 11, 4)},
      {"random40_12", random_words(40, 12, 4)},    {"random64_16bytes", random_words(64, 10, 16)},
      {"random20000", random_words(20000, 12, 4)},
  };
  for (size_t i = 0; i < sizeof hard / sizeof *hard; i++) {
    if (!only || strcmp(only, hard[i].name) == 0)
      bench_solve(hard[i].name, machine, hard[i].workload, limit_seconds);
    bf_workload_free(hard[i].workload);
  }
}

/* ---- Limits ---- */

static const char *const methods[] = {"exact",   "bit-vector",       "givargis", "min-imbalance",
                                      "padding", "givargis-literal", "ladder"};
enum { METHODS = sizeof methods / sizeof *methods, LADDER = METHODS - 1 };

static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* One method with a limit: what it took, and the answer. */
static void bench_limit(const bf_machine *machine, const bf_workload *workload, unsigned method,
                        double limit_seconds) {
  bf_solve_options options = {.struct_bytes = sizeof options,
                              .method = method < LADDER ? (bf_method)method : BF_METHOD_EXACT,
                              .pairs = true,
                              .time_limit_seconds = limit_seconds};
  bf_diagnostic diagnostic;
  double share = 1, started = bf_seconds(), spent = cpu_seconds();
  bf_search_watch watch = {.step = methods[method], .share = &share};
  uint64_t after, lower;
  if (method < LADDER) {
    bf_solution solution;
    if (bf_solve_watched(machine, workload, &options, &watch, &solution, &diagnostic) != BF_OK)
      die(&diagnostic);
    after = solution.conflicts_after, lower = solution.lower_bound;
    bf_solution_clear(&solution);
  } else {
    bf_ladder ladder;
    if (bf_solve_ladder_watched(machine, workload, &options, &watch, &ladder, &diagnostic) != BF_OK)
      die(&diagnostic);
    after = ladder.step[ladder.recommended].conflicts, lower = ladder.lower_bound;
  }
  double seconds = bf_seconds() - started;
  printf("{\"bench\": \"limit\", \"accesses\": %zu, \"method\": \"%s\", \"limit\": %g, "
         "\"seconds\": %.3f, \"of_limit\": %.3f, \"core_seconds\": %.3f, \"counted\": %.3f, "
         "\"after\": %llu, \"lower_bound\": %llu}\n",
         bf_workload_size(workload), methods[method], limit_seconds, seconds,
         seconds / limit_seconds, cpu_seconds() - spent, share, (unsigned long long)after,
         (unsigned long long)lower);
  fflush(stdout);
}

/* Every method, 100 to a million accesses, limits of 0.1, 1 and 5 s that are not above `most`. */
static void bench_limits(const bf_machine *machine, double most) {
  static const double limits[] = {0.1, 1, 5};
  for (unsigned accesses = 100; accesses <= 1000000; accesses *= 10) {
    bf_workload *workload = random_workload(accesses);
    for (unsigned l = 0; l < 3 && limits[l] <= most; l++)
      for (unsigned method = 0; method < METHODS; method++)
        bench_limit(machine, workload, method, limits[l]);
    bf_workload_free(workload);
  }
}

/* With a number, only the hard ones, with that many seconds each; with a second argument, only
 * that. With "limits", how limits are kept, those of up to as many seconds as the second argument
 * says. */
int main(int count, char **argument) {
  bf_machine *machine;
  bf_diagnostic diagnostic;
  bf_workload *workload[NAMES];
  if (bf_machine_load("hopper", NULL, &machine, &diagnostic) != BF_OK)
    die(&diagnostic);
  if (count > 1 && strcmp(argument[1], "limits") == 0) {
    bench_limits(machine, count > 2 ? atof(argument[2]) : 5);
    bf_machine_free(machine);
    return 0;
  }
  if (count > 1) {
    bench_hard(machine, atof(argument[1]), count > 2 ? argument[2] : NULL);
    bf_machine_free(machine);
    return 0;
  }
  for (unsigned i = 0; i < NAMES; i++) {
    char path[256];
    snprintf(path, sizeof path, "tests/data/workloads/%s.trace", names[i]);
    if (bf_workload_read(path, machine, &workload[i], &diagnostic) != BF_OK)
      die(&diagnostic);
  }
  bench_kernels("strides64", machine, workload[0]);
  for (unsigned accesses = 256; accesses <= 16384; accesses *= 8) {
    char name[32];
    bf_workload *many = random_workload(accesses);
    snprintf(name, sizeof name, "random%u", accesses);
    bench_kernels(name, machine, many);
    bf_workload_free(many);
  }
  for (unsigned i = 0; i < NAMES; i++) {
    bench_solve(names[i], machine, workload[i], 120);
    bf_workload_free(workload[i]);
  }
  bf_machine_free(machine);
  return 0;
}
