/* inject: a library for LD_PRELOAD that stands between a program and the CUDA driver. Where the
 * program loads device code that holds PTX, the driver is given that PTX with hashed accesses to
 * shared memory (apply/rewrite.h) in place of the whole image; where that is impossible for any
 * reason, it is given what the program gave. docs/inject.md has the whole story.
 *
 *   dlsym.c    catches the ways in which programs find the driver's functions
 *   driver.c   the functions that are put in their place, with
 *              occupancy.c, link.c and export_table.c
 *   load.c     from an image to the one that the driver is given
 *   image.c    finds the PTX in an image
 *   rewrite.c  rewrites PTX
 *   cache.c    keeps rewritten PTX on disk, and
 *   build.c    says by which build it was made
 *   handles.c  remembers which kernels were rewritten
 *   times.c    how long launches take, where that is asked for
 *   digest.c   the content hash that images are known by
 *   lock.c     the one lock over all that is remembered
 *   settings.c the environment, and the log
 *
 * What the process keeps between calls is static data of the file that needs it. */
#ifndef INJECT_H
#define INJECT_H

#include "abi.h"
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
} inject_settings;

/* Read at the first call. NULL: no kernel has a hash, so that nothing is to be done. */
const inject_settings *inject_settings_get(void);
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
  const char *hash;   /* that it was rewritten with; NULL: it was not */
  const char *reason; /* why not, or NULL */
  bool rounds;        /* it has dynamic shared memory, of which launches must have whole rows */
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
/* Rewrites PTX by the hashes of settings. is_linked: the PTX is linked with other code, and what
 * comes of it is the program's to keep: kernels with dynamic shared memory are left alone, as their
 * launches are not known. A bf_error where it cannot be read. */
int inject_rewrite(const inject_settings *settings, const char *name, const bf_text *ptx,
                   bool is_linked, inject_rewritten *rewritten, bf_diagnostic *diagnostic);

/* ---- Images ---- */

enum { INJECT_KEY_BYTES = 32 };

/* The PTX in an image that can stand for all of it. */
typedef struct inject_source {
  bf_fatbin *fatbin;
  const bf_image *image;
  bool is_linked; /* with other code */
} inject_source;

/* What the driver can do: the architectures of its devices, without repetition, and the PTX that it
 * compiles (major * 10 + minor). */
enum { INJECT_MOST_ARCHS = 16 };
typedef struct inject_devices {
  unsigned count;
  unsigned sm[INJECT_MOST_ARCHS];
  unsigned ptx_version;
} inject_devices;

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
  char *text;         /* PTX; NULL: the image is left alone */
  const char *reason; /* why all of it is; NULL: kernels say why */
  unsigned kernels;
  inject_kernel *kernel; /* all in one allocation */
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
/* Whether launches of the kernel (NULL: of any) must have whole rows of dynamic shared memory. */
bool inject_image_rounds(const inject_image *image, const char *kernel);

/* ---- Cache ---- */

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

/* ---- Handles ---- */

/* Remembers what a module, library, function or kernel of the driver comes from; NULL forgets it,
 * as a handle may be given out again. rounds: launches need whole rows. False: no memory. */
bool inject_handle_set(const void *handle, const inject_image *image, bool rounds);
/* What it comes from, or NULL. */
const inject_image *inject_handle_image(const void *handle, bool *rounds);
/* Rewritten kernels own whole rows of shared memory (apply/rewrite.h). */
enum { INJECT_ROW_BYTES = 128 };
/* Bytes of dynamic shared memory for a launch of a function or kernel that was asked for. */
uint64_t inject_handle_round(const void *handle, uint64_t bytes);
/* A handle is for the same kernel as another. */
void inject_handle_join(const void *handle, const void *from);
/* By how many bytes the limit of dynamic shared memory that the program has set for a kernel was
 * rounded up. */
void inject_handle_set_added(const void *handle, int bytes);
int inject_handle_added(const void *handle);

/* ---- Times of launches ---- */

/* Times are taken: a file is named for them when the library is loaded. */
extern bool inject_takes_times;
/* Names the file; NULL: none. */
void inject_times_start(const char *file);

/* A launch while it is timed. */
typedef struct inject_launch {
  const void *function;
  void *stream;
  uint64_t blocks, threads; /* of the grid, and of a block */
  void *begun, *ended;      /* events of the driver; NULL: it is not timed */
} inject_launch;

/* Before and after the launch, where times are taken; result is the driver's. The second waits
 * until the launch has ended. Launches that become part of a graph are not timed. */
void inject_launch_begin(inject_launch *launch);
void inject_launch_end(inject_launch *launch, int result);
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
