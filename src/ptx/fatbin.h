/* ptx/fatbin: fat binaries, which nvcc embeds in programs, libraries and object files. A file holds
 * modules (one per translation unit); a module holds images: the same code as PTX text or as
 * machine code, for one architecture each. This header lists them and hands out PTX text.
 *
 * Layout, worked out on files that nvcc 13.0 writes; all numbers are little-endian. A module:
 *    0 u32 magic 0xBA55ED50     4 u16 version, 1     6 u16 header bytes, 16
 *    8 u64 bytes of the images that follow
 * An image, followed by its payload:
 *    0 u16 kind: 1 PTX, 2 cubin, 8 LTO     2 u16 version, 0x0101     4 u32 header bytes, 64 or more
 *    8 u64 payload bytes, with zeros up to a multiple of 8
 *   16 u32 payload bytes without those, 0 where not compressed
 *   20 u32 offset in the header of {u32 offset, u32 size} of ptxas options, or 0
 *   24 u16 minor, u16 major version of the PTX language or of the cubin
 *   28 u32 architecture, e.g. 90     32 u32 offset in the header, u32 size of the source's name
 *   40 u64 flags     56 u64 bytes when decompressed, 0 where not compressed
 * The size of PTX text counts the NUL at its end. */
#ifndef BF_PTX_FATBIN_H
#define BF_PTX_FATBIN_H

#include "base/base.h"

/* An architecture: sm_90 is {90, 0}, sm_90a is {90, 'a'}. sm 0 stands for none. */
typedef struct bf_arch {
  unsigned sm;
  char variant; /* 'a': runs on this one only, 'f': on its family, 0: on this one and later ones */
} bf_arch;

enum { BF_ARCH_TEXT_BYTES = 20 };
/* Reads "sm_90a", "compute_90a" or "90a". Returns false on anything else. */
bool bf_arch_parse(const char *text, bf_arch *arch);
/* "sm_90a" into text, or "-" for none; returns text. */
const char *bf_arch_print(bf_arch arch, char text[BF_ARCH_TEXT_BYTES]);
/* Whether PTX made for `from` may be compiled for `to`, as ptxas decides. */
bool bf_arch_runs(bf_arch from, bf_arch to);

typedef enum bf_image_kind {
  BF_IMAGE_PTX,
  BF_IMAGE_CUBIN, /* machine code */
  BF_IMAGE_LTO,   /* the compiler's intermediate code for link-time optimisation */
  BF_IMAGE_OTHER,
} bf_image_kind;

typedef enum bf_image_packing { BF_PACKING_NONE, BF_PACKING_LZ4, BF_PACKING_ZSTD } bf_image_packing;

typedef struct bf_image {
  bf_image_kind kind;
  unsigned number; /* position in the file, from 1 */
  unsigned module; /* module of the file that it belongs to, from 1 */
  bf_arch arch;
  unsigned version_major, version_minor;
  bf_image_packing packing;
  uint64_t flags;         /* as stored */
  uint64_t offset;        /* of its header, or of its first byte where it has none */
  uint64_t payload;       /* offset of its content */
  uint64_t stored_bytes;  /* of its content, as stored */
  uint64_t bytes;         /* of its content, decompressed */
  const char *identifier; /* name of its source file, or NULL */
  const char *options;    /* ptxas options it was compiled with, or NULL */
  const char *section;    /* ELF section that holds it, or NULL */
} bf_image;

typedef struct bf_fatbin {
  const char *name;           /* of the file, for messages */
  const unsigned char *bytes; /* its content */
  uint64_t size;
  unsigned char *owned; /* what bytes points to where this fatbin must free it */
  bf_image *images;     /* at least one; those of a module stand together */
  size_t image_count;
  size_t image_capacity;
  unsigned module_count;
  bf_arena arena;
} bf_fatbin;

/* Lists the images of a file ("-": standard input; zstd or not): an ELF program, library or object
 * file, a library of object files (ar), a bare fat binary, PTX text, or a cubin. A file without any
 * image is refused. */
int bf_fatbin_open(const char *path, bf_fatbin **fatbin, bf_diagnostic *diagnostic);
/* The same for content in memory, which is borrowed and must outlive the result. name is what
 * messages call it. */
int bf_fatbin_read(const char *name, const void *bytes, uint64_t size, bf_fatbin **fatbin,
                   bf_diagnostic *diagnostic);
/* The same for content that may be compressed with zstd; it is copied. */
int bf_fatbin_open_memory(const char *name, const void *bytes, size_t size, bf_fatbin **fatbin,
                          bf_diagnostic *diagnostic);
void bf_fatbin_close(bf_fatbin *fatbin);

/* Size in bytes of the module whose 16-byte header is given, header included; 0 where that is no
 * header of a module. A program's registration calls hand over the address of a module only. */
uint64_t bf_fatbin_module_bytes(const void *header);

const char *bf_image_kind_name(bf_image_kind kind);
const char *bf_image_packing_name(bf_image_packing packing);

/* The PTX of image, decompressed, into text, which must be empty; it never holds a NUL. Images that
 * hold no PTX, sizes that do not match and sizes above BF_MAX_PTX_BYTES are refused. */
#define BF_MAX_PTX_BYTES ((uint64_t)1 << 30)
int bf_fatbin_text(const bf_fatbin *fatbin, const bf_image *image, bf_text *text,
                   bf_diagnostic *diagnostic);

/* The same for an image of any kind, whose content may be anything. */
int bf_fatbin_content(const bf_fatbin *fatbin, const bf_image *image, bf_text *content,
                      bf_diagnostic *diagnostic);

/* The best PTX of a module for an architecture: the highest that runs there (wanted.sm 0: the
 * highest of all), or NULL. */
const bf_image *bf_fatbin_pick(const bf_fatbin *fatbin, unsigned module, bf_arch wanted);
/* Fails with a message that says that a module (0: the whole file) has no PTX for wanted, and what
 * there is instead. */
int bf_fatbin_no_ptx(const bf_fatbin *fatbin, unsigned module, bf_arch wanted,
                     bf_diagnostic *diagnostic);

/* Opens a file, and parses the best PTX of a module of it (counted from 1; 0: the first). */
struct bf_ptx_module;
int bf_fatbin_read_ptx(const char *path, uint64_t module, struct bf_ptx_module **ptx,
                       bf_diagnostic *diagnostic);

/* A kernel in PTX text: from ".visible .entry" or the like to its closing brace. */
typedef struct bf_kernel_text {
  const char *begin;
  size_t size;
  const char *name; /* borrowed from the text */
  size_t name_size;
} bf_kernel_text;
/* The first kernel of the text [*cursor, end); *cursor moves behind it. Returns false where there
 * is none. */
bool bf_kernel_next(const char **cursor, const char *end, bf_kernel_text *kernel);
/* Appends PTX without its kernels but for those of two names; the second may be NULL. What is
 * looked at is text: it may be no PTX where others name a kernel that is left out. */
void bf_kernel_keep(const char *ptx, size_t size, const char *const names[2], bf_text *text);

#endif
