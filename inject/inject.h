/* inject: a library for LD_PRELOAD that stands between a program and the CUDA driver. Where the
 * program loads device code that holds PTX, kernels get a second version, whose accesses to shared
 * memory are hashed (rewrite/rewrite.h). Second versions that share no variables with the program
 * are loaded apart from its code, which stays what it is; where one shares some, the driver is
 * given PTX with both versions in place of the whole image. Where that is impossible for any
 * reason, nothing is done. Each launch gets one of both. docs/inject.md has the whole story.
 *
 *   dlsym.c    catches the ways in which programs find the driver's functions
 *   driver.c   the functions that are put in their place, with
 *              launch.c, link.c and export_table.c
 *   load.c     from an image to the one that the driver is given
 *   image.c    finds the PTX in an image
 *   rewrite.c  rewrites PTX, and
 *   limits.c   limits its registers to those that the program's machine code has
 *   cache.c    keeps rewritten PTX on disk, and
 *   build.c    says by which build it was made
 *   apart.c    has the driver compile second versions that are loaded apart
 *   handles.c  remembers which kernels were rewritten, and what stands beside them
 *   foresee.c  predicts what the second version of a kernel is worth to a launch
 *   choose.c   decides which of both versions a launch gets; where it is to learn that,
 *   learn.c    measures both on the program's own launches, and
 *   memory.c   keeps what was learnt for later runs
 *   times.c    how long launches take, where that is asked for
 *   digest.c   the content hash that images are known by
 *   lock.c     the one lock over all that is remembered
 *   settings.c the environment, and the log
 *
 * What the process keeps between calls is static data of the file that needs it. */
#ifndef INJECT_H
#define INJECT_H

#include "abi.h"
#include "analyze/given.h"
#include "hash/hash.h"
#include "ptx/fatbin.h"

/* ---- Settings and log ---- */

typedef struct inject_settings {
  bf_hash_list *hashes; /* of a file, or NULL */
  bf_hash *otherwise;   /* of kernels that hashes does not name, or NULL */
  bf_text text;         /* what both were read from */
  const char *log;      /* a path, "stderr", or NULL */
  char cache[4096];     /* folder, or empty: none */
  bool copies_table;    /* for old runtimes: see export_table.c */
  bool learns;          /* which version of kernels is faster */
  bool recalls;         /* what was learnt before is used */
  bool is_auto;         /* kernels that hashes does not name get what is predicted to win */
} inject_settings;

/* Read at the first call. NULL: no kernel has a hash, so that nothing is to be done. */
const inject_settings *inject_settings_get(void);
/* Whether the hash of a kernel is the user's wish, not a proposal. */
bool inject_is_named(const inject_settings *of, const char *kernel);
/* Adds a line to the log, where there is one. errno is kept. */
void inject_log(const char *format, ...) BF_PRINTF(1, 2);

/* ---- The driver ---- */

/* The driver's own function of that name; NULL where the driver is not there or has none. */
void *inject_driver(const char *name);
/* What a program is given that asked for a name: `real`, or what stands in its place. */
void *inject_replace(const char *name, void *real);
/* Whether inject_replace may give something else than it was given. */
bool inject_replaces(const char *name);

/* ---- Rewriting ---- */

/* A kernel that a hash is named for. */
typedef struct inject_kernel {
  const char *name;
  const char *beside; /* the name of its second version; NULL: it has none */
  const char *hash;   /* of that one */
  const char *reason; /* why it has none, or NULL */
  const char *values; /* parameters that decide what it does to shared memory (values.c), or NULL */
  bool is_alone;      /* the second version shares no variables with the program */
  bool is_doubtful;   /* it has one only to be measured */
  bool rounds; /* the second version is launched with whole rows of dynamic memory, as memcheck
                  wants */
  uint64_t row_bytes, unused_bytes; /* and with so many bytes more for every row of it; 0: none */
  uint64_t most_x, most_y, most_z;  /* the second version is for blocks with no more threads; 0: any
                                     */
} inject_kernel;

