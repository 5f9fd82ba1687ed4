/* exchange/cuda_file: what an ELF file of 64 bits says about CUDA: whether it holds device code,
 * and whether the CUDA runtime is inside it (nvcc's default) or a library that it needs. bankfold
 * exec asks before it starts a program; the library that exec loads into it (lead/) asks for every
 * object of the process. It needs nothing but libc. */
#ifndef BF_EXCHANGE_CUDA_FILE_H
#define BF_EXCHANGE_CUDA_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

/* A file in memory; borrowed. */
typedef struct bf_elf {
  const unsigned char *bytes;
  uint64_t size;
  const Elf64_Ehdr *header;
  const Elf64_Shdr *section; /* NULL: none that can be read */
  const Elf64_Phdr *segment; /* NULL: none */
} bf_elf;

typedef struct bf_cuda_file {
  bool has_device_code;  /* sections of nvcc */
  bool is_dynamic;       /* the dynamic loader starts it, or it is a library */
  bool hides_runtime;    /* a runtime is inside, and the names of its functions are stripped */
  bool asks_for_runtime; /* it registers device code with a library */
  unsigned runtime; /* the CUDA version of the runtime inside, or that it is: 11, 12, 13; 0: none is
                       seen */
} bf_cuda_file;

/* Whether the bytes are an ELF file of 64 bits, little-endian; they must outlive the result. */
bool bf_elf_open(const void *bytes, uint64_t size, bf_elf *elf);
/* size bytes at offset, or NULL where the file has no such bytes. */
const void *bf_elf_part(const bf_elf *elf, uint64_t offset, uint64_t size);
/* The name of a section; empty where it has none. */
const char *bf_elf_section_name(const bf_elf *elf, unsigned section);
/* The segment that is loaded to an address, with its first `size` bytes from there in the file;
 * NULL where there is none. */
const Elf64_Phdr *bf_elf_segment(const bf_elf *elf, uint64_t address, uint64_t size);

/* Calls visit for every symbol of the tables of a type (SHT_SYMTAB, SHT_DYNSYM). */
typedef void bf_elf_visit(void *context, const Elf64_Sym *symbol, const char *name);
void bf_elf_symbols(const bf_elf *elf, unsigned type, bf_elf_visit *visit, void *context);

/* The name of the shared CUDA runtime of a version: libcudart.so.11.0 for 11. */
const char *bf_cuda_library(unsigned version);

void bf_cuda_file_read(const bf_elf *elf, bf_cuda_file *file);

#endif
