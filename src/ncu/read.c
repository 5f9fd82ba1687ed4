/* Tables of Nsight Compute. Three kinds of rows begin one: the names of columns of launches ("ID",
 * ...), with one launch a row or, on the page of details, one metric of a launch a row; and the
 * names of columns of the source page, behind "Kernel Name" or "Function Name". */
#include "ncu/csv.h"
#include "ncu/ncu.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef enum table { NO_TABLE, LAUNCHES, DETAILS, SOURCE } table;

/* Columns by what they are; -1: the table has none. */
typedef struct columns {
  int id, kernel, block, grid, metric, value;                 /* of launches */
  int address, line, text, file, executed, wavefronts, ideal; /* of the source */
} columns;

typedef struct reader {
  bf_ncu *ncu;
  bf_csv csv;
  bf_diagnostic *diagnostic;
  table table;
  columns columns;
  unsigned heads; /* fields of the row with the names of columns */
  const char **head;
  bool expects_units;
  const char *source_file; /* of "File Path" */
  const char *launch;      /* ID of the launch that details were read of last */
} reader;

static int fail(const reader *r, const char *message) {
  bf_fail_file(r->diagnostic, BF_BAD_INPUT, r->ncu->name, "%s", message);
  if (r->diagnostic)
    r->diagnostic->line = r->csv.line;
  return BF_BAD_INPUT;
}

/* ---- Kernels ---- */

/* A value among template arguments, which ncu writes as (type)value, as C++ has it: 64, 64u, true.
 * Returns how many characters of text it takes, 0 where it is none; adds it to out. */
static size_t write_value(const char *text, bf_text *out) {
  static const char *const types[][2] = {{"(int)", ""},
                                         {"(bool)", ""},
                                         {"(unsigned int)", "u"},
                                         {"(long)", "l"},
                                         {"(unsigned long)", "ul"},
                                         {"(unsigned char)", NULL}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    size_t type = strlen(types[i][0]), digits;
    if (strncmp(text, types[i][0], type) != 0)
      continue;
    digits = strspn(text + type, "-0123456789");
    if (!digits)
      return 0;
    if (strcmp(types[i][0], "(bool)") == 0)
      bf_text_puts(out, text[type] == '0' ? "false" : "true");
    else
      bf_text_addf(out, "%s%.*s%s", types[i][1] ? "" : types[i][0], (int)digits, text + type,
                   types[i][1] ? types[i][1] : "");
    return type + digits;
  }
  return 0;
}

/* The name without parameters and return type, with values as C++ has them: void ns::f<int,
 * (int)8>(int) becomes ns::f<int, 8>. */
static void shorten(const char *name, char *out, size_t bytes) {
  bf_text text = {0};
  int depth = 0;
  for (size_t at = 0, taken; name[at] && !(depth == 0 && name[at] == '(' && at > 0); at += taken) {
    taken = depth ? write_value(name + at, &text) : 0;
    depth += (name[at] == '<') - (name[at] == '>');
    if (depth == 0 && name[at] == ' ')
      text.size = 0;
    else if (!taken)
      bf_text_add(&text, name + at, 1);
    taken = taken ? taken : 1;
  }
  snprintf(out, bytes, "%.*s", (int)text.size, text.data ? text.data : "");
  bf_text_free(&text);
}

static int add_kernel(reader *r, const char *name, bf_ncu_kernel **kernel) {
  bf_ncu *ncu = r->ncu;
  if (ncu->kernels == ncu->capacity) {
    size_t capacity = ncu->capacity ? 2 * ncu->capacity : 16;
    bf_ncu_kernel *more = realloc(ncu->kernel, capacity * sizeof *more);
    if (!more)
      return bf_no_memory(r->diagnostic);
    ncu->kernel = more;
    ncu->capacity = capacity;
  }
  *kernel = &ncu->kernel[ncu->kernels++];
  **kernel = (bf_ncu_kernel){.name = name};
  shorten(name, (*kernel)->short_name, sizeof(*kernel)->short_name);
  return BF_OK;
}

static bf_ncu_kernel *last_kernel(const reader *r) {
  return r->ncu->kernels ? &r->ncu->kernel[r->ncu->kernels - 1] : NULL;
}

/* (32, 8, 1) */
static void read_size(const char *text, uint32_t size[3]) {
  for (unsigned i = 0; i < 3 && *text; i++) {
    uint64_t number;
    text += strcspn(text, "0123456789");
    if (!bf_parse_number(&text, &number) || number > INT32_MAX)
      return;
    size[i] = (uint32_t)number;
  }
}

