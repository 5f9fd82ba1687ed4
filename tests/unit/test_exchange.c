/* What programs of Bankfold tell each other: whatever is written is read back equal, and what was
 * not written by this version is refused with its line. */
#include "exchange/accesses.h"
#include "exchange/learnt.h"
#include "exchange/live.h"
#include "exchange/record.h"
#include "exchange/settings.h"
#include "exchange/times.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- Files ---- */

typedef struct bed {
  char folder[64];
  bf_machine *machine;
} bed;

static int set_up(void **state) {
  bed *made = calloc(1, sizeof *made);
  bf_diagnostic diagnostic;
  assert_non_null(made);
  strcpy(made->folder, "/tmp/bankfold-test.XXXXXX");
  assert_non_null(mkdtemp(made->folder));
  assert_int_equal(bf_machine_load("hopper", NULL, &made->machine, &diagnostic), BF_OK);
  *state = made;
  return 0;
}

static int tear_down(void **state) {
  bed *own = *state;
  DIR *directory = opendir(own->folder);
  for (struct dirent *entry; (entry = readdir(directory));)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      unlinkat(dirfd(directory), entry->d_name, 0);
  closedir(directory);
  rmdir(own->folder);
  bf_machine_free(own->machine);
  free(own);
  return 0;
}

/* The path of the file of a process; of this one where number is 0. */
static const char *path_of(const bed *own, long number) {
  static char path[128];
  snprintf(path, sizeof path, "%s/%ld", own->folder, number ? number : (long)getpid());
  return path;
}

static void write_bytes(const char *path, const char *bytes, size_t size) {
  bf_diagnostic diagnostic;
  assert_int_equal(bf_write_file(path, bytes, size, &diagnostic), BF_OK);
}

/* The content of a file; free it. */
static bf_text content_of(const char *path) {
  bf_text text = {0};
  bf_diagnostic diagnostic;
  assert_int_equal(bf_read_file(path, SIZE_MAX, &text, &diagnostic), BF_OK);
  return text;
}

/* The files of this room: what reads one. */
typedef int reader(const bed *own, const char *path, bf_diagnostic *diagnostic);

static int read_record(const bed *own, const char *path, bf_diagnostic *diagnostic) {
  bf_costs costs = {0};
  int error = bf_record_read_file(path, own->machine, &costs, diagnostic);
  bf_costs_free(&costs);
  return error;
}

static int read_accesses(const bed *own, const char *path, bf_diagnostic *diagnostic) {
  bf_accesses accesses = {0};
  int error = bf_accesses_read_file(path, own->machine, &accesses, diagnostic);
  bf_accesses_free(&accesses);
  return error;
}

static int read_times(const bed *own, const char *path, bf_diagnostic *diagnostic) {
  bf_times times = {0};
  (void)own;
  int error = bf_times_read_file(path, &times, diagnostic);
  bf_times_free(&times);
  return error;
}

/* A file with that content is refused: the file and the line are named, and the message says that.
 */
static void refused(const bed *own, reader *read, const char *content, size_t size, uint64_t line,
                    const char *says) {
  const char *path = path_of(own, 7);
  bf_diagnostic diagnostic = {0};
  write_bytes(path, content, size);
  int error = read(own, path, &diagnostic);
  if (error != BF_BAD_INPUT || strcmp(diagnostic.file, path) != 0 ||
      (line ? diagnostic.line != line : !diagnostic.line) || !strstr(diagnostic.message, says))
    fail_msg("%.60s...: error %d, %s:%llu: %s", content, error, diagnostic.file,
             (unsigned long long)diagnostic.line, diagnostic.message);
  remove(path);
}

/* A change of a good file, and what is said about it. */
typedef struct damage {
  const char *from, *to; /* the first `from` becomes `to` */
  uint64_t line;
  const char *says;
} damage;

static void refused_damages(const bed *own, reader *read, const bf_text *good,
                            const damage *damages, size_t count) {
  for (size_t i = 0; i < count; i++) {
    bf_text bad = {0};
    const char *at = strstr(good->data, damages[i].from);
    assert_non_null(at);
    bf_text_add(&bad, good->data, (size_t)(at - good->data));
    bf_text_puts(&bad, damages[i].to);
    bf_text_puts(&bad, at + strlen(damages[i].from));
    refused(own, read, bad.data, bad.size, damages[i].line, damages[i].says);
    bf_text_free(&bad);
  }
}

/* What no reader takes: files that end anywhere but at their end, of other kinds and versions, and
 * text of others. */
static void refused_everything(const bed *own, reader *read, const bf_text *good) {
  for (size_t size = 0; size < good->size; size++)
    refused(own, read, good->data, size, 0, "");
  static const char *const foreign[] = {"",
                                        "\n",
                                        "end\n",
                                        "\177ELF",
                                        "{\"kernels\": []}\n",
                                        "bankfold\n",
                                        "bankfold trace 1\nend\n",
                                        "bankfold record 9\nend\n",
                                        "bankfold accesses 2\nend\n",
                                        "bankfold times 0\nend\n"};
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
    refused(own, read, foreign[i], strlen(foreign[i]), 1, "expected 'bankfold ");
  bf_text bad = {0};
  bf_text_add(&bad, good->data, good->size);
  bf_text_puts(&bad, "end\n");
  refused(own, read, bad.data, bad.size, 0, "text behind the end");
  bad.data[good->size - 5] = 0;
  refused(own, read, bad.data, bad.size, 0, "NUL");
  bf_text_free(&bad);
}

/* ---- Costs of a run ---- */

static bf_access access_of(bf_op op, uint32_t first) {
  bf_access access = {.op = op, .width_bytes = 4, .mask = 0xffff00ff, .count = 1};
  for (unsigned lane = 0; lane < 32; lane++)
    access.address[lane] = access.mask >> lane & 1 ? first + 128 * lane : 0;
  return access;
}

