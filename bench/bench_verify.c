/* What it costs to verify rewritten modules, beside rewriting them: what a cache would cost that
 * has every image verified when it is read. Prints a JSON line.
 *
 *   bench_verify FILE.ptx... */
#include "rewrite/listed.h"
#include "verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Processor seconds of all modules together. */
typedef struct costs {
  double parse, rewrite, parse_rewritten, verify;
} costs;

static double cpu_seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

/* Ends the program with a message. */
static void die(const char *file, const bf_diagnostic *diagnostic) {
  fprintf(stderr, "bench_verify: %s: %s\n", file, diagnostic->message);
  exit(2);
}

static const bf_hash *hash_of(void *context, const bf_ptx_function *kernel,
                              const bf_ptx_variable *array) {
  (void)kernel;
  (void)array;
  return context;
}

/* Rewrites a module, which includes verifying it, then verifies it again. */
static void measure(const char *file, bf_hash *hash, costs *sum) {
  bf_diagnostic diagnostic = {.caret = -1};
  bf_text text = {0};
  bf_ptx_module *module, *rewritten;
  bf_listed listed = {.otherwise = hash, .padding_has_room = true};
  bf_rewrite_result result;
  bf_verify_result verdict;
  if (bf_read_file(file, SIZE_MAX, &text, &diagnostic) != BF_OK)
    die(file, &diagnostic);
  double begun = cpu_seconds();
  if (bf_ptx_parse(file, text.data, text.size, &module, &diagnostic) != BF_OK)
    die(file, &diagnostic);
  double parsed = cpu_seconds();
  if (bf_rewrite_listed(module, &listed, &result, &diagnostic) != BF_OK)
    die(file, &diagnostic);
  double done = cpu_seconds();
  if (bf_ptx_parse(file, result.text.data, result.text.size, &rewritten, &diagnostic) != BF_OK)
    die(file, &diagnostic);
  double again = cpu_seconds();
  if (bf_verify(module, rewritten, hash, hash_of, &verdict, &diagnostic) != BF_OK)
    die(file, &diagnostic);
  sum->verify += cpu_seconds() - again;
  sum->parse += parsed - begun;
  sum->rewrite += done - parsed;
  sum->parse_rewritten += again - done;
  bf_verify_free(&verdict);
  bf_rewrite_free(&result);
  bf_ptx_free(rewritten);
  bf_ptx_free(module);
  bf_text_free(&text);
}

int main(int argc, char **argv) {
  costs sum = {0};
  bf_hash *hash;
  if (bf_hash_parse("fixed", &bf_listed_geometry, &hash, NULL) != BF_OK)
    return 2;
  for (int i = 1; i < argc; i++)
    measure(argv[i], hash, &sum);
  printf(
      "{\"modules\": %d, \"parse_ms\": %.1f, \"rewrite_ms\": %.1f, \"parse_rewritten_ms\": %.1f, "
      "\"verify_ms\": %.1f}\n",
      argc - 1, 1e3 * sum.parse, 1e3 * sum.rewrite, 1e3 * sum.parse_rewritten, 1e3 * sum.verify);
  bf_hash_free(hash);
  return 0;
}
