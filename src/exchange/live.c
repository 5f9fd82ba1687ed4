/* Counts in files. */
#include "exchange/live.h"

#include "base/rows.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Bytes of a file of sums at most. */
enum { MOST_BYTES = 16 << 20 };

static const char sites_end[] = ".sites", sums_end[] = ".sums";

/* ---- Rows ---- */

static const bf_rows_form form = {"live", 2};

/* A kernel, and the form of its sums: rows stand worker by worker, behind bf_live_sums. */
typedef struct kernel_row {
  const char *name, *hash, *lock_hash;
  uint64_t sites, workers, row_bytes, sums_bytes;
} kernel_row;

static const bf_field kernel_fields[] = {
    BF_FIELD(kernel_row, name),      BF_FIELD(kernel_row, hash),    BF_FIELD(kernel_row, lock_hash),
    BF_FIELD(kernel_row, sites),     BF_FIELD(kernel_row, workers), BF_FIELD(kernel_row, row_bytes),
    BF_FIELD(kernel_row, sums_bytes)};
static const bf_row row_of_kernel = BF_ROW("kernel", kernel_fields);

static const bf_field site_fields[] = {
    BF_FIELD_OR_NULL(bf_costs_line, file), BF_FIELD(bf_costs_line, line),
    BF_FIELD_OR_NULL(bf_costs_line, inlined_file), BF_FIELD(bf_costs_line, inlined_line),
    BF_FIELD_OR_NULL(bf_costs_line, inlined_further)};
static const bf_row row_of_site = BF_ROW("site", site_fields);

/* ---- Writing ---- */

struct bf_live {
  char *stem;
  bf_live_sums *sums;
};

static int write_sites(const char *path, const bf_emu_kernel *kernel, const kernel_row *head,
                       bf_diagnostic *diagnostic) {
  bf_text text = {0};
  bf_rows_begin(&form, &text);
  bf_row_write(&row_of_kernel, head, &text);
  for (unsigned i = 0; i < bf_emu_kernel_sites(kernel); i++) {
    bf_emu_site site = bf_emu_kernel_site(kernel, i);
    bf_costs_line line = bf_costs_line_of(&site);
    bf_row_write(&row_of_site, &line, &text);
  }
  bf_rows_end(&text);
  int error = text.failed ? bf_no_memory(diagnostic)
                          : bf_write_file(path, text.data, text.size, diagnostic);
  bf_text_free(&text);
  return error;
}

/* Maps a new file of that many bytes, all of which the disk has room for. */
static int map_new(const char *path, size_t bytes, void **memory, bf_diagnostic *diagnostic) {
  int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  void *mapped = MAP_FAILED;
  if (file >= 0 && posix_fallocate(file, 0, (off_t)bytes) == 0)
    mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0)
    close(file);
  if (mapped == MAP_FAILED) {
    unlink(path);
    return bf_fail_file(diagnostic, BF_IO, path, "cannot map: %s", strerror(errno));
  }
  *memory = mapped;
  return BF_OK;
}