/* Adds a kernel with two lines. */
static void add_kernel(bf_costs *costs, const char *name, const char *hash, uint64_t worst) {
  bf_diagnostic diagnostic;
  bf_costs_kernel *kernel = bf_costs_find(costs, name, hash, "plain");
  assert_non_null(kernel);
  bf_costs_add_sums(kernel, &(bf_costs_kernel){.launches = 3,
                                               .refused = 2,
                                               .faults = 1,
                                               .warp_instructions = 1000,
                                               .thread_instructions = UINT64_MAX / 2,
                                               .seconds = 0.1,
                                               .cycles = 77,
                                               .simulated_seconds = 1.0 / 3e9,
                                               .joules = 0.3,
                                               .conflict_joules = 0.1,
                                               .work_cycles = 77,
                                               .blocks = 5000,
                                               .counted_blocks = 700,
                                               .conflicts_low = 140,
                                               .conflicts_high = 170});
  bf_costs_line lines[] = {
      {"a\tfile \\ with\nall.cu",
       12,
       5,
       160,
       5,
       155,
       worst,
       9,
       480,
       0,
       true,
       true,
       access_of(BF_OP_LD, 4),
       "caller.cu",
       70,
       "b.cuh:21, inlined at c.cu:5",
       150,
       160,
       {{.times = 0}}},
      {NULL, 40, 1, 1, 1, 0, 0, 0, 0, 0, false, false, {0}, NULL, 0, NULL, 0, 2, {{.times = 0}}}};
  lines[0].operand[BF_OPERAND_B] =
      (bf_operand_sum){.what = {128, 16, 4096, 128, true, "bf16", 1024, 9216, 0, 0},
                       .varies = true,
                       .times = 7,
                       .bytes = 28672,
                       .least_bytes = 28000,
                       .most_bytes = 29000,
                       .wavefronts = 224};
  lines[1].operand[BF_OPERAND_LOADED] = (bf_operand_sum){
      .what = {1, 512, 512, 0, false, "", 0, 512, 0, 0}, .times = 2, .bytes = 1024};
  for (size_t i = 0; i < 2; i++)
    assert_int_equal(bf_costs_add_line(costs, kernel, &lines[i], &diagnostic), BF_OK);
  bf_access own[] = {access_of(BF_OP_LD, 4), access_of(BF_OP_ST, 0)};
  own[1].count = 4;
  for (size_t i = 0; i < 2; i++)
    assert_int_equal(bf_costs_add_access(kernel, &own[i], &diagnostic), BF_OK);
}

static void same_access(const bf_access *a, const bf_access *b) {
  assert_int_equal(a->op, b->op);
  assert_int_equal(a->width_bytes, b->width_bytes);
  assert_int_equal(a->mask, b->mask);
  assert_int_equal(a->count, b->count);
  assert_memory_equal(a->address, b->address, sizeof a->address);
}

static void same_text(const char *a, const char *b) {
  if (a && b)
    assert_string_equal(a, b);
  else
    assert_ptr_equal(a, b);
}

static void same_line(const bf_costs_line *a, const bf_costs_line *b) {
  same_text(a->file, b->file);
  same_text(a->inlined_file, b->inlined_file);
  assert_int_equal(a->inlined_line, b->inlined_line);
  same_text(a->inlined_further, b->inlined_further);
  assert_int_equal(a->line, b->line);
  assert_int_equal(a->accesses, b->accesses);
  assert_int_equal(a->wavefronts, b->wavefronts);
  assert_int_equal(a->ideal, b->ideal);
  assert_int_equal(a->conflicts, b->conflicts);
  assert_int_equal(a->conflicts_low, b->conflicts_low);
  assert_int_equal(a->conflicts_high, b->conflicts_high);
  for (unsigned i = 0; i < BF_OPERANDS; i++) {
    assert_int_equal(a->operand[i].times, b->operand[i].times);
    assert_int_equal(a->operand[i].bytes, b->operand[i].bytes);
    assert_int_equal(a->operand[i].least_bytes, b->operand[i].least_bytes);
    assert_int_equal(a->operand[i].most_bytes, b->operand[i].most_bytes);
    assert_int_equal(a->operand[i].wavefronts, b->operand[i].wavefronts);
    assert_int_equal(a->operand[i].varies, b->operand[i].varies);
    assert_int_equal(a->operand[i].what.rows, b->operand[i].what.rows);
    assert_int_equal(a->operand[i].what.columns, b->operand[i].what.columns);
    assert_int_equal(a->operand[i].what.swizzle_bytes, b->operand[i].what.swizzle_bytes);
    assert_int_equal(a->operand[i].what.is_turned, b->operand[i].what.is_turned);
    assert_string_equal(a->operand[i].what.type, b->operand[i].what.type);
  }
  assert_int_equal(a->worst, b->worst);
  assert_int_equal(a->waited_cycles, b->waited_cycles);
  assert_int_equal(a->retries_most, b->retries_most);
  assert_int_equal(a->estimated, b->estimated);
  assert_int_equal(a->has_access, b->has_access);
  if (a->has_access)
    same_access(&a->access, &b->access);
}

static void same_costs(const bf_costs *a, const bf_costs *b) {
  assert_int_equal(a->kernels, b->kernels);
  for (size_t i = 0; i < a->kernels; i++) {
    const bf_costs_kernel *x = &a->kernel[i], *y = &b->kernel[i];
    same_text(x->name, y->name);
    same_text(x->hash, y->hash);
    same_text(x->lock_hash, y->lock_hash);
    assert_int_equal(x->launches, y->launches);
    assert_int_equal(x->refused, y->refused);
    assert_int_equal(x->faults, y->faults);
    assert_int_equal(x->warp_instructions, y->warp_instructions);
    assert_int_equal(x->thread_instructions, y->thread_instructions);
    assert_true(x->seconds == y->seconds && x->simulated_seconds == y->simulated_seconds);
    assert_true(x->joules == y->joules && x->conflict_joules == y->conflict_joules);
    assert_int_equal(x->work_cycles, y->work_cycles);
    assert_int_equal(x->cycles, y->cycles);
    assert_int_equal(x->accesses, y->accesses);
    assert_int_equal(x->conflicts, y->conflicts);
    assert_int_equal(x->blocks, y->blocks);
    assert_int_equal(x->counted_blocks, y->counted_blocks);
    assert_int_equal(x->conflicts_low, y->conflicts_low);
    assert_int_equal(x->conflicts_high, y->conflicts_high);
    assert_int_equal(x->lines, y->lines);
    for (size_t j = 0; j < x->lines; j++)
      same_line(&x->line[j], &y->line[j]);
    assert_int_equal(x->is_cut, y->is_cut);
    assert_int_equal(!x->access, !y->access);
    assert_true(!x->access || bf_workload_size(x->access) == bf_workload_size(y->access));
    for (size_t j = 0; x->access && j < bf_workload_size(x->access); j++)
      same_access(bf_workload_get(x->access, j), bf_workload_get(y->access, j));
  }
}