/* A count: digits with commas between them, perhaps zeros behind a point; false for others. */
static bool read_count(const char *text, uint64_t *value) {
  *value = 0;
  if (!isdigit((unsigned char)*text))
    return false;
  for (; isdigit((unsigned char)*text) || *text == ','; text++)
    if (*text != ',') {
      if (*value > (UINT64_MAX - 9) / 10)
        return false;
      *value = *value * 10 + (uint64_t)(*text - '0');
    }
  if (*text == '.')
    text += 1 + strspn(text + 1, "0123456789");
  return !*text;
}

/* ---- Metrics ---- */

/* What a metric is, whether several of them add up to it, and whether it is left for one that says
 * it all. */
static const struct {
  const char *name;
  bf_ncu_metric metric;
  bool is_part;
} metrics[] = {
    {"memory_l1_wavefronts_shared", BF_NCU_WAVEFRONTS, false},
    {"memory_l1_wavefronts_shared_ideal", BF_NCU_IDEAL, false},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared.sum", BF_NCU_WAVEFRONTS, false},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", BF_NCU_WAVEFRONTS, true},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum", BF_NCU_WAVEFRONTS, true},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_atom.sum", BF_NCU_WAVEFRONTS, true},
    {"smsp__sass_inst_executed_op_shared.sum", BF_NCU_INSTRUCTIONS, false},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", BF_NCU_CONFLICTS, false},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", BF_NCU_CONFLICTS, true},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", BF_NCU_CONFLICTS, true},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum", BF_NCU_CONFLICTS, true},
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", BF_NCU_COUNTED_WAVEFRONTS, false},
    {"l1tex__data_bank_conflicts_pipe_lsu.sum", BF_NCU_MIXED_CONFLICTS, false},
};
enum { METRICS = sizeof metrics / sizeof *metrics };

/* The metrics of a launch, by name and value; parts are added up where the whole was not measured.
 */
static void take_metrics(bf_ncu_kernel *kernel, const char *const *name, const char *const *value,
                         unsigned count) {
  for (unsigned pass = 0; pass < 2; pass++) {
    bf_ncu_number sums[BF_NCU_METRICS] = {{false, 0}};
    for (unsigned i = 0; i < count; i++)
      for (size_t k = 0; k < METRICS; k++) {
        uint64_t number;
        if (metrics[k].is_part != (pass == 1) || strcmp(metrics[k].name, name[i]) != 0 ||
            !read_count(value[i], &number))
          continue;
        bf_ncu_number *sum = &sums[metrics[k].metric];
        sum->value = metrics[k].is_part && sum->is_there ? sum->value + number : number;
        sum->is_there = true;
      }
    for (unsigned i = 0; i < BF_NCU_METRICS; i++)
      if (!kernel->metric[i].is_there)
        kernel->metric[i] = sums[i];
  }
}

/* ---- Launches ---- */

static const char *field(const reader *r, int column) {
  return column >= 0 && (unsigned)column < r->csv.fields ? r->csv.field[column] : "";
}

static int read_launch(reader *r) {
  bf_ncu_kernel *kernel;
  if (r->csv.fields != r->heads)
    return fail(r, "the row has not as many fields as the table has columns");
  BF_TRY(add_kernel(r, field(r, r->columns.kernel), &kernel));
  read_size(field(r, r->columns.block), kernel->block);
  read_size(field(r, r->columns.grid), kernel->grid);
  take_metrics(kernel, r->head, r->csv.field, r->heads);
  return BF_OK;
}

/* A metric of a launch on the page of details. Names there are for people; only those that are
 * metrics' own are known. */
static int read_detail(reader *r) {
  const char *id = field(r, r->columns.id), *name = field(r, r->columns.metric);
  const char *value = field(r, r->columns.value);
  bf_ncu_kernel *kernel = last_kernel(r);
  if (!kernel || !r->launch || strcmp(r->launch, id) != 0) {
    BF_TRY(add_kernel(r, field(r, r->columns.kernel), &kernel));
    read_size(field(r, r->columns.block), kernel->block);
    read_size(field(r, r->columns.grid), kernel->grid);
  }
  r->launch = id;
  take_metrics(kernel, &name, &value, 1);
  return BF_OK;
}

/* ---- Source ---- */

static int add_line(reader *r, const bf_ncu_line *line) {
  bf_ncu_kernel *kernel = last_kernel(r);
  if ((kernel->lines & (kernel->lines - 1)) == 0) {
    size_t capacity = kernel->lines ? 2 * kernel->lines : 1;
    bf_ncu_line *more = bf_arena_alloc(&r->ncu->arena, capacity * sizeof *more);
    if (!more)
      return bf_no_memory(r->diagnostic);
    if (kernel->lines)
      memcpy(more, kernel->line, kernel->lines * sizeof *more);
    kernel->line = more;
  }
  kernel->line[kernel->lines++] = *line;
  return BF_OK;
}

/* A row of the source page. With lines and instructions, those of lines are taken, as instructions
 * stand there more than once. */
