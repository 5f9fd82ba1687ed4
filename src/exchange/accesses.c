/* Accesses of kernels as a file: rows "module", each followed by those of its kernels, and a kernel
 * by its accesses, as "written" and as "merged". */
#include "exchange/accesses.h"

#include "exchange/access_text.h"

#include <stdlib.h>
#include <string.h>

/* ---- Rows ---- */

static const bf_rows_form form = {"accesses", 1};

static const bf_field module_fields[] = {BF_FIELD(bf_accesses_module, ptx)};
static const bf_row row_of_module = BF_ROW("module", module_fields);

static const bf_field kernel_fields[] = {
    BF_FIELD(bf_accesses_kernel, name),
    BF_FIELD(bf_accesses_kernel, launches),
    BF_FIELD(bf_accesses_kernel, is_cut),
};
static const bf_row row_of_kernel = BF_ROW("kernel", kernel_fields);

/* An access, and the array that it is known to be to, or NULL. */
typedef struct access_row {
  const char *array, *access;
} access_row;

static const bf_field access_fields[] = {
    BF_FIELD_OR_NULL(access_row, array),
    BF_FIELD(access_row, access),
};
static const bf_row row_of_written = BF_ROW("written", access_fields);
static const bf_row row_of_merged = BF_ROW("merged", access_fields);

/* ---- Lists ---- */

/* Room for one more element of size bytes; the list is moved where it is full. */
static bool grow(void **list, size_t count, size_t *capacity, size_t size) {
  if (count < *capacity)
    return true;
  size_t wanted = *capacity ? *capacity * 2 : 8;
  void *moved = realloc(*list, wanted * size);
  if (!moved)
    return false;
  *list = moved;
  *capacity = wanted;
  return true;
}

bf_accesses_module *bf_accesses_add_module(bf_accesses *accesses, const char *ptx) {
  bf_accesses_module made = {.ptx = bf_arena_copy(&accesses->arena, ptx)};
  if (!made.ptx || !grow((void **)&accesses->module, accesses->modules, &accesses->module_capacity,
                         sizeof *accesses->module))
    return NULL;
  accesses->module[accesses->modules] = made;
  return &accesses->module[accesses->modules++];
}

bf_accesses_kernel *bf_accesses_add_kernel(bf_accesses *accesses, bf_accesses_module *module,
                                           const char *name) {
  bf_accesses_kernel made = {.name = bf_arena_copy(&accesses->arena, name)};
  if (!made.name || !grow((void **)&module->kernel, module->kernels, &module->kernel_capacity,
                          sizeof *module->kernel))
    return NULL;
  module->kernel[module->kernels] = made;
  return &module->kernel[module->kernels++];
}

void bf_accesses_free(bf_accesses *accesses) {
  for (size_t i = 0; i < accesses->modules; i++) {
    const bf_accesses_module *module = &accesses->module[i];
    for (size_t j = 0; j < module->kernels; j++) {
      bf_workload_free(module->kernel[j].written);
      bf_workload_free(module->kernel[j].merged);
    }
    free(module->kernel);
  }
  free(accesses->module);
  bf_arena_free(&accesses->arena);
  *accesses = (bf_accesses){0};
}

/* ---- Writing ---- */

/* Text that is handed to the writer where there is this much of it. */
enum { PIECE_BYTES = 1 << 20 };

/* What is being written. */
typedef struct writing {
  bf_writer *writer;
  bf_text text; /* not yet handed to the writer */
} writing;

/* Hands text on where there are that many bytes. */
static int flush(writing *w, size_t least_bytes, bf_diagnostic *diagnostic) {
  if (w->text.failed)
    return bf_no_memory(diagnostic);
  if (w->text.size < least_bytes)
    return BF_OK;
  int error = bf_writer_write(w->writer, w->text.data, w->text.size, diagnostic);
  bf_text_free(&w->text);
  return error;
}

static int write_workload(writing *w, const bf_row *row, const bf_workload *workload,
                          bf_diagnostic *diagnostic) {
  bf_text access = {0};
  int error = BF_OK;
  for (size_t i = 0; i < bf_workload_size(workload) && !error; i++) {
    const bf_access *own = bf_workload_get(workload, i);
    access.size = 0;
    bf_access_text_write(own, &access);
    if (!access.failed)
      bf_row_write(row, &(access_row){own->site, access.data}, &w->text);
    error = access.failed ? bf_no_memory(diagnostic) : flush(w, PIECE_BYTES, diagnostic);
  }
  bf_text_free(&access);
  return error;
}

static int write_module(writing *w, const bf_accesses_module *module, bf_diagnostic *diagnostic) {
  bf_row_write(&row_of_module, module, &w->text);
  for (size_t i = 0; i < module->kernels; i++) {
    const bf_accesses_kernel *kernel = &module->kernel[i];
    bf_row_write(&row_of_kernel, kernel, &w->text);
    BF_TRY(write_workload(w, &row_of_written, kernel->written, diagnostic));
    BF_TRY(write_workload(w, &row_of_merged, kernel->merged, diagnostic));
  }
  return flush(w, PIECE_BYTES, diagnostic);
}