static void records_come_back(void **state) {
  const bed *own = *state;
  bf_costs costs = {0}, read = {0}, twice = {0};
  bf_diagnostic diagnostic;
  add_kernel(&costs, "one", "fixed", 32);
  add_kernel(&costs, "two", NULL, 8);
  assert_int_equal(bf_record_write(own->folder, &costs, &diagnostic), BF_OK);
  assert_int_equal(bf_record_read(own->folder, own->machine, &read, &diagnostic), BF_OK);
  same_costs(&costs, &read);

  /* Another process, and what one that was killed has left. */
  bf_text text = content_of(path_of(own, 0));
  write_bytes(path_of(own, 4194305), text.data, text.size);
  char left[160];
  snprintf(left, sizeof left, "%s.tmp.5", path_of(own, 4194306));
  write_bytes(left, "bankf", 5);
  bf_costs_free(&read);
  assert_int_equal(bf_record_read(own->folder, own->machine, &read, &diagnostic), BF_OK);
  assert_int_equal(bf_costs_add(&twice, &costs, &diagnostic), BF_OK);
  assert_int_equal(bf_costs_add(&twice, &costs, &diagnostic), BF_OK);
  same_costs(&twice, &read);
  assert_int_equal(read.kernel[0].launches, 6);
  assert_int_equal(read.kernel[0].line[0].conflicts, 310);
  bf_text_free(&text);
  bf_costs_free(&costs);
  bf_costs_free(&read);
  bf_costs_free(&twice);
}

/* Of two sites of a line the worse access is kept, and one that does not fit the machine is not. */
static void the_worst_access_is_kept(void **state) {
  const bed *own = *state;
  bf_costs costs = {0}, read = {0};
  bf_diagnostic diagnostic;
  add_kernel(&costs, "one", NULL, 8);
  bf_costs_line more = {.file = NULL, .line = 40, .worst = 2, .has_access = true};
  more.access = access_of(BF_OP_ST, 0);
  bf_costs_line worse = {.file = NULL, .line = 40, .worst = 3, .has_access = true};
  worse.access = access_of(BF_OP_LD, 8);
  assert_int_equal(bf_costs_add_line(&costs, &costs.kernel[0], &worse, &diagnostic), BF_OK);
  assert_int_equal(bf_costs_add_line(&costs, &costs.kernel[0], &more, &diagnostic), BF_OK);
  same_access(&costs.kernel[0].line[1].access, &worse.access);
  worse.worst = 4;
  worse.access.address[0] = 1u << 30;
  assert_int_equal(bf_costs_add_line(&costs, &costs.kernel[0], &worse, &diagnostic), BF_OK);
  assert_int_equal(bf_record_write(own->folder, &costs, &diagnostic), BF_OK);
  assert_int_equal(bf_record_read(own->folder, own->machine, &read, &diagnostic), BF_OK);
  assert_true(read.kernel[0].line[0].has_access);
  assert_false(read.kernel[0].line[1].has_access);
  assert_int_equal(read.kernel[0].line[1].worst, 4);
  bf_costs_free(&costs);
  bf_costs_free(&read);
}

/* Accesses that are too many are forgotten, and stay so. */
static void accesses_are_bounded(void **state) {
  const bed *own = *state;
  bf_costs costs = {0}, read = {0};
  bf_diagnostic diagnostic;
  add_kernel(&costs, "one", NULL, 8);
  bf_costs_kernel *kernel = &costs.kernel[0];
  assert_int_equal(bf_workload_size(kernel->access), 2);
  bf_access access = access_of(BF_OP_ST, 0);
  for (unsigned i = 0; i <= BF_PROFILE_MOST && !kernel->is_cut; i++) {
    access.address[0] = 4 * i;
    assert_int_equal(bf_costs_add_access(kernel, &access, &diagnostic), BF_OK);
  }
  assert_true(kernel->is_cut);
  assert_null(kernel->access);
  assert_int_equal(bf_record_write(own->folder, &costs, &diagnostic), BF_OK);
  assert_int_equal(bf_record_read(own->folder, own->machine, &read, &diagnostic), BF_OK);
  assert_true(read.kernel[0].is_cut);
  assert_int_equal(bf_costs_add_access(&read.kernel[0], &access, &diagnostic), BF_OK);
  assert_null(read.kernel[0].access);
  bf_costs_free(&costs);
  bf_costs_free(&read);
}

/* What a process leaves that does not remove it comes back; damaged files are refused. */
static void live_counts_come_back(void **state) {
  const bed *own = *state;
  static const char sites[] =
      "bankfold live 2\nkernel\tname=k\thash=none\tlock_hash=plain\tsites=1\t"
      "workers=2\trow_bytes=%zu\tsums_bytes=%zu\nsite\tfile=a.cu\tline=7\tinlined_line=0\nend\n";
  struct {
    bf_live_sums sums;
    bf_profile_row row[2];
  } kept = {{.begun = 3, .launches = 2, .warp_instructions = 9}, {{0}, {0}}};
  kept.row[0] = (bf_profile_row){.executions = 4, .wavefronts_load = 8, .conflicts = 3, .worst = 2};
  kept.row[1] = kept.row[0];
  kept.row[1].worst_access = access_of(BF_OP_LD, 4);
  kept.row[1].worst = 5;
  char text[400], sites_path[200], sums_path[200];
  snprintf(sites_path, sizeof sites_path, "%s/live.1.2.sites", own->folder);
  snprintf(sums_path, sizeof sums_path, "%s/live.1.2.sums", own->folder);
  int length = snprintf(text, sizeof text, sites, sizeof(bf_profile_row), sizeof(bf_live_sums));
  write_bytes(sites_path, text, (size_t)length);
  write_bytes(sums_path, (const char *)&kept, sizeof kept);
  bf_costs read = {0};
  bf_diagnostic diagnostic;
  assert_int_equal(bf_live_read(own->folder, own->machine, &read, &diagnostic), BF_OK);
  assert_int_equal(read.kernels, 1);
  assert_int_equal(read.kernel[0].launches, 2);
  assert_int_equal(read.kernel[0].unfinished, 1);
  assert_int_equal(read.kernel[0].conflicts, 6);
  assert_int_equal(read.kernel[0].line[0].worst, 5);
  assert_true(read.kernel[0].line[0].has_access);
  bf_costs_free(&read);
  for (size_t bytes = 0; bytes < sizeof kept; bytes += 40) {
    write_bytes(sums_path, (const char *)&kept, bytes);
    assert_int_equal(bf_live_read(own->folder, own->machine, &read, &diagnostic), BF_BAD_INPUT);
    bf_costs_free(&read);
  }
  write_bytes(sums_path, (const char *)&kept, sizeof kept);
  for (int bytes = 0; bytes < length; bytes++) {
    write_bytes(sites_path, text, (size_t)bytes);
    assert_int_not_equal(bf_live_read(own->folder, own->machine, &read, &diagnostic), BF_OK);
    bf_costs_free(&read);
  }
  unlink(sites_path);
  unlink(sums_path);
}

