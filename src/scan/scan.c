/* All kernels of a project, on several threads. */
#include "scan/scan.h"

#include "base/table.h"
#include "scan/inner.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A file on its way: it is opened by one thread, and its modules are looked at by any. */
typedef enum stage { WAITING, OPENING, OPEN, DONE } stage;

typedef struct job {
  const scan_unit *unit;
  stage stage;
  scan_images images;
  unsigned modules, next, finished; /* modules of the fat binary; the next to take; looked at */
  unsigned first;                   /* modules before are looked at */
  unsigned without;                 /* modules that hold no PTX */
  scan_module_work *module;
  int fault_kind; /* BF_OK: none */
  bf_diagnostic fault;
} job;

typedef struct work {
  const bf_scan_options *options;
  bf_source_launches *launches;
  job *job;
  size_t jobs;
  pthread_mutex_t lock; /* of what follows, and of stages and counts of jobs */
  size_t first;         /* jobs before are done */
  size_t done;
  bool is_stopped;
  int error; /* that ends everything */
  bf_diagnostic diagnostic;
} work;

/* ---- One file ---- */

/* What a source compiles by, as the key of the cache. */
static scan_key command_key(const work *w, const scan_unit *unit) {
  bf_text text = {0};
  bf_text_addf(&text, "%s\n%s\n", unit->folder ? unit->folder : "", unit->file);
  for (char *const *word = unit->command; word && *word; word++)
    bf_text_addf(&text, "%s\n", *word);
  for (const char *const *flag = w->options->flags; flag && *flag; flag++)
    bf_text_addf(&text, "%s\n", *flag);
  scan_key key = scan_key_of(w->options, w->launches, text.data, text.size);
  bf_text_free(&text);
  return key;
}

static int allocate(job *own, unsigned modules, bf_diagnostic *diagnostic) {
  own->modules = modules;
  own->module = calloc(modules + 1, sizeof *own->module);
  return own->module ? BF_OK : bf_no_memory(diagnostic);
}

/* Opens a file; a source of which all is known is not compiled, and has no modules left. */
static int open_job(const work *w, job *own, bf_diagnostic *diagnostic) {
  const scan_unit *unit = own->unit;
  bool is_source = unit->kind == SCAN_SOURCE;
  scan_key command = command_key(w, unit), ptx;
  if (is_source && scan_cache_compiled(w->options, &command, &ptx)) {
    BF_TRY(allocate(own, 1, diagnostic));
    scan_module_work *all = &own->module[0];
    all->holds_ptx = true;
    all->was_known = scan_cache_read(w->options, &ptx, unit->path, &all->found);
    if (all->was_known)
      return BF_OK;
    free(own->module);
    own->module = NULL;
    own->modules = 0;
  }
  bf_text inputs = {0};
  int error = scan_open(unit, w->options, &own->images, &inputs, diagnostic);
  if (!error && is_source) {
    ptx = scan_key_of(w->options, w->launches, own->images.ptx.data, own->images.ptx.size);
    scan_cache_keep_compiled(w->options, &command, &ptx, &inputs);
  }
  bf_text_free(&inputs);
  if (!error)
    error = allocate(own, own->images.fatbin->module_count, diagnostic);
  return error;
}

/* ---- Threads ---- */

/* Keeps what is wrong with a file; that memory is exhausted ends everything. Under the lock. */
static void keep_fault(work *w, job *own, int error, const bf_diagnostic *diagnostic) {
  if (error == BF_NO_MEMORY) {
    w->error = error;
    w->diagnostic = *diagnostic;
    w->is_stopped = true;
  } else if (!own->fault_kind) {
    own->fault_kind = error;
    own->fault = *diagnostic;
  }
}

/* Marks a file of which nothing is left to do. Under the lock. */
static void finish(work *w, job *own) {
  bf_diagnostic diagnostic = {.caret = -1};
  if (own->without && own->without == own->modules)
    keep_fault(w, own, bf_fatbin_no_ptx(own->images.fatbin, 0, (bf_arch){0}, &diagnostic),
               &diagnostic);
  own->stage = DONE;
  w->done++;
  scan_close(&own->images);
  while (w->first < w->jobs && w->job[w->first].stage == DONE)
    w->first++;
}

/* What is taken: a file to open, a module of it to open, or a part of that. */
typedef struct task {
  enum { OPEN_FILE, OPEN_MODULE, LOOK_AT_PART } kind;
  job *job;
  unsigned module, part;
} task;

/* Takes a part of a module that is open, or a module to open. Under the lock. */
static bool take_of(job *own, task *t) {
  for (unsigned i = own->first; i < own->next; i++) {
    scan_module_work *module = &own->module[i];
    if (module->is_open && module->next < module->parts) {
      *t = (task){LOOK_AT_PART, own, i, module->next++};
      return true;
    }
  }
  if (own->next == own->modules)
    return false;
  *t = (task){OPEN_MODULE, own, own->next++, 0};
  return true;
}