static int write_file(const char *path, const bf_accesses *accesses, bf_diagnostic *diagnostic) {
  writing w = {0};
  BF_TRY(bf_writer_open(path, false, &w.writer, diagnostic));
  bf_rows_begin(&form, &w.text);
  int error = BF_OK;
  for (size_t i = 0; i < accesses->modules && !error; i++)
    error = write_module(&w, &accesses->module[i], diagnostic);
  bf_rows_end(&w.text);
  if (!error)
    error = flush(&w, 0, diagnostic);
  if (!error)
    error = bf_writer_commit(w.writer, diagnostic);
  bf_writer_close(w.writer);
  bf_text_free(&w.text);
  return error;
}

int bf_accesses_write(const char *folder, const bf_accesses *accesses, bf_diagnostic *diagnostic) {
  bf_text path = {0};
  bf_rows_path(folder, &path);
  int error = path.failed ? bf_no_memory(diagnostic) : write_file(path.data, accesses, diagnostic);
  bf_text_free(&path);
  return error;
}

/* ---- Reading ---- */

/* What is read into what. */
typedef struct reading {
  bf_accesses *accesses;
  bf_trace_limits limits;
  bf_accesses_module *module; /* of the rows that follow; NULL: none yet */
  bf_accesses_kernel *kernel; /* the same */
} reading;

static int read_module(reading *r, bf_rows *rows, bf_diagnostic *diagnostic) {
  bf_accesses_module read = {0};
  BF_TRY(bf_rows_get(rows, &row_of_module, &read, diagnostic));
  r->module = NULL;
  r->kernel = NULL;
  for (size_t i = 0; i < r->accesses->modules && !r->module; i++)
    if (strcmp(r->accesses->module[i].ptx, read.ptx) == 0)
      r->module = &r->accesses->module[i];
  if (!r->module)
    r->module = bf_accesses_add_module(r->accesses, read.ptx);
  return r->module ? BF_OK : bf_no_memory(diagnostic);
}

/* Makes the workloads of a kernel. */
static bool make_workloads(bf_accesses_kernel *kernel) {
  return bf_workload_create(&kernel->written) == BF_OK &&
         bf_workload_create(&kernel->merged) == BF_OK;
}

static int read_kernel(reading *r, bf_rows *rows, bf_diagnostic *diagnostic) {
  bf_accesses_kernel read = {0};
  if (!r->module)
    return bf_rows_fail(rows, diagnostic, "expected a row '%s'", row_of_module.word);
  BF_TRY(bf_rows_get(rows, &row_of_kernel, &read, diagnostic));
  r->kernel = NULL;
  for (size_t i = 0; i < r->module->kernels && !r->kernel; i++)
    if (strcmp(r->module->kernel[i].name, read.name) == 0)
      r->kernel = &r->module->kernel[i];
  if (!r->kernel) {
    r->kernel = bf_accesses_add_kernel(r->accesses, r->module, read.name);
    if (!r->kernel || !make_workloads(r->kernel))
      return bf_no_memory(diagnostic);
  }
  r->kernel->launches += read.launches;
  r->kernel->is_cut |= read.is_cut;
  return BF_OK;
}

static int read_access(reading *r, bf_rows *rows, bf_diagnostic *diagnostic) {
  bool is_merged = bf_rows_is(rows, &row_of_merged);
  access_row read;
  bf_access access;
  int fault;
  if (!r->kernel)
    return bf_rows_fail(rows, diagnostic, "expected a row '%s'",
                        r->module ? row_of_kernel.word : row_of_module.word);
  BF_TRY(bf_rows_get(rows, is_merged ? &row_of_merged : &row_of_written, &read, diagnostic));
  BF_TRY(bf_access_text_read(rows, read.access, &access, diagnostic));
  access.site = read.array;
  int error = bf_access_check(&access, &r->limits, &fault, NULL);
  if (!error)
    error = bf_workload_add(is_merged ? r->kernel->merged : r->kernel->written, &access);
  if (error == BF_NO_MEMORY)
    return bf_no_memory(diagnostic);
  r->kernel->is_cut |= error != BF_OK;
  return BF_OK;
}

static int take(void *context, bf_rows *rows, bf_diagnostic *diagnostic) {
  reading *r = context;
  if (bf_rows_is_first(rows)) { /* those of another file */
    r->module = NULL;
    r->kernel = NULL;
  }
  if (bf_rows_is(rows, &row_of_module))
    return read_module(r, rows, diagnostic);
  if (bf_rows_is(rows, &row_of_kernel))
    return read_kernel(r, rows, diagnostic);
  return read_access(r, rows, diagnostic);
}

int bf_accesses_read_file(const char *path, const bf_machine *machine, bf_accesses *accesses,
                          bf_diagnostic *diagnostic) {
  reading r = {.accesses = accesses, .limits = bf_machine_limits(machine)};
  return bf_rows_read(path, &form, take, &r, diagnostic);
}

int bf_accesses_read(const char *folder, const bf_machine *machine, bf_accesses *accesses,
                     bf_diagnostic *diagnostic) {
  reading r = {.accesses = accesses, .limits = bf_machine_limits(machine)};
  return bf_rows_read_folder(folder, &form, take, &r, diagnostic);
}