static void bad_records_are_refused(void **state) {
  static const damage damages[] = {
      {"bankfold record 8", "bankfold record 1", 1, "expected 'bankfold record 8'"},
      {"bankfold record 8", "bankfold record 88", 1, "another version"},
      {"bankfold record 8", "bankfold accesses 1", 1, "another file"},
      {"kernel\t", "kernels\t", 2, "expected a row 'kernel'"},
      {"kernel\tname=one", "kernel", 2, "expected 'name='"},
      {"\tlaunches=3", "", 2, "expected 'launches='"},
      {"launches=3", "launches=3x", 2, "launches is no whole number"},
      {"launches=3", "launches=-3", 2, "launches is no whole number"},
      {"launches=3", "launches=99999999999999999999", 2, "launches is no whole number"},
      {"launches=3", "launches=", 2, "launches is no whole number"},
      {"launches=3", "launches=3\tlaunches=3", 2, "expected 'refused='"},
      {"seconds=0.1", "seconds=nan", 2, "seconds is no number"},
      {"seconds=0.1", "seconds=1e999", 2, "seconds is no number"},
      {"seconds=0.1", "seconds=0,1", 2, "seconds is no number"},
      {"\nline\t", "\nlines\t", 3, "expected a row 'line'"},
      {"\\\\ with", "\\w", 3, "a backslash"},
      {"\\nall.cu", "\\", 3, "a backslash"},
      {"estimated=1", "estimated=2", 3, "estimated is no 0 or 1"},
      {"estimated=1", "estimated=", 3, "estimated is no 0 or 1"},
      {"access=ld", "access=lx", 3, "'lx'"},
      {"operands=B,", "operands=C,", 3, "are no operands"},
      {"operands=B,128", "operands=B,x", 3, "are no operands"},
      {"access=ld 4", "access=", 3, ""},
      {"access=ld", "access=#ld", 3, "expected an access"},
      {" 132", " @here 132", 3, "without a site"},
      {"ffff00ff", "0", 3, ""},
      {"\nline", "\nend\nline", 3, "text behind the end"},
      {"inlined_line=70\t", "inlined_line=70\tmore=1\t", 3, "unexpected text"},
  };
  const bed *own = *state;
  bf_costs costs = {0};
  bf_diagnostic diagnostic;
  add_kernel(&costs, "one", "fixed", 32);
  assert_int_equal(bf_record_write(own->folder, &costs, &diagnostic), BF_OK);
  bf_text good = content_of(path_of(own, 0));
  refused_damages(own, read_record, &good, damages, sizeof damages / sizeof *damages);
  refused_everything(own, read_record, &good);
  static const char orphan[] = "bankfold record 8\nline\tline=1\nend\n";
  refused(own, read_record, orphan, strlen(orphan), 2, "expected a row 'kernel'");
  bf_text_free(&good);
  bf_costs_free(&costs);
}

/* ---- Accesses of kernels ---- */

static bf_workload *workload_of(bf_op op, const char *array, unsigned count) {
  bf_workload *workload;
  assert_int_equal(bf_workload_create(&workload), BF_OK);
  for (unsigned i = 0; i < count; i++) {
    bf_access access = access_of(op, 4 * i);
    access.site = i % 2 ? array : NULL;
    access.count = i + 1;
    assert_int_equal(bf_workload_add(workload, &access), BF_OK);
  }
  return workload;
}

static void same_workload(const bf_workload *a, const bf_workload *b) {
  assert_int_equal(bf_workload_size(a), bf_workload_size(b));
  for (size_t i = 0; i < bf_workload_size(a); i++) {
    same_access(bf_workload_get(a, i), bf_workload_get(b, i));
    same_text(bf_workload_get(a, i)->site, bf_workload_get(b, i)->site);
  }
}

static void same_accesses(const bf_accesses *a, const bf_accesses *b) {
  assert_int_equal(a->modules, b->modules);
  for (size_t i = 0; i < a->modules; i++) {
    const bf_accesses_module *x = &a->module[i], *y = &b->module[i];
    assert_string_equal(x->ptx, y->ptx);
    assert_int_equal(x->kernels, y->kernels);
    for (size_t j = 0; j < x->kernels; j++) {
      assert_string_equal(x->kernel[j].name, y->kernel[j].name);
      assert_int_equal(x->kernel[j].launches, y->kernel[j].launches);
      assert_int_equal(x->kernel[j].is_cut, y->kernel[j].is_cut);
      same_workload(x->kernel[j].written, y->kernel[j].written);
      same_workload(x->kernel[j].merged, y->kernel[j].merged);
    }
  }
}

static const char long_ptx[] = ".version 9.0\n.target sm_90\n\t// \\ and \"text\"\r\n";