/* Takes what is next; false: others are at what is left. Under the lock. */
static bool take(work *w, task *t) {
  for (size_t i = w->first; i < w->jobs && !w->is_stopped; i++) {
    job *own = &w->job[i];
    if (own->stage == WAITING) {
      own->stage = OPENING;
      *t = (task){.kind = OPEN_FILE, .job = own};
      return true;
    }
    if (own->stage == OPEN && take_of(own, t))
      return true;
  }
  return false;
}

/* Marks a module of which nothing is left to do. Under the lock. */
static void finish_module(work *w, job *own, unsigned index) {
  own->without += !own->module[index].holds_ptx;
  own->module[index].is_open = false;
  own->module[index].is_finished = true;
  while (own->first < own->next && own->first < own->modules && own->module[own->first].is_finished)
    own->first++;
  if (++own->finished == own->modules)
    finish(w, own);
}

/* Opens a file, without the lock. */
static void open_file(work *w, job *own) {
  bf_diagnostic diagnostic = {.caret = -1};
  pthread_mutex_unlock(&w->lock);
  int error = open_job(w, own, &diagnostic);
  pthread_mutex_lock(&w->lock);
  own->stage = OPEN;
  if (error)
    keep_fault(w, own, error, &diagnostic);
  if (error || !own->images.fatbin || !own->modules)
    finish(w, own);
}

/* Opens a module or looks at a part of it, without the lock; who looked at the last part finishes
 * it. */
static void work_on_module(work *w, const task *t) {
  bf_diagnostic diagnostic = {.caret = -1};
  job *own = t->job;
  const char *unit = own->unit->path;
  scan_module_work *module = &own->module[t->module];
  scan_kernels found = {.count = 0};
  bool opens = t->kind == OPEN_MODULE, is_good = true;
  int error = BF_OK;
  pthread_mutex_unlock(&w->lock);
  if (opens)
    error = scan_module_open(&own->images, t->module, unit, w->options, w->launches, module,
                             &diagnostic);
  else
    is_good = scan_module_look(module, t->part, unit, w->options, w->launches, &found);
  pthread_mutex_lock(&w->lock);
  if (!opens) {
    module->part[t->part] = found;
    module->has_failed |= !is_good;
    module->finished++;
  }
  module->is_open = !error && module->holds_ptx && !module->was_known;
  if (module->is_open && module->finished < module->parts)
    return;
  if (module->is_open) {
    pthread_mutex_unlock(&w->lock);
    error = scan_module_finish(module, unit, w->options, w->launches, &diagnostic);
    pthread_mutex_lock(&w->lock);
  }
  if (error)
    keep_fault(w, own, error, &diagnostic);
  finish_module(w, own, t->module);
}

static void run_thread(void *context, unsigned index) {
  work *w = context;
  pthread_mutex_lock(&w->lock);
  while (!w->is_stopped && w->first < w->jobs) {
    task own;
    if (take(w, &own)) {
      if (own.kind == OPEN_FILE)
        open_file(w, own.job);
      else
        work_on_module(w, &own);
    } else { /* others are at what is left */
      pthread_mutex_unlock(&w->lock);
      nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
      pthread_mutex_lock(&w->lock);
    }
    if (index == 0 && w->options->progress &&
        !w->options->progress(w->options->context, w->done, w->jobs))
      w->is_stopped = true;
  }
  pthread_mutex_unlock(&w->lock);
}

/* ---- Results ---- */

/* A text of another arena. */
static const char *move(bf_scan *scan, const char *text, bool *failed) {
  const char *copy = text ? bf_arena_copy(&scan->arena, text) : NULL;
  *failed |= text && !copy;
  return copy;
}

/* A path as it is seen from this folder, where it lies below it. */
static const char *from_here(const char *here, const char *path) {
  size_t length = strlen(here);
  bool is_below = path && strncmp(path, here, length) == 0 && path[length] == '/';
  return is_below ? path + length + 1 : path;
}

/* Adds a kernel, with all its texts; one that an earlier file holds as well is counted there. */
static int add_kernel(bf_scan *scan, bf_table *seen, const char *here, const bf_scan_kernel *found,
                      bf_diagnostic *diagnostic) {
  bf_text key = {0};
  bf_text_addf(&key, "%s %s %llu %llu", found->name, found->block,
               (unsigned long long)found->wavefronts, (unsigned long long)found->sites);
  void **place = key.failed ? NULL : bf_table_at(seen, key.data, key.size);
  bf_text_free(&key);
  if (!place)
    return bf_no_memory(diagnostic);
  if (*place) {
    scan->kernel[(size_t)(uintptr_t)*place - 1].places++;
    return BF_OK;
  }
  bf_scan_kernel own = *found;
  bool failed = false;
  own.name = move(scan, own.name, &failed);
  own.readable = move(scan, own.readable, &failed);
  own.unit = move(scan, own.unit, &failed);
  own.block = move(scan, own.block, &failed);
  own.block_from = move(scan, own.block_from, &failed);
  own.rests_on = move(scan, own.rests_on, &failed);
  own.change = move(scan, own.change, &failed);
  own.reason = move(scan, own.reason, &failed);
  own.line = bf_arena_alloc(&scan->arena, (own.lines + 1) * sizeof *own.line);
  for (uint64_t i = 0; own.line && i < own.lines; i++) {
    own.line[i] = found->line[i];
    own.line[i].file = move(scan, from_here(here, own.line[i].file), &failed);
    own.line[i].what = move(scan, own.line[i].what, &failed);
  }
  if (failed || !own.line)
    return bf_no_memory(diagnostic);
  scan->kernel[scan->kernels++] = own;
  *place = (void *)(uintptr_t)scan->kernels;
  return BF_OK;
}