/* PTX after rewriting. */
typedef struct inject_rewritten {
  bool is_changed;
  bf_text text;     /* the new PTX, where changed */
  bf_text lines;    /* about kernels, as inject_add_kernel writes them */
  unsigned kernels; /* in the module */
  unsigned hashed;  /* of them, rewritten */
  bf_text remarks;  /* about each kernel, for the log: lines */
} inject_rewritten;

/* Adds the line of a kernel. */
void inject_add_kernel(const inject_kernel *kernel, bf_text *lines);
/* Adds hashed kernels to PTX by the hashes of settings; has_code: the program has machine code that
 * would have to be compiled anew for some. A bf_error where it cannot be read. */
int inject_rewrite(const inject_settings *settings, const char *name, const bf_text *ptx,
                   bool has_code, inject_rewritten *rewritten, bf_diagnostic *diagnostic);

/* Limits the registers of kernels in rewritten PTX to what lets launches have as many threads as
 * with the program's machine code, a cubin. What cannot be read limits nothing. */
void inject_limit_registers(const bf_text *code, bf_text *text);

/* ---- Images ---- */

enum { INJECT_KEY_BYTES = 32 };

/* The PTX in an image that can stand for all of it. */
typedef struct inject_source {
  bf_fatbin *fatbin;
  const bf_image *image;
  const bf_image *code; /* machine code that the driver would take in its place; NULL: none */
} inject_source;

/* What the driver can do: the architectures of its devices, without repetition, and the PTX that it
 * compiles (major * 10 + minor). */
enum { INJECT_MOST_ARCHS = 16 };
typedef struct inject_devices {
  unsigned count;
  unsigned sm[INJECT_MOST_ARCHS];
  unsigned ptx_version;
} inject_devices;

/* Asks the driver for its devices; false where it does not say. */
bool inject_devices_ask(inject_devices *devices);
/* Finds the PTX in bytes. Fails where there is none, and where the driver would take other code
 * than this for one of the devices. */
int inject_source_open(const void *bytes, uint64_t size, const inject_devices *devices,
                       inject_source *source, bf_diagnostic *diagnostic);
void inject_source_close(inject_source *source);

/* Bytes of the image at `image`, of which only the address is known, and where they are: a wrapper
 * leads elsewhere. PTX has no more than `most`, with or without a NUL behind it. 0 where it is
 * nothing that can hold PTX, or cannot be read whole. */
uint64_t inject_image_bytes(const void *image, uint64_t most, const void **bytes);

/* What the driver is given in place of an image. Lives as long as the process. */
typedef struct inject_image {
  struct inject_image *next;
  unsigned char key[INJECT_KEY_BYTES];
  char *text;         /* PTX with both versions; NULL: the image is left alone */
  bool is_apart;      /* second versions are loaded apart from it */
  const char *reason; /* why all of it is; NULL: kernels say why */
  unsigned kernels;
  inject_kernel *kernel;          /* by name; all in one allocation */
  struct inject_subject *subject; /* per kernel: what is known of its launches (choose.c) */
  struct inject_apart *apart;     /* per kernel: its second version, where loaded apart (apart.c) */
} inject_image;

/* The replacement of an image in memory, or of a file; NULL: none. Where times are taken, also what
 * is known about an image that is left alone, without text. */
const inject_image *inject_image_of_memory(const void *image);
const inject_image *inject_image_of_file(const char *path);
/* The same for what is linked with other code: PTX has size bytes at most. */
const inject_image *inject_input_of_memory(const void *image, size_t size);
const inject_image *inject_input_of_file(const char *path);
/* What is known about a kernel; NULL: nothing. */
const inject_kernel *inject_image_kernel(const inject_image *image, const char *name);
/* Reads those of its PTX that two kernels need, of which the second may be NULL. */
int inject_image_parse(const inject_image *image, const char *kernel, const char *other,
                       bf_ptx_module **module, bf_diagnostic *diagnostic);
/* What is known of the launches of a kernel of the image. */
struct inject_subject *inject_image_subject(const inject_image *image, const inject_kernel *kernel);
/* Whether it is the name of a second version. */
bool inject_image_is_beside(const inject_image *image, const char *name);
/* The image of an input that was linked with other code, and has a kernel of that name with a
 * second version; NULL: none. */