/* Two modules with three kernels; the name of an array may be longer than traces allow. */
static void make_accesses(bf_accesses *accesses) {
  char array[6000];
  memset(array, 'a', sizeof array);
  array[sizeof array - 1] = 0;
  const struct {
    const char *ptx, *names[2];
  } modules[] = {{long_ptx, {"one", "two"}}, {".version 8.0\n", {"one", NULL}}};
  for (size_t i = 0; i < 2; i++) {
    bf_accesses_module *module = bf_accesses_add_module(accesses, modules[i].ptx);
    assert_non_null(module);
    for (size_t j = 0; j < 2 && modules[i].names[j]; j++) {
      bf_accesses_kernel *kernel = bf_accesses_add_kernel(accesses, module, modules[i].names[j]);
      assert_non_null(kernel);
      kernel->launches = 10 * i + j + 1;
      kernel->is_cut = j == 1;
      kernel->written = workload_of(BF_OP_LD, j ? array : "tile", 5);
      kernel->merged = workload_of(BF_OP_ST, "tile", 3);
    }
  }
}

static void accesses_come_back(void **state) {
  const bed *own = *state;
  bf_accesses accesses = {0}, read = {0};
  bf_diagnostic diagnostic;
  make_accesses(&accesses);
  assert_int_equal(bf_accesses_write(own->folder, &accesses, &diagnostic), BF_OK);
  assert_int_equal(bf_accesses_read(own->folder, own->machine, &read, &diagnostic), BF_OK);
  same_accesses(&accesses, &read);
  bf_accesses_free(&read);

  /* A second process with the same modules: all counts are twice what they were. */
  bf_text text = content_of(path_of(own, 0));
  write_bytes(path_of(own, 4194305), text.data, text.size);
  assert_int_equal(bf_accesses_read(own->folder, own->machine, &read, &diagnostic), BF_OK);
  assert_int_equal(read.modules, 2);
  assert_int_equal(read.module[0].kernels, 2);
  assert_int_equal(read.module[0].kernel[1].launches, 4);
  assert_int_equal(bf_workload_size(read.module[0].kernel[1].written), 5);
  assert_int_equal(bf_workload_get(read.module[0].kernel[1].written, 2)->count, 6);
  bf_text_free(&text);
  bf_accesses_free(&read);
  bf_accesses_free(&accesses);
}

/* Accesses that do not fit the machine are left out, which is noted. */
static void accesses_fit_the_machine(void **state) {
  static const char text[] =
      "bankfold accesses 1\nmodule\tptx=x\nkernel\tname=k\tlaunches=1\tis_cut=0\n"
      "merged\taccess=ld 4 1 1073741824\nmerged\taccess=ld 4 1 4\nend\n";
  const bed *own = *state;
  bf_accesses read = {0};
  bf_diagnostic diagnostic;
  write_bytes(path_of(own, 3), text, strlen(text));
  assert_int_equal(bf_accesses_read(own->folder, own->machine, &read, &diagnostic), BF_OK);
  assert_true(read.module[0].kernel[0].is_cut);
  assert_int_equal(bf_workload_size(read.module[0].kernel[0].merged), 1);
  bf_accesses_free(&read);
}

static void bad_accesses_are_refused(void **state) {
  static const damage damages[] = {
      {"bankfold accesses 1", "bankfold accesses 0", 1, "expected 'bankfold accesses 1'"},
      {"module\tptx=", "module\t", 2, "expected 'ptx='"},
      {"module\tptx=", "kernel\tname=", 2, "expected a row 'module'"},
      {"\nkernel\t", "\nwritten\t", 3, "expected a row 'kernel'"},
      {"is_cut=0", "is_cut=no", 3, "is_cut is no 0 or 1"},
      {"\nwritten\t", "\nother\t", 4, "expected a row 'written'"},
      {"access=ld", "access=", 4, ""},
      {"\\n.target", "\\x.target", 2, "a backslash"},
      {" x2", " x2 @tile", 5, "without a site"},
      {" x2", " x0", 5, ""},
  };
  const bed *own = *state;
  bf_accesses accesses = {0};
  bf_diagnostic diagnostic;
  bf_accesses_module *module = bf_accesses_add_module(&accesses, long_ptx);
  assert_non_null(module);
  bf_accesses_kernel *kernel = bf_accesses_add_kernel(&accesses, module, "one");
  assert_non_null(kernel);
  kernel->written = workload_of(BF_OP_LD, "tile", 2);
  kernel->merged = workload_of(BF_OP_ST, "tile", 1);
  assert_int_equal(bf_accesses_write(own->folder, &accesses, &diagnostic), BF_OK);
  bf_text good = content_of(path_of(own, 0));
  refused_damages(own, read_accesses, &good, damages, sizeof damages / sizeof *damages);
  refused_everything(own, read_accesses, &good);
  bf_text_free(&good);
  bf_accesses_free(&accesses);
}

/* ---- Times of launches ---- */

static const bf_times_row launched[] = {
    {"one", "fixed", NULL, 6, 120, 3, 600, 190, 180},
    {"one", "fixed", NULL, 7, 120, 1, UINT64_MAX, UINT64_MAX, 0},
    {"two", NULL, "line 7:\ta \\ in it\n", 1, 32, 2, 2, 1, 1},
    {"three", NULL, NULL, 1, 32, 1, 5, 5, 5},
};
enum { LAUNCHED = sizeof launched / sizeof *launched };

static void write_times(const char *path, const bf_times_row *rows, size_t count) {
  bf_text text = {0};
  bf_times_begin(&text);
  for (size_t i = 0; i < count; i++)
    bf_times_write(&rows[i], &text);
  bf_times_end(&text);
  assert_false(text.failed);
  write_bytes(path, text.data, text.size);
  bf_text_free(&text);
}

static void same_times(const bf_times_row *a, const bf_times_row *b) {
  same_text(a->kernel, b->kernel);
  same_text(a->hash, b->hash);
  same_text(a->reason, b->reason);
  assert_int_equal(a->blocks, b->blocks);
  assert_int_equal(a->threads, b->threads);
  assert_int_equal(a->launches, b->launches);
  assert_int_equal(a->total_ns, b->total_ns);
  assert_int_equal(a->median_ns, b->median_ns);
  assert_int_equal(a->least_ns, b->least_ns);
}