static int read_source(reader *r) {
  const columns *c = &r->columns;
  bf_ncu_line line = {.file = c->file >= 0 ? field(r, c->file) : r->source_file};
  if (!read_count(field(r, c->wavefronts), &line.wavefronts) || !line.wavefronts)
    return BF_OK;
  read_count(field(r, c->ideal), &line.ideal);
  read_count(field(r, c->executed), &line.executed);
  bool has_line = read_count(field(r, c->line), &line.line);
  if (c->line >= 0 && c->file < 0 && !has_line)
    return BF_OK;
  line.address = c->address >= 0 && !(c->line >= 0 && c->file < 0) ? field(r, c->address) : NULL;
  if (line.address && !*line.address)
    line.address = NULL; /* a row of a line, in a table that has instructions too */
  line.instruction = field(r, c->text);
  line.instruction += strspn(line.instruction, " ");
  bf_ncu_kernel *kernel = last_kernel(r);
  for (size_t i = 0; line.address && i < kernel->lines; i++)
    if (kernel->line[i].address && strcmp(kernel->line[i].address, line.address) == 0)
      return BF_OK; /* ncu prints an instruction again for each function that it was inlined from */
  line.is_of_page = c->file < 0 && line.file;
  BF_TRY(add_line(r, &line));
  kernel->metric[BF_NCU_WAVEFRONTS].is_there = kernel->metric[BF_NCU_IDEAL].is_there = true;
  kernel->metric[BF_NCU_WAVEFRONTS].value += line.wavefronts;
  kernel->metric[BF_NCU_IDEAL].value += line.ideal;
  return BF_OK;
}

/* Wavefronts of the lines of a page of source, one page for each file. */
static uint64_t sum_page(const bf_ncu_kernel *kernel, const char *file) {
  uint64_t sum = 0;
  for (size_t i = 0; i < kernel->lines; i++)
    if (kernel->line[i].is_of_page && strcmp(kernel->line[i].file, file) == 0)
      sum += kernel->line[i].wavefronts;
  return sum;
}

/* Leaves one page of source of a kernel. What is inlined from another file stands on the page of
 * that file, and on that of the kernel at the lines that call it; so the kernel's own has the most.
 */
static void keep_largest_page(bf_ncu_kernel *kernel) {
  const char *largest = NULL;
  uint64_t most = 0;
  size_t kept = 0;
  for (size_t i = 0; i < kernel->lines; i++) {
    const bf_ncu_line *line = &kernel->line[i];
    bool begins_page = line->is_of_page && (i == 0 || line->file != line[-1].file);
    uint64_t sum = begins_page ? sum_page(kernel, line->file) : 0;
    if (sum > most) {
      largest = line->file;
      most = sum;
    }
  }
  for (size_t i = 0; largest && i < kernel->lines; i++) {
    const bf_ncu_line line = kernel->line[i];
    if (line.is_of_page && strcmp(line.file, largest) != 0) {
      kernel->metric[BF_NCU_WAVEFRONTS].value -= line.wavefronts;
      kernel->metric[BF_NCU_IDEAL].value -= line.ideal;
    } else
      kernel->line[kept++] = line;
  }
  kernel->lines = largest ? kept : kernel->lines;
}

/* ---- Tables ---- */

static int find_column(const reader *r, const char *name) {
  for (unsigned i = 0; i < r->csv.fields; i++)
    if (strcmp(r->csv.field[i], name) == 0)
      return (int)i;
  return -1;
}

static int keep_head(reader *r, table kind) {
  r->head = bf_arena_alloc(&r->ncu->arena, r->csv.fields * sizeof *r->head);
  if (!r->head)
    return bf_no_memory(r->diagnostic);
  memcpy(r->head, r->csv.field, r->csv.fields * sizeof *r->head);
  r->heads = r->csv.fields;
  r->table = kind;
  r->expects_units = kind == LAUNCHES;
  return BF_OK;
}

/* Whether the row names columns; then the table begins. */
static int begin_table(reader *r, bool *begins) {
  columns own = {.id = find_column(r, "ID"),
                 .kernel = find_column(r, "Kernel Name"),
                 .block = find_column(r, "Block Size"),
                 .grid = find_column(r, "Grid Size"),
                 .metric = find_column(r, "Metric Name"),
                 .value = find_column(r, "Metric Value"),
                 .address = find_column(r, "Address"),
                 .line = find_column(r, "Line No"),
                 .text = find_column(r, "Source"),
                 .file = find_column(r, "File"),
                 .executed = find_column(r, "Instructions Executed"),
                 .wavefronts = find_column(r, "L1 Wavefronts Shared"),
                 .ideal = find_column(r, "L1 Wavefronts Shared Ideal")};
  bool is_launches = own.id >= 0 && own.kernel >= 0;
  if (own.file >= 0)
    own.line = find_column(r, "Line");
  *begins = is_launches || (own.wavefronts >= 0 && own.text >= 0);
  if (!*begins)
    return BF_OK;
  if (!is_launches && !r->ncu->kernels)
    return fail(r, "a table of source before the name of its kernel");
  r->columns = own;
  return keep_head(r, !is_launches                        ? SOURCE
                      : own.metric >= 0 && own.value >= 0 ? DETAILS
                                                          : LAUNCHES);
}