/* "FOLDER/live.PROCESS.TIME": an image that another replaces in the same process has another. */
static char *name_stem(const char *folder) {
  struct timespec now;
  bf_text stem = {0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  bf_text_addf(&stem, "%s/live.%ld.%lld%09ld", folder, (long)getpid(), (long long)now.tv_sec,
               now.tv_nsec);
  return stem.failed ? NULL : stem.data;
}

int bf_live_create(const char *folder, const bf_emu_kernel *kernel, const char *hash,
                   const char *lock_hash, bf_profile *profile, bf_live **live,
                   bf_diagnostic *diagnostic) {
  bf_profile_memory rows = bf_profile_memory_of(profile);
  size_t bytes = sizeof(bf_live_sums) + rows.bytes;
  kernel_row head = {
      bf_emu_kernel_name(kernel), hash, lock_hash, rows.sites, rows.workers, sizeof(bf_profile_row),
      sizeof(bf_live_sums)};
  if (bytes > MOST_BYTES)
    return bf_fail(diagnostic, BF_UNSUPPORTED, "%zu bytes of counts are too many", bytes);
  bf_live *made = calloc(1, sizeof *made);
  bf_text sites = {0}, sums = {0};
  if (made && (made->stem = name_stem(folder))) {
    bf_text_addf(&sites, "%s%s", made->stem, sites_end);
    bf_text_addf(&sums, "%s%s", made->stem, sums_end);
  }
  void *memory = NULL;
  int error = made && made->stem && !sites.failed && !sums.failed
                  ? map_new(sums.data, bytes, &memory, diagnostic)
                  : bf_no_memory(diagnostic);
  if (!error)
    error = write_sites(sites.data, kernel, &head, diagnostic);
  if (!error) {
    made->sums = memory;
    bf_profile_move(profile, (bf_profile_row *)(made->sums + 1));
    *live = made;
  } else {
    if (memory)
      munmap(memory, bytes);
    unlink(sums.data ? sums.data : "");
    free(made ? made->stem : NULL);
    free(made);
  }
  bf_text_free(&sites);
  bf_text_free(&sums);
  return error;
}

bf_live_sums *bf_live_get(bf_live *live) { return live->sums; }

void bf_live_remove(bf_live *live) {
  bf_text path = {0};
  bf_text_addf(&path, "%s%s", live->stem, sites_end);
  if (!path.failed)
    unlink(path.data);
  bf_text_free(&path);
  bf_text_addf(&path, "%s%s", live->stem, sums_end);
  if (!path.failed)
    unlink(path.data);
  bf_text_free(&path);
}

/* ---- Reading ---- */

/* The files of a kernel while they are read. */
typedef struct reading {
  bf_costs *costs;
  bf_trace_limits limits;
  const char *sums_path;
  size_t bytes;
  const bf_live_sums *sums; /* mapped, or NULL */
  const bf_profile_row *row;
  kernel_row head;
  bf_costs_kernel *kernel;
  uint64_t sites; /* read so far */
} reading;

/* Maps the sums of the kernel, which must have the size that its sites say. */
static int map_sums(reading *r, bf_rows *rows, bf_diagnostic *diagnostic) {
  struct stat status;
  int file = open(r->sums_path, O_RDONLY | O_CLOEXEC);
  const kernel_row *head = &r->head;
  bool fits =
      file >= 0 && fstat(file, &status) == 0 && head->row_bytes == sizeof *r->row &&
      head->sums_bytes == sizeof *r->sums && head->sites <= MOST_BYTES &&
      head->workers <= MOST_BYTES &&
      (uint64_t)status.st_size == sizeof *r->sums + head->sites * head->workers * sizeof *r->row;
  void *mapped = MAP_FAILED;
  if (fits)
    mapped = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  if (file >= 0)
    close(file);
  if (mapped == MAP_FAILED)
    return bf_rows_fail(rows, diagnostic, "%s is not what this says", r->sums_path);
  r->bytes = (size_t)status.st_size;
  r->sums = mapped;
  r->row = (const bf_profile_row *)(r->sums + 1);
  return BF_OK;
}

static int read_kernel(reading *r, bf_rows *rows, bf_diagnostic *diagnostic) {
  BF_TRY(bf_rows_get(rows, &row_of_kernel, &r->head, diagnostic));
  BF_TRY(map_sums(r, rows, diagnostic));
  const bf_live_sums *sums = r->sums;
  r->kernel = bf_costs_find(r->costs, r->head.name, r->head.hash, r->head.lock_hash);
  if (!r->kernel)
    return bf_no_memory(diagnostic);
  uint64_t unfinished = sums->begun > sums->launches ? sums->begun - sums->launches : 0;
  bf_costs_add_sums(r->kernel, &(bf_costs_kernel){.launches = sums->launches,
                                                  .unfinished = unfinished,
                                                  .warp_instructions = sums->warp_instructions,
                                                  .thread_instructions = sums->thread_instructions,
                                                  .faults = sums->faults,
                                                  .seconds = sums->seconds,
                                                  .cycles = sums->cycles,
                                                  .simulated_seconds = sums->simulated_seconds,
                                                  .joules = sums->joules,
                                                  .conflict_joules = sums->conflict_joules,
                                                  .work_cycles = sums->work_cycles,
                                                  .blocks = sums->blocks,
                                                  .counted_blocks = sums->counted_blocks});
  return BF_OK;
}

static int read_site(reading *r, bf_rows *rows, bf_diagnostic *diagnostic) {
  bf_costs_line place = {0};
  int fault;
  BF_TRY(bf_rows_get(rows, &row_of_site, &place, diagnostic));
  if (r->sites == r->head.sites)
    return bf_rows_fail(rows, diagnostic, "there are more sites than the kernel has");
  bf_profile_row row =
      bf_profile_sum(r->row + r->sites++, (unsigned)r->head.sites, (unsigned)r->head.workers);
  bf_costs_line line =
      bf_costs_line_of_row(&(bf_emu_site){0}, &row, (unsigned)__builtin_popcount(row.rivals));
  line.file = place.file;
  line.line = place.line;
  line.inlined_file = place.inlined_file;
  line.inlined_line = place.inlined_line;
  line.inlined_further = place.inlined_further;
  line.access.site = NULL;
  line.access.count = 1;
  line.has_access &= bf_access_check(&line.access, &r->limits, &fault, NULL) == BF_OK;
  return bf_costs_line_is_used(&line) ? bf_costs_add_line(r->costs, r->kernel, &line, diagnostic)
                                      : BF_OK;
}

static int take(void *context, bf_rows *rows, bf_diagnostic *diagnostic) {
  reading *r = context;
  return bf_rows_is_first(rows) ? read_kernel(r, rows, diagnostic) : read_site(r, rows, diagnostic);
}

/* Adds what the file called name, and that of its sums, say. */
static int read_file(const char *folder, const char *name, const bf_machine *machine,
                     bf_costs *costs, bf_diagnostic *diagnostic) {
  bf_text sites = {0}, sums = {0};
  bf_text_addf(&sites, "%s/%s", folder, name);
  bf_text_addf(&sums, "%s/%.*s%s", folder, (int)(strlen(name) - strlen(sites_end)), name, sums_end);
  reading r = {.costs = costs, .limits = bf_machine_limits(machine), .sums_path = sums.data};
  int error = sites.failed || sums.failed ? bf_no_memory(diagnostic)
                                          : bf_rows_read(sites.data, &form, take, &r, diagnostic);
  if (r.sums)
    munmap((void *)(uintptr_t)r.sums, r.bytes);
  bf_text_free(&sites);
  bf_text_free(&sums);
  return error;
}

static int is_live(const struct dirent *entry) {
  size_t length = strlen(entry->d_name), end = strlen(sites_end);
  return strncmp(entry->d_name, "live.", 5) == 0 && length > end &&
         strcmp(entry->d_name + length - end, sites_end) == 0;
}

int bf_live_read(const char *folder, const bf_machine *machine, bf_costs *costs,
                 bf_diagnostic *diagnostic) {
  struct dirent **entry = NULL;
  int count = scandir(folder, &entry, is_live, alphasort), error = BF_OK;
  if (count < 0)
    return bf_fail_file(diagnostic, BF_IO, folder, "cannot open: %s", strerror(errno));
  for (int i = 0; i < count; i++) {
    if (!error)
      error = read_file(folder, entry[i]->d_name, machine, costs, diagnostic);
    free(entry[i]);
  }
  free(entry);
  return error;
}