static void times_come_back(void **state) {
  const bed *own = *state;
  bf_times times = {0};
  bf_diagnostic diagnostic;
  write_times(path_of(own, 5), launched, LAUNCHED);
  assert_int_equal(bf_times_read(own->folder, &times, &diagnostic), BF_OK);
  assert_int_equal(times.rows, LAUNCHED);
  for (size_t i = 0; i < LAUNCHED; i++) {
    same_times(&launched[i], &times.row[i]);
    assert_ptr_equal(bf_times_find(&times, launched[i].kernel, &launched[i]), &times.row[i]);
  }
  assert_null(bf_times_find(&times, "one", &launched[2]));
  assert_null(bf_times_reason(&times, "one"));
  assert_string_equal(bf_times_reason(&times, "two"), launched[2].reason);
  assert_null(bf_times_reason(&times, "three"));
  assert_null(bf_times_reason(&times, "four"));
  bf_times_free(&times);
}

/* Rows of several processes, and of modules with kernels of the same name. */
static void times_are_joined(void **state) {
  static const bf_times_row others[] = {
      {"one", NULL, "why", 6, 120, 1, 1000, 1000, 100}, /* not rewritten there */
      {"two", NULL, "another", 1, 32, 2, 4, 2, 2},
      {"three", NULL, "at last", 1, 32, 1, 5, 5, 5},
  };
  const bed *own = *state;
  bf_times times = {0};
  bf_diagnostic diagnostic;
  write_times(path_of(own, 5), launched, LAUNCHED);
  write_times(path_of(own, 10), others, 3);
  assert_int_equal(bf_times_read(own->folder, &times, &diagnostic), BF_OK);
  assert_int_equal(times.rows, LAUNCHED);
  same_times(&times.row[0], &(bf_times_row){"one", "fixed", NULL, 6, 120, 4, 1600, 393, 100});
  same_times(&times.row[2], &(bf_times_row){"two", NULL, launched[2].reason, 1, 32, 4, 6, 2, 1});
  assert_null(bf_times_reason(&times, "one"));
  assert_string_equal(bf_times_reason(&times, "three"), "at last");
  bf_times_free(&times);
}

static void bad_times_are_refused(void **state) {
  static const damage damages[] = {
      {"bankfold times 1", "bankfold times 2", 1, "expected 'bankfold times 1'"},
      {"bankfold times 1", "# kernel, hash, blocks", 1, "expected 'bankfold times 1'"},
      {"launches\tkernel=one", "one", 2, "expected a row 'launches'"},
      {"\thash=fixed", "\thash", 2, "expected 'blocks='"},
      {"threads=120", "threads=many", 2, "threads is no whole number"},
      {"launches=3", "launches=0", 2, "a row without launches"},
      {"least_ns=180", "least_ns=180\t", 2, "unexpected text"},
      {"in it\\n", "in it\\0", 4, "a backslash"},
  };
  const bed *own = *state;
  write_times(path_of(own, 0), launched, LAUNCHED);
  bf_text good = content_of(path_of(own, 0));
  refused_damages(own, read_times, &good, damages, sizeof damages / sizeof *damages);
  refused_everything(own, read_times, &good);
  bf_text_free(&good);
}

/* ---- What was learnt ---- */

static int read_learnt(const bed *own, const char *path, bf_diagnostic *diagnostic) {
  bf_learnt learnt = {0};
  (void)own;
  int error = bf_learnt_read(path, &learnt, diagnostic);
  bf_learnt_free(&learnt);
  return error;
}

static const bf_learnt_row lessons[] = {
    {"0a", "one", "stub\t0", 32, 4, 1, 8, 12, "hashed", "10,11", "7,8"},
    {"0a", "one", "stub\t0", 32, 4, 1, 8, 13, "unknown", "", ""},
    {"0b", "one", "stub\t0", 32, 4, 1, 8, 12, "own", "1", "2"},
};
enum { LESSONS = sizeof lessons / sizeof *lessons };

/* Rows come back; what is known stays known, and later times take the place of earlier ones. */
static void lessons_come_back(void **state) {
  const bed *own = *state;
  bf_learnt learnt = {0}, read = {0};
  bf_text text = {0};
  bf_diagnostic diagnostic;
  for (unsigned i = 0; i < LESSONS; i++)
    assert_int_equal(bf_learnt_add(&learnt, &lessons[i], &diagnostic), BF_OK);
  bf_learnt_row again = lessons[0];
  again.faster = "unknown";
  assert_int_equal(bf_learnt_add(&learnt, &again, &diagnostic), BF_OK);
  again = lessons[1];
  again.own_ns = "5";
  assert_int_equal(bf_learnt_add(&learnt, &again, &diagnostic), BF_OK);
  bf_learnt_write(&learnt, &text);
  write_bytes(path_of(own, 3), text.data, text.size);
  assert_int_equal(bf_learnt_read(path_of(own, 3), &read, &diagnostic), BF_OK);
  assert_int_equal(read.rows, LESSONS);
  assert_string_equal(bf_learnt_find(&read, &lessons[0])->faster, "hashed");
  assert_string_equal(bf_learnt_find(&read, &lessons[0])->hashed_ns, "7,8");
  assert_string_equal(bf_learnt_find(&read, &lessons[0])->gpu, "stub\t0");
  assert_string_equal(bf_learnt_find(&read, &lessons[1])->own_ns, "5");
  assert_string_equal(bf_learnt_find(&read, &lessons[2])->faster, "own");
  again.block_y = 5;
  assert_null(bf_learnt_find(&read, &again));
  bf_text_free(&text);
  bf_learnt_free(&learnt);
  bf_learnt_free(&read);
}

static void bad_lessons_are_refused(void **state) {
  static const damage damages[] = {
      {"bankfold learnt 1", "bankfold learnt 2", 1, "expected 'bankfold learnt 1'"},
      {"faster=own", "faster=both", 4, "'both' is no version"},
      {"grid_bits=12", "grid_bits=-", 2, "grid_bits is no whole number"},
      {"\tkernel=one", "", 2, "expected 'kernel='"},
  };
  const bed *own = *state;
  bf_learnt learnt = {0};
  bf_text good = {0};
  for (unsigned i = 0; i < LESSONS; i++)
    assert_int_equal(bf_learnt_add(&learnt, &lessons[i], NULL), BF_OK);
  bf_learnt_write(&learnt, &good);
  refused_damages(own, read_learnt, &good, damages, sizeof damages / sizeof *damages);
  refused_everything(own, read_learnt, &good);
  bf_text_free(&good);
  bf_learnt_free(&learnt);
}