/* Rows of a name and a value, between tables. */
static int read_pair(reader *r, bool *is_pair) {
  const char *name = r->csv.fields >= 2 ? r->csv.field[0] : "", *value = field(r, 1);
  bf_ncu_kernel *kernel = last_kernel(r);
  bool names_kernel = strcmp(name, "Kernel Name") == 0 || strcmp(name, "Function Name") == 0;
  *is_pair = r->csv.fields <= 3 && r->csv.fields >= 2;
  if (!*is_pair)
    return BF_OK;
  if (strcmp(name, "File Path") == 0)
    r->source_file = value;
  else if (strcmp(name, "Launch") == 0) /* of tools/ncu: what follows is of another launch */
    r->table = NO_TABLE;
  else if (names_kernel && (!kernel || r->table == NO_TABLE || strcmp(kernel->name, value) != 0))
    BF_TRY(add_kernel(r, value, &kernel));
  else if (kernel && strcmp(name, "Block Size") == 0)
    read_size(value, kernel->block);
  else if (kernel && strcmp(name, "Grid Size") == 0)
    read_size(value, kernel->grid);
  else if (kernel)
    take_metrics(kernel, &name, &value, 1);
  return BF_OK;
}

static int read_row(reader *r) {
  bool is_handled;
  BF_TRY(begin_table(r, &is_handled));
  if (is_handled)
    return BF_OK;
  BF_TRY(read_pair(r, &is_handled));
  if (is_handled || r->csv.fields < 2)
    return BF_OK;
  if (r->expects_units && !*field(r, 0)) {
    r->expects_units = false;
    return BF_OK;
  }
  r->expects_units = false;
  return r->table == LAUNCHES  ? read_launch(r)
         : r->table == DETAILS ? read_detail(r)
         : r->table == SOURCE  ? read_source(r)
                               : BF_OK;
}

int bf_ncu_read(const char *name, const char *text, size_t size, bf_ncu *ncu,
                bf_diagnostic *diagnostic) {
  *ncu = (bf_ncu){.name = name};
  reader r = {.ncu = ncu, .diagnostic = diagnostic};
  bool has_failed = false;
  r.csv = (bf_csv){.at = text, .end = text + size, .arena = &ncu->arena};
  r.csv.field = bf_arena_alloc(&ncu->arena, BF_CSV_MOST_FIELDS * sizeof *r.csv.field);
  if (!r.csv.field)
    return bf_no_memory(diagnostic);
  while (bf_csv_next(&r.csv, &has_failed))
    BF_TRY(read_row(&r));
  if (has_failed)
    return bf_no_memory(diagnostic);
  for (size_t i = 0; i < ncu->kernels; i++)
    keep_largest_page(&ncu->kernel[i]);
  return ncu->kernels
             ? BF_OK
             : bf_fail_file(diagnostic, BF_BAD_INPUT, name,
                            "no table of Nsight Compute: ncu --csv --page raw, details or source");
}

/* The first launch of the same name that has no lines yet. */
static bf_ncu_kernel *find_launch(const bf_ncu *ncu, const bf_ncu_kernel *source) {
  for (size_t i = 0; i < ncu->kernels; i++) {
    bf_ncu_kernel *launch = &ncu->kernel[i];
    if (launch != source && launch->name && !launch->lines && launch->block[0] &&
        strcmp(launch->name, source->name) == 0)
      return launch;
  }
  return NULL;
}

void bf_ncu_merge(bf_ncu *ncu) {
  size_t kept = 0;
  for (size_t i = 0; i < ncu->kernels; i++) {
    bf_ncu_kernel *own = &ncu->kernel[i];
    bf_ncu_kernel *launch = own->lines && !own->block[0] ? find_launch(ncu, own) : NULL;
    if (!launch)
      continue;
    launch->lines = own->lines;
    launch->line = own->line;
    for (unsigned k = 0; k < BF_NCU_METRICS; k++)
      if (!launch->metric[k].is_there)
        launch->metric[k] = own->metric[k];
    own->name = NULL;
  }
  for (size_t i = 0; i < ncu->kernels; i++)
    if (ncu->kernel[i].name)
      ncu->kernel[kept++] = ncu->kernel[i];
  ncu->kernels = kept;
}

void bf_ncu_free(bf_ncu *ncu) {
  free(ncu->kernel);
  bf_arena_free(&ncu->arena);
  *ncu = (bf_ncu){.kernels = 0};
}