/* Why nothing, or not all, is known of a file. For one that was asked for by its name, that is an
 * error. */
static int add_fault(bf_scan *scan, const job *own, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  if (own->unit->is_named) {
    *diagnostic = own->fault;
    return own->fault_kind;
  }
  if (own->fault.line)
    bf_text_addf(&text, "line %llu: ", (unsigned long long)own->fault.line);
  bf_text_puts(&text, own->fault.message);
  bool failed = text.failed;
  scan->fault[scan->faults] = (bf_scan_fault){move(scan, own->unit->path, &failed),
                                              failed ? NULL : move(scan, text.data, &failed)};
  scan->faults++;
  bf_text_free(&text);
  return failed ? bf_no_memory(diagnostic) : BF_OK;
}

/* Joins what was found in all files, in their order. */
static int join(const work *w, bf_scan *scan, bf_diagnostic *diagnostic) {
  bf_arena arena = {0};
  bf_table seen = {.arena = &arena};
  char here[PATH_MAX];
  size_t kernels = 0;
  if (!getcwd(here, sizeof here))
    here[0] = 0;
  for (size_t i = 0; i < w->jobs; i++)
    for (unsigned k = 0; k < w->job[i].modules; k++)
      kernels += w->job[i].module[k].found.count;
  scan->units = w->jobs;
  scan->kernel = calloc(kernels + 1, sizeof *scan->kernel);
  scan->fault = calloc(w->jobs + 1, sizeof *scan->fault);
  int error = scan->kernel && scan->fault ? BF_OK : bf_no_memory(diagnostic);
  for (size_t i = 0; i < w->jobs && !error; i++) {
    const job *own = &w->job[i];
    if (own->fault_kind)
      error = add_fault(scan, own, diagnostic);
    for (unsigned k = 0; k < own->modules && !error; k++)
      for (size_t n = 0; n < own->module[k].found.count && !error; n++) {
        scan->kept += own->module[k].was_known;
        error = add_kernel(scan, &seen, here, &own->module[k].found.kernel[n], diagnostic);
      }
  }
  bf_arena_free(&arena);
  return error;
}

/* ---- All ---- */

static int look_at_all(work *w, const scan_files *files, bf_scan *scan, bf_diagnostic *diagnostic) {
  unsigned threads = w->options->threads ? w->options->threads : bf_cores();
  w->jobs = files->units;
  w->job = calloc(w->jobs + 1, sizeof *w->job);
  if (!w->job)
    return bf_no_memory(diagnostic);
  for (size_t i = 0; i < w->jobs; i++)
    w->job[i].unit = &files->unit[i];
  pthread_mutex_init(&w->lock, NULL);
  bf_run_threads(threads, run_thread, w);
  pthread_mutex_destroy(&w->lock);
  int error = w->error;
  if (error)
    *diagnostic = w->diagnostic;
  else
    error = join(w, scan, diagnostic);
  for (size_t i = 0; i < w->jobs; i++) {
    for (unsigned k = 0; w->job[i].module && k < w->job[i].modules; k++)
      scan_module_free(&w->job[i].module[k]);
    scan_close(&w->job[i].images);
    free(w->job[i].module);
  }
  free(w->job);
  return error;
}

int bf_scan_run(const char *const *paths, unsigned count, const bf_scan_options *options,
                bf_scan *scan, bf_diagnostic *diagnostic) {
  *scan = (bf_scan){0};
  scan_files files = {.arena = &scan->arena};
  work w = {.options = options};
  int error = BF_OK;
  for (unsigned i = 0; i < count && !error; i++)
    error = scan_find(&files, paths[i], diagnostic);
  if (!error)
    error = bf_source_launches_read(files.source, files.sources, &w.launches, diagnostic);
  if (!error)
    error = look_at_all(&w, &files, scan, diagnostic);
  bf_source_launches_free(w.launches);
  scan_files_free(&files);
  return error;
}

void bf_scan_free(bf_scan *scan) {
  free(scan->kernel);
  free(scan->fault);
  bf_arena_free(&scan->arena);
  *scan = (bf_scan){0};
}