const inject_image *inject_linked_image(const char *kernel);
/* An input was given to the driver's linker. */
void inject_linked_add(const inject_image *image);

/* ---- Cache ---- */

/* Whether the folder of the cache can be trusted. One that is not there can; *is_there says so.
 * Said once in the log, where it cannot. */
bool inject_cache_is_trusted(const inject_settings *settings, bool *is_there);
/* An image by its key from the cache of settings, as this build of the library has left it there;
 * NULL where it is not there or not sound, or where others could have written it. */
inject_image *inject_cache_read(const inject_settings *settings,
                                const unsigned char key[INJECT_KEY_BYTES]);
void inject_cache_write(const inject_settings *settings, const inject_image *image);
/* What tells this build of the library from others; NULL where nothing does. */
const unsigned char *inject_build_id(size_t *size);
/* An image from its parts: text NULL: left alone; lines as in inject_rewritten. NULL: no memory, or
 * no such lines. */
inject_image *inject_image_create(const unsigned char key[INJECT_KEY_BYTES], const char *text,
                                  size_t text_bytes, const char *lines, size_t lines_bytes);
void inject_image_free(inject_image *image);
/* Writes a file under another name and renames it; false where that fails, as errno says. */
bool inject_write_file(const char *path, const bf_text *content);
/* Makes a folder and those above it. */
void inject_make_folders(const char *folder);

/* ---- Handles ---- */

/* A kernel as the program knows it, and its second version. */
typedef struct inject_pair {
  const inject_image *image;
  const inject_kernel *kernel;
  struct inject_subject *subject;
  void *own, *beside; /* handles of the driver; beside NULL: it is not loaded yet */
  bool is_of_library; /* they are kernels of a library, not functions of a module */
  unsigned ended;     /* contexts that had ended when beside was looked up, or is to be */
  bool has_own;       /* launches of some size get the first version: inject_is_own knows which */
} inject_pair;

/* Remembers what a module, library, function or kernel of the driver comes from; NULL forgets it,
 * as a handle may be given out again. False: no memory. */
bool inject_handle_set(const void *handle, const inject_image *image);
/* What it comes from, or NULL. */
const inject_image *inject_handle_image(const void *handle);
/* Remembers both handles of a pair. False: no memory. */
bool inject_handle_set_pair(const inject_pair *pair);
/* The second handle of a pair, which is loaded apart, is known now. False: no memory. */
bool inject_handle_complete(inject_pair *pair, void *beside);
/* The program has ended a context: handles of functions may be others' since. */
void inject_handles_end_context(void);
/* The pair that a handle is one of; NULL: none. */
inject_pair *inject_handle_pair(const void *handle);

/* ---- Second versions that are loaded apart ---- */

typedef enum inject_apart_state {
  INJECT_APART_IDLE, /* nobody has asked for it */
  INJECT_APART_BUSY, /* it is being looked at, or compiled */
  INJECT_APART_READY,
  INJECT_APART_REFUSED,
} inject_apart_state;

/* The states of the kernels of an image; NULL: no memory. */
struct inject_apart *inject_aparts_create(const inject_image *image);
/* How far the second version of a pair is. */
inject_apart_state inject_apart_look(const inject_pair *pair);
/* Has what predictions about it need read, once; false where that was done, or cannot be. */
bool inject_apart_prepare(const inject_pair *pair);
/* Has it compiled where it is not there. A launch that gains by it may wait for it. */
inject_apart_state inject_apart_get(const inject_pair *pair, bool gains);
/* The handle of one that is ready, of the kind that the pair has; NULL: it has none. */
void *inject_apart_handle(const inject_pair *pair);
/* Waits for what is being compiled; what is not begun may be asked for again. */
void inject_apart_wait(void);

/* ---- Launches ---- */

/* Times are taken: a file is named for them when the library is loaded. */
extern bool inject_takes_times;

/* Second versions own whole rows of shared memory (rewrite/rewrite.h). */
enum { INJECT_ROW_BYTES = 128 };

