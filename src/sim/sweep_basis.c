/* What the results of a sweep depend on. */
#include "sim/sweep_basis.h"

#include "sim/gpu.h"

int bf_sim_basis_gpu(const char *name, bf_text *text, bf_diagnostic *diagnostic) {
  bf_sim_gpu *gpu;
  BF_TRY(bf_sim_gpu_load(name, &gpu, diagnostic));
  bf_text_addf(text, "gpu %s", bf_machine_name(gpu->machine));
  for (const bf_sim_parameter *p = bf_sim_parameters; p->name; p++) {
    bf_text_addf(text, " %s=", p->name);
    bf_sim_gpu_get(gpu, p, text);
  }
  bf_text_puts(text, "\n");
  bf_sim_gpu_free(gpu);
  return BF_OK;
}

/* FNV-1a with 64 bits. */
int bf_sim_basis_file(const char *path, bf_text *text, bf_diagnostic *diagnostic) {
  bf_reader *reader;
  unsigned char piece[1 << 14];
  uint64_t hash = 0xcbf29ce484222325ull;
  size_t got = 1;
  if (!path)
    return BF_OK;
  BF_TRY(bf_reader_open(path, &reader, diagnostic));
  int error = BF_OK;
  while (!error && got) {
    error = bf_reader_read(reader, piece, sizeof piece, &got, diagnostic);
    for (size_t i = 0; !error && i < got; i++)
      hash = (hash ^ piece[i]) * 0x100000001b3ull;
  }
  bf_reader_close(reader);
  bf_text_addf(text, "file %016llx\n", (unsigned long long)hash);
  return error;
}
