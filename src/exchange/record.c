/* Costs of a run as a file: rows "kernel", each followed by those of its lines and, where it has
 * conflicts, of its accesses. */
#include "exchange/record.h"

#include "exchange/access_text.h"

/* ---- Rows ---- */

static const bf_rows_form form = {"record", 8};

static const bf_field kernel_fields[] = {
    BF_FIELD(bf_costs_kernel, name),
    BF_FIELD_OR_NULL(bf_costs_kernel, hash),
    BF_FIELD_OR_NULL(bf_costs_kernel, lock_hash),
    BF_FIELD(bf_costs_kernel, launches),
    BF_FIELD(bf_costs_kernel, refused),
    BF_FIELD(bf_costs_kernel, faults),
    BF_FIELD(bf_costs_kernel, warp_instructions),
    BF_FIELD(bf_costs_kernel, thread_instructions),
    BF_FIELD(bf_costs_kernel, seconds),
    BF_FIELD(bf_costs_kernel, cycles),
    BF_FIELD(bf_costs_kernel, simulated_seconds),
    BF_FIELD(bf_costs_kernel, joules),
    BF_FIELD(bf_costs_kernel, conflict_joules),
    BF_FIELD(bf_costs_kernel, work_cycles),
    BF_FIELD(bf_costs_kernel, is_cut),
    BF_FIELD(bf_costs_kernel, blocks),
    BF_FIELD(bf_costs_kernel, counted_blocks),
    BF_FIELD(bf_costs_kernel, conflicts_low),
    BF_FIELD(bf_costs_kernel, conflicts_high),
};
static const bf_row row_of_kernel = BF_ROW("kernel", kernel_fields);

/* A line of a kernel. Its costs come first, so that their fields are those of the row. */
typedef struct line_row {
  bf_costs_line costs;
  const char *access;   /* the worst one; NULL: not known */
  const char *operands; /* bf_operands_write; NULL: none */
} line_row;

static const bf_field line_fields[] = {
    BF_FIELD_OR_NULL(bf_costs_line, file),
    BF_FIELD(bf_costs_line, line),
    BF_FIELD(bf_costs_line, accesses),
    BF_FIELD(bf_costs_line, wavefronts),
    BF_FIELD(bf_costs_line, ideal),
    BF_FIELD(bf_costs_line, conflicts),
    BF_FIELD(bf_costs_line, conflicts_low),
    BF_FIELD(bf_costs_line, conflicts_high),
    BF_FIELD(bf_costs_line, worst),
    BF_FIELD(bf_costs_line, waited_cycles),
    BF_FIELD(bf_costs_line, retries_most),
    BF_FIELD(bf_costs_line, estimated),
    BF_FIELD_OR_NULL(bf_costs_line, inlined_file),
    BF_FIELD(bf_costs_line, inlined_line),
    BF_FIELD_OR_NULL(bf_costs_line, inlined_further),
    BF_FIELD_OR_NULL(line_row, access),
    BF_FIELD_OR_NULL(line_row, operands),
};
static const bf_row row_of_line = BF_ROW("line", line_fields);

/* An access of a kernel. */
typedef struct access_row {
  const char *access;
} access_row;

static const bf_field access_fields[] = {BF_FIELD(access_row, access)};
static const bf_row row_of_access = BF_ROW("access", access_fields);

/* ---- Writing ---- */

static void write_line(const bf_costs_line *line, bf_text *text) {
  bf_text access = {0}, operands = {0};
  if (line->has_access)
    bf_access_text_write(&line->access, &access);
  bf_operands_write(line->operand, &operands);
  bf_row_write(&row_of_line, &(line_row){*line, access.data, operands.data}, text);
  text->failed |= access.failed || operands.failed;
  bf_text_free(&access);
  bf_text_free(&operands);
}

/* The accesses of a kernel; without conflicts nobody wants to know them. */
static void write_accesses(const bf_costs_kernel *kernel, bf_text *text) {
  bf_text access = {0};
  for (size_t i = 0; kernel->access && kernel->conflicts && i < bf_workload_size(kernel->access);
       i++) {
    access.size = 0;
    bf_access_text_write(bf_workload_get(kernel->access, i), &access);
    bf_row_write(&row_of_access, &(access_row){access.data}, text);
  }
  text->failed |= access.failed;
  bf_text_free(&access);
}