/* A launch, as the program asks for it and as it is done. */
typedef struct inject_launch {
  void *function;
  inject_pair *pair; /* of the function, or NULL */
  unsigned grid[3], block[3];
  unsigned bytes; /* of dynamic shared memory */
  void *stream;
  void **parameters, **extra; /* of the kernel, as the driver gets them; either may be NULL */
  bool is_cooperative;        /* all blocks must run at once */
  bool is_node;               /* it becomes a node of a graph, and runs later */
  /* What is done: */
  void *chosen;
  unsigned chosen_bytes;
  struct inject_decision *decision; /* NULL: there is one version */
  bool is_beside;                   /* the second version was chosen */
  int refusal;                      /* what the driver said to the second version, or 0 */
  void *begun, *ended;              /* events of the driver; NULL: it is not timed */
  struct inject_sample *sample;     /* NULL: it is not measured */
} inject_launch;

/* Decides what to launch: chosen with chosen_bytes. */
void inject_launch_begin(inject_launch *launch);
/* Whether to launch again, as the driver's answer is an error and there is another version. */
bool inject_launch_again(inject_launch *launch, int result);
/* Behind the launch; result is the driver's. */
void inject_launch_end(inject_launch *launch, int result);
/* Blocks, and threads of a block. */
uint64_t inject_launch_blocks(const inject_launch *launch);
uint64_t inject_launch_threads(const inject_launch *launch);

/* ---- Values of parameters ---- */

/* More than that decide nothing: launches are told apart by a few numbers. */
enum { INJECT_MOST_RANGES = 8, INJECT_VALUE_BYTES = 64 };

/* Bytes of a parameter: its number among those that are passed, and where they start in it and
 * among all. */
typedef struct inject_range {
  unsigned index, offset, bytes, start;
} inject_range;

/* The parameters of a kernel that decide what it does to shared memory. */
typedef struct inject_values {
  unsigned count;
  inject_range range[INJECT_MOST_RANGES];
} inject_values;

/* Writes those of a kernel as text, and reads it; too many are none. */
int inject_values_write(const bf_ptx_function *kernel, bf_text *text, bf_diagnostic *diagnostic);
void inject_values_parse(const char *text, inject_values *values);
/* Their bytes in a launch, one after the other; false: it does not tell. */
bool inject_values_read(const inject_values *values, const inject_launch *launch,
                        unsigned char bytes[INJECT_VALUE_BYTES]);
/* A number that tells their values apart; 0: there are none. */
uint64_t inject_values_key(const inject_values *values, const inject_launch *launch);
/* The same as predictions take them, to be freed; false: there are none. */
bool inject_values_fill(const inject_values *values, const inject_launch *launch,
                        bf_analyze_given *given);

/* ---- Predictions ---- */

/* Whether the second version of a kernel is predicted to be worth it in a launch on a GPU with so
 * many multiprocessors (0: not known), each of which holds so many blocks of both versions at
 * once, with the values of the parameters (NULL: not known); says why in any case. *may_gain: not
 * so that both surely have as many wavefronts. Takes milliseconds. */
bool inject_foresee(const inject_image *image, const inject_kernel *kernel,
                    const inject_launch *launch, unsigned multiprocessors,
                    const unsigned resident[2], const inject_values *values, bool *may_gain,
                    char *reason, size_t reason_bytes);

/* Reads what predictions about a kernel need, beside launches; the first one does it otherwise. */
void inject_foresee_prepare(const inject_image *image, const inject_kernel *kernel);

/* ---- Choices ---- */

/* Bytes of dynamic shared memory that the second version needs where the program asks for some. */
unsigned inject_round(const inject_kernel *kernel, unsigned bytes);
/* Whether a launch of the first version of a pair gets it, as others of its size before, and
 * nothing more is to be done about it: what most launches of kernels that are left alone ask. */
bool inject_is_own(const inject_pair *pair, const unsigned grid[3], const unsigned block[3],
                   unsigned bytes);