/* ---- Settings ---- */

static void remove_variables(void) {
  for (int i = 0; i < BF_VARIABLE_COUNT; i++)
    assert_true(bf_variable_put((bf_variable)i, NULL));
}

/* Variables that users set have the names that are documented. */
static void variables_are_named(void **state) {
  (void)state;
  bf_text page = content_of("docs/exchange.md");
  for (int i = 0; i < BF_VARIABLE_COUNT; i++) {
    const char *name = bf_variable_name((bf_variable)i);
    char row[80];
    snprintf(row, sizeof row, "| `%s` |", name);
    if (strncmp(name, "BANKFOLD_", 9) != 0 || !strstr(page.data, row))
      fail_msg("docs/exchange.md has no row of %s", name);
    for (int j = 0; j < i; j++)
      assert_string_not_equal(name, bf_variable_name((bf_variable)j));
  }
  assert_string_equal(bf_variable_name(BF_VARIABLE_HASH), "BANKFOLD_HASH");
  assert_string_equal(bf_variable_name(BF_VARIABLE_PTXAS), "BANKFOLD_PTXAS");
  bf_text_free(&page);
}

static void same_run_settings(const bf_run_settings *a, const bf_run_settings *b) {
  same_text(a->machine, b->machine);
  same_text(a->gpu, b->gpu);
  same_text(a->hash, b->hash);
  same_text(a->hash_file, b->hash_file);
  same_text(a->lock_hash, b->lock_hash);
  same_text(a->rewrite, b->rewrite);
  same_text(a->record, b->record);
  same_text(a->accesses, b->accesses);
  same_text(a->trace, b->trace);
  assert_memory_equal(&a->overrides, &b->overrides, sizeof a->overrides);
  assert_int_equal(a->set.count, b->set.count);
  for (size_t i = 0; i < a->set.count; i++)
    assert_string_equal(a->set.item[i], b->set.item[i]);
  assert_int_equal(a->most_cycles, b->most_cycles);
  assert_int_equal(a->workers, b->workers);
  assert_int_equal(a->check.uninitialised, b->check.uninitialised);
  assert_int_equal(a->check.races, b->check.races);
  assert_int_equal(a->as_written, b->as_written);
  assert_int_equal(a->keep_going, b->keep_going);
  assert_int_equal(a->quiet, b->quiet);
}

static void run_settings_come_back(void **state) {
  static const char *const set[] = {"sms=8", "machine=/a,b\\c.machine", "scheduler=gto"};
  static const bf_run_settings empty = {.overrides = {.struct_bytes = sizeof(bf_overrides)}},
                               all = {.quiet = true,
                                      .machine = "/a/b.machine",
                                      .overrides = {sizeof(bf_overrides), 16, 0, 32, 4000000000},
                                      .gpu = "h200",
                                      .set = {set, 3},
                                      .hash = "cute:3,4,3",
                                      .hash_file = "/a file",
                                      .lock_hash = "xor",
                                      .most_cycles = UINT64_MAX,
                                      .workers = 1024,
                                      .check = {true, true},
                                      .as_written = true,
                                      .keep_going = true,
                                      .rewrite = "/r",
                                      .record = "/folder",
                                      .accesses = "/more",
                                      .trace = "/t"};
  bf_run_settings got;
  bf_diagnostic diagnostic;
  (void)state;
  remove_variables();
  assert_int_equal(bf_run_settings_put(&all, &diagnostic), BF_OK);
  assert_int_equal(bf_run_settings_get(&got, &diagnostic), BF_OK);
  same_run_settings(&all, &got);
  bf_run_settings_free(&got);

  /* What is not set is removed, and empty variables are none. */
  assert_int_equal(bf_run_settings_put(&empty, &diagnostic), BF_OK);
  assert_null(getenv("BANKFOLD_GPU"));
  setenv("BANKFOLD_GPU", "", 1);
  assert_int_equal(bf_run_settings_get(&got, &diagnostic), BF_OK);
  same_run_settings(&empty, &got);
  bf_run_settings_free(&got);
}

/* Paths are absolute, names stay names; and standard error is no file. */
static void paths_become_absolute(void **state) {
  const bf_run_settings run = {
      .machine = "hopper", .gpu = "my.gpu", .hash_file = "h", .trace = "-x"};
  const bf_rewriting_settings logs[] = {{.log = "stderr"}, {.log = "log"}};
  bf_run_settings got;
  bf_rewriting_settings rewriting;
  bf_diagnostic diagnostic;
  char folder[4096], wanted[4200];
  (void)state;
  assert_non_null(getcwd(folder, sizeof folder));
  assert_int_equal(bf_run_settings_put(&run, &diagnostic), BF_OK);
  assert_int_equal(bf_run_settings_get(&got, &diagnostic), BF_OK);
  assert_string_equal(got.machine, "hopper");
  snprintf(wanted, sizeof wanted, "%s/my.gpu", folder);
  assert_string_equal(got.gpu, wanted);
  snprintf(wanted, sizeof wanted, "%s/h", folder);
  assert_string_equal(got.hash_file, wanted);
  snprintf(wanted, sizeof wanted, "%s/-x", folder);
  assert_string_equal(got.trace, wanted);
  bf_run_settings_free(&got);
  for (size_t i = 0; i < 2; i++) {
    snprintf(wanted, sizeof wanted, "%s%s%s", i ? folder : "", i ? "/" : "", logs[i].log);
    assert_int_equal(bf_rewriting_settings_put(&logs[i], &diagnostic), BF_OK);
    assert_int_equal(bf_rewriting_settings_get(&rewriting, &diagnostic), BF_OK);
    assert_string_equal(rewriting.log, wanted);
    bf_rewriting_settings_free(&rewriting);
  }
  remove_variables();
}