int bf_record_write(const char *folder, const bf_costs *costs, bf_diagnostic *diagnostic) {
  bf_text text = {0}, path = {0};
  bf_rows_begin(&form, &text);
  for (size_t i = 0; i < costs->kernels; i++) {
    bf_row_write(&row_of_kernel, &costs->kernel[i], &text);
    for (size_t j = 0; j < costs->kernel[i].lines; j++)
      write_line(&costs->kernel[i].line[j], &text);
    write_accesses(&costs->kernel[i], &text);
  }
  bf_rows_end(&text);
  bf_rows_path(folder, &path);
  int error = text.failed || path.failed
                  ? bf_no_memory(diagnostic)
                  : bf_write_file(path.data, text.data, text.size, diagnostic);
  bf_text_free(&path);
  bf_text_free(&text);
  return error;
}

/* ---- Reading ---- */

/* What is read into what. */
typedef struct reading {
  bf_costs *costs;
  bf_trace_limits limits;
  bf_costs_kernel *kernel; /* of the lines that follow, or NULL */
} reading;

static int read_kernel(reading *r, bf_rows *rows, bf_diagnostic *diagnostic) {
  bf_costs_kernel read = {0};
  BF_TRY(bf_rows_get(rows, &row_of_kernel, &read, diagnostic));
  r->kernel = bf_costs_find(r->costs, read.name, read.hash, read.lock_hash);
  if (!r->kernel)
    return bf_no_memory(diagnostic);
  bf_costs_add_sums(r->kernel, &read);
  if (read.is_cut)
    BF_TRY(bf_costs_add_accesses(r->kernel, NULL, diagnostic));
  return BF_OK;
}

static int read_line(reading *r, bf_rows *rows, bf_diagnostic *diagnostic) {
  line_row read = {0};
  int fault;
  if (!r->kernel)
    return bf_rows_fail(rows, diagnostic, "expected a row '%s'", row_of_kernel.word);
  BF_TRY(bf_rows_get(rows, &row_of_line, &read, diagnostic));
  if (read.access)
    BF_TRY(bf_access_text_read(rows, read.access, &read.costs.access, diagnostic));
  if (read.operands && !bf_operands_read(read.operands, read.costs.operand))
    return bf_rows_fail(rows, diagnostic, "'%.60s' are no operands", read.operands);
  read.costs.has_access =
      read.access && bf_access_check(&read.costs.access, &r->limits, &fault, NULL) == BF_OK;
  return bf_costs_add_line(r->costs, r->kernel, &read.costs, diagnostic);
}

static int read_access(reading *r, bf_rows *rows, bf_diagnostic *diagnostic) {
  access_row read = {0};
  bf_access access;
  if (!r->kernel)
    return bf_rows_fail(rows, diagnostic, "expected a row '%s'", row_of_kernel.word);
  BF_TRY(bf_rows_get(rows, &row_of_access, &read, diagnostic));
  BF_TRY(bf_access_text_read(rows, read.access, &access, diagnostic));
  int fault;
  bool fits = bf_access_check(&access, &r->limits, &fault, NULL) == BF_OK;
  return bf_costs_add_access(r->kernel, fits ? &access : NULL, diagnostic);
}

static int take(void *context, bf_rows *rows, bf_diagnostic *diagnostic) {
  reading *r = context;
  if (bf_rows_is_first(rows))
    r->kernel = NULL; /* that of another file */
  return bf_rows_is(rows, &row_of_kernel)   ? read_kernel(r, rows, diagnostic)
         : bf_rows_is(rows, &row_of_access) ? read_access(r, rows, diagnostic)
                                            : read_line(r, rows, diagnostic);
}

int bf_record_read_file(const char *path, const bf_machine *machine, bf_costs *costs,
                        bf_diagnostic *diagnostic) {
  reading r = {.costs = costs, .limits = bf_machine_limits(machine)};
  return bf_rows_read(path, &form, take, &r, diagnostic);
}

int bf_record_read(const char *folder, const bf_machine *machine, bf_costs *costs,
                   bf_diagnostic *diagnostic) {
  reading r = {.costs = costs, .limits = bf_machine_limits(machine)};
  return bf_rows_read_folder(folder, &form, take, &r, diagnostic);
}