/* Decides about a launch of a pair; fills in all that is done, but for events. */
void inject_choose(inject_pair *pair, inject_launch *launch);
/* The driver refused the second version and took the first. */
void inject_choice_refused(const inject_launch *launch);
/* What a program can set for kernels: attributes of the driver, by their numbers, and these. */
enum {
  INJECT_SHARED_SIZE = 28,
  INJECT_CACHE_CONFIG,
  INJECT_SHARED_CONFIG,
  INJECT_SETTINGS,
};
/* Something was set for both versions; result is the driver's answer for the second. Where the
 * value is another than before, launches are decided about anew; where it was not taken, the second
 * version is used no more. */
void inject_choice_changed(const inject_pair *pair, unsigned setting, int value, int result);
/* Sets for the second version of a pair what the program has set for a kernel; the driver's answer.
 */
int inject_set_beside(const inject_pair *pair, unsigned setting, int value);
/* Why the launch did not get the second version; NULL: nothing says so. */
const char *inject_choice_reason(const inject_launch *launch);
/* The states of a list of kernels; NULL: no memory. */
struct inject_subject *inject_subjects_create(const inject_kernel *kernel, unsigned count);
struct inject_subject *inject_subject_at(struct inject_subject *first, size_t index);

/* ---- Learning ---- */

typedef enum inject_verdict { INJECT_UNDECIDED, INJECT_OWN, INJECT_BESIDE } inject_verdict;

enum { INJECT_MOST_SAMPLES = 64 };

/* What was measured of both versions in launches of one size. */
typedef struct inject_learning {
  unsigned count[2]; /* samples of the first and the second version */
  float ns[2][INJECT_MOST_SAMPLES];
} inject_learning;

/* Which version is faster, beyond noise. */
inject_verdict inject_learn_judge(const inject_learning *learning);
/* Whether no more is to be learnt where there is no verdict: there is no room for more, or the
 * medians of enough samples are alike. */
bool inject_learn_is_over(const inject_learning *learning);
bool inject_learn_are_alike(const inject_learning *learning);
/* The version that a turn gets: each one in every two turns, in an order without a period, and
 * another one for another seed. */
bool inject_learn_turn(uint64_t seed, unsigned turn);
/* Takes a sample of the launch where there is room: records events in its stream. */
void inject_learn_begin(inject_launch *launch, void *owner);
void inject_learn_end(inject_launch *launch, int result);
/* Files samples whose launches have ended under their owners; waits for nothing. */
typedef void inject_learn_file(void *owner, bool is_beside, float ns);
void inject_learn_poll(inject_learn_file *file);
/* Whether the stream is being captured into a graph. */
bool inject_is_capturing(void *stream);

/* What was learnt in this and earlier runs of the program, by launches of one size (memory.c). */
typedef struct inject_lesson {
  const inject_pair *pair;
  unsigned block[3], rows, grid_bits;
  char gpu[96];
  inject_verdict verdict;
  inject_learning learning;
} inject_lesson;

/* Fills in verdict and samples of earlier runs. */
void inject_memory_recall(inject_lesson *lesson);
/* Keeps lessons for later runs, beside those of other processes. */
void inject_memory_keep(const inject_lesson *lesson, size_t count);

/* ---- Times of launches ---- */

/* Names the file; NULL: none. */
void inject_times_start(const char *file);
/* Before and after the launch, where times are taken; result is the driver's. The second waits
 * until the launch has ended. Launches that become part of a graph are not timed. */
void inject_times_begin(inject_launch *launch);
void inject_times_end(inject_launch *launch, int result);
/* What a function or kernel is called (NULL: not known), or that it is another handle for one. */
void inject_times_name(const void *handle, const char *name);
void inject_times_copy(const void *handle, const void *from);

/* ---- Content hashes ---- */

/* BLAKE2b with 32 bytes of result (RFC 7693). */
typedef struct inject_digest {
  uint64_t state[8];
  uint64_t bytes; /* taken in */
  unsigned char block[128];
  unsigned filled; /* bytes of block */
} inject_digest;

void inject_digest_start(inject_digest *digest);
void inject_digest_add(inject_digest *digest, const void *bytes, size_t size);
void inject_digest_end(inject_digest *digest, unsigned char result[INJECT_KEY_BYTES]);

#endif