static void bad_variables_are_refused(void **state) {
  static const struct {
    const char *name, *value, *says;
  } bad[] = {
      {"BANKFOLD_WORKERS", "1025", "BANKFOLD_WORKERS is at most 1024, not 1025"},
      {"BANKFOLD_WORKERS", "2x", "BANKFOLD_WORKERS: '2x' is no whole number"},
      {"BANKFOLD_MAX_CYCLES", "-1", "BANKFOLD_MAX_CYCLES: '-1' is no whole number"},
      {"BANKFOLD_OVERRIDES", "1,2,3,4,", "is no list of up to four numbers"},
      {"BANKFOLD_OVERRIDES", "1,2;", "is no list of up to four numbers"},
      {"BANKFOLD_OVERRIDES", "4294967296", "is no list of up to four numbers"},
      {"BANKFOLD_CHECK", "races,race", "BANKFOLD_CHECK: 'race' is no check"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    bf_run_settings got;
    bf_diagnostic diagnostic = {0};
    remove_variables();
    setenv(bad[i].name, bad[i].value, 1);
    assert_int_equal(bf_run_settings_get(&got, &diagnostic), BF_BAD_INPUT);
    if (!strstr(diagnostic.message, bad[i].says))
      fail_msg("%s=%s: %s", bad[i].name, bad[i].value, diagnostic.message);
    bf_run_settings_free(&got);
  }
  remove_variables();
}

static void set_by_hand(const char *name, const char *value, bf_run_settings *got) {
  remove_variables();
  setenv(name, value, 1);
  assert_int_equal(bf_run_settings_get(got, NULL), BF_OK);
}

/* What users write by hand means what it says. */
static void users_set_variables(void **state) {
  bf_run_settings got;
  (void)state;
  set_by_hand("BANKFOLD_SET", ",sms=1,,nosuch=2,", &got);
  assert_int_equal(got.set.count, 2);
  assert_string_equal(got.set.item[1], "nosuch=2");
  bf_run_settings_free(&got);
  set_by_hand("BANKFOLD_SET", "a=1\\", &got); /* a backslash at the end stands for itself */
  assert_string_equal(got.set.item[0], "a=1\\");
  bf_run_settings_free(&got);
  set_by_hand("BANKFOLD_OVERRIDES", "16", &got);
  assert_int_equal(got.overrides.banks, 16);
  bf_run_settings_free(&got);
  set_by_hand("BANKFOLD_CHECK", "races", &got);
  assert_true(got.check.races && !got.check.uninitialised);
  bf_run_settings_free(&got);
  set_by_hand("BANKFOLD_QUIET", "0", &got);
  assert_false(got.quiet);
  bf_run_settings_free(&got);
  set_by_hand("BANKFOLD_QUIET", "yes", &got);
  assert_true(got.quiet);
  bf_run_settings_free(&got);
  remove_variables();
}

static void same_rewriting(const bf_rewriting_settings *wanted) {
  bf_rewriting_settings got;
  assert_int_equal(bf_rewriting_settings_get(&got, NULL), BF_OK);
  same_text(wanted->hash, got.hash);
  same_text(wanted->hashes, got.hashes);
  same_text(wanted->log, got.log);
  same_text(wanted->cache, got.cache);
  same_text(wanted->times, got.times);
  assert_int_equal(wanted->dynamic_rounded, got.dynamic_rounded);
  assert_int_equal(wanted->old_runtime, got.old_runtime);
  assert_int_equal(wanted->learn, got.learn);
  bf_rewriting_settings_free(&got);
}

/* What is not set stays as it was; a hash and a file of hashes replace each other. */
static void rewriting_settings_come_back(void **state) {
  bf_rewriting_settings all = {.hash = "fixed",
                               .hashes = "/some hashes",
                               .dynamic_rounded = true,
                               .log = "stderr",
                               .cache = "/cache",
                               .times = "/times/%p",
                               .old_runtime = true,
                               .learn = true};
  bf_diagnostic diagnostic;
  (void)state;
  remove_variables();
  assert_int_equal(bf_rewriting_settings_put(&all, &diagnostic), BF_OK);
  same_rewriting(&all);
  assert_int_equal(bf_rewriting_settings_put(&(bf_rewriting_settings){0}, &diagnostic), BF_OK);
  same_rewriting(&all);
  all.hashes = NULL;
  all.hash = "none";
  assert_int_equal(bf_rewriting_settings_put(&(bf_rewriting_settings){.hash = "none"}, &diagnostic),
                   BF_OK);
  same_rewriting(&all);
  all.hashes = "/others";
  all.hash = NULL;
  assert_int_equal(
      bf_rewriting_settings_put(&(bf_rewriting_settings){.hashes = "/others"}, &diagnostic), BF_OK);
  same_rewriting(&all);
  remove_variables();
}

/* ---- Folders ---- */

static void folders_must_be_there(void **state) {
  const bed *own = *state;
  bf_costs costs = {0};
  bf_accesses accesses = {0};
  bf_diagnostic diagnostic;
  assert_int_equal(bf_record_read("/nowhere", own->machine, &costs, &diagnostic), BF_IO);
  assert_string_equal(diagnostic.file, "/nowhere");
  assert_int_equal(bf_accesses_read("/nowhere", own->machine, &accesses, &diagnostic), BF_IO);
  bf_times times = {0};
  assert_int_equal(bf_times_read("/nowhere", &times, &diagnostic), BF_IO);
  assert_int_equal(bf_record_write("/nowhere", &costs, &diagnostic), BF_IO);
  assert_int_equal(bf_accesses_write("/nowhere", &accesses, &diagnostic), BF_IO);
  assert_int_equal(bf_record_read(own->folder, own->machine, &costs, &diagnostic), BF_OK);
  assert_int_equal(costs.kernels, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(records_come_back),
      TEST(the_worst_access_is_kept),
      TEST(accesses_are_bounded),
      TEST(live_counts_come_back),
      TEST(bad_records_are_refused),
      TEST(accesses_come_back),
      TEST(accesses_fit_the_machine),
      TEST(bad_accesses_are_refused),
      TEST(times_come_back),
      TEST(times_are_joined),
      TEST(bad_times_are_refused),
      TEST(lessons_come_back),
      TEST(bad_lessons_are_refused),
      TEST(folders_must_be_there),
      cmocka_unit_test(variables_are_named),
      cmocka_unit_test(run_settings_come_back),
      cmocka_unit_test(paths_become_absolute),
      cmocka_unit_test(bad_variables_are_refused),
      cmocka_unit_test(users_set_variables),
      cmocka_unit_test(rewriting_settings_come_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
