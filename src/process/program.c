/* Looking into ELF files: sections that nvcc makes, and the libraries that a program needs. */
#include "process/program.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file in memory. */
typedef struct image {
  const unsigned char *bytes;
  uint64_t size;
} image;

/* size bytes at offset, or NULL where the file has no such bytes. */
static const void *part(const image *file, uint64_t offset, uint64_t size) {
  return offset <= file->size && size <= file->size - offset ? file->bytes + offset : NULL;
}

/* The string at offset in the bytes [table, table + size); empty where it has no end. */
static const char *string_at(const image *file, uint64_t table, uint64_t size, uint64_t offset) {
  const char *text = offset < size ? part(file, table + offset, size - offset) : NULL;
  return text && memchr(text, 0, size - offset) ? text : "";
}

/* The offset in the file of what is loaded at address; 0 where there is nothing. */
static uint64_t offset_of(const Elf64_Phdr *segment, unsigned count, uint64_t address) {
  for (unsigned i = 0; i < count; i++)
    if (segment[i].p_type == PT_LOAD && address >= segment[i].p_vaddr &&
        address - segment[i].p_vaddr < segment[i].p_filesz)
      return segment[i].p_offset + (address - segment[i].p_vaddr);
  return 0;
}

/* Notes a library that matters here. */
static void note_library(const char *name, bf_process_program *program) {
  if (strncmp(name, "libcudart.so", 12) == 0)
    snprintf(program->cuda_library, sizeof program->cuda_library, "%.*s",
             (int)sizeof program->cuda_library - 1, name);
  unsigned most = sizeof program->library / sizeof *program->library;
  if (strncmp(name, "libcu", 5) == 0 && strlen(name) < sizeof *program->library &&
      program->libraries < most)
    strcpy(program->library[program->libraries++], name);
  program->needs_driver |=
      strcmp(name, "libcuda.so.1") == 0 || strncmp(name, "libnvrtc.so", 11) == 0;
}

/* Looks through the libraries that the program needs. */
static void read_libraries(const image *file, const Elf64_Ehdr *header,
                           bf_process_program *program) {
  const Elf64_Phdr *segment =
      part(file, header->e_phoff, (uint64_t)header->e_phnum * sizeof *segment);
  const Elf64_Dyn *entry = NULL;
  uint64_t entries = 0, table = 0, table_bytes = 0;
  if (!segment || header->e_phentsize != sizeof *segment || header->e_phoff % 8)
    return;
  for (unsigned i = 0; i < header->e_phnum; i++)
    if (segment[i].p_type == PT_DYNAMIC && segment[i].p_offset % 8 == 0) {
      entry = part(file, segment[i].p_offset, segment[i].p_filesz);
      entries = entry ? segment[i].p_filesz / sizeof *entry : 0;
    }
  for (uint64_t i = 0; i < entries; i++) {
    if (entry[i].d_tag == DT_STRTAB)
      table = offset_of(segment, header->e_phnum, entry[i].d_un.d_ptr);
    if (entry[i].d_tag == DT_STRSZ)
      table_bytes = entry[i].d_un.d_val;
  }
  for (uint64_t i = 0; i < entries && table; i++)
    if (entry[i].d_tag == DT_NEEDED)
      note_library(string_at(file, table, table_bytes, entry[i].d_un.d_val), program);
}

/* Fills what an ELF file says; other files say nothing. */
static void read_elf(const image *file, bf_process_program *program) {
  const Elf64_Ehdr *header = part(file, 0, sizeof *header);
  program->is_elf = header && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
                    header->e_ident[EI_CLASS] == ELFCLASS64 &&
                    header->e_ident[EI_DATA] == ELFDATA2LSB;
  if (!program->is_elf)
    return;
  bf_elf elf;
  bf_elf_open(file->bytes, file->size, &elf);
  bf_cuda_file_read(&elf, &program->cuda);
  program->has_fatbin = program->cuda.has_device_code;
  read_libraries(file, header, program);
}

int bf_process_inspect(const char *name, bf_process_program *program, bf_diagnostic *diagnostic) {
  *program = (bf_process_program){0};
  if (!bf_process_find(name, NULL, program->path, sizeof program->path))
    return bf_fail(diagnostic, BF_IO, "no program '%s'", name);
  int descriptor = open(program->path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (descriptor < 0 || fstat(descriptor, &status) != 0) { /* it may still run */
    if (descriptor >= 0)
      close(descriptor);
    return BF_OK;
  }
  size_t size = (size_t)status.st_size;
  void *bytes = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0) : MAP_FAILED;
  close(descriptor);
  if (bytes == MAP_FAILED)
    return BF_OK;
  read_elf(&(image){bytes, size}, program);
  munmap(bytes, size);
  return BF_OK;
}

/* ---- Programs whose CUDA runtime can be replaced ---- */

/* Refuses programs that hold the CUDA runtime themselves where its functions cannot be found. */
static int check_static(const bf_process_program *program, bf_diagnostic *diagnostic) {
  const bf_cuda_file *cuda = &program->cuda;
  if (!program->has_fatbin || cuda->asks_for_runtime)
    return BF_OK;
  if (!cuda->is_dynamic)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "%s is linked with -static, so that nothing can be put before its CUDA runtime: "
                   "rebuild it without -static",
                   program->path);
  if (cuda->hides_runtime)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "%s holds the CUDA runtime itself (statically linked) and is stripped, so that "
                   "its calls cannot be found: do not strip it, or rebuild it with nvcc -cudart "
                   "shared",
                   program->path);
  return BF_OK;
}

int bf_process_can_be_led(const bf_process_program *program, bf_diagnostic *diagnostic) {
  const char *library = program->cuda_library;
  if (!*library)
    return check_static(program, diagnostic);
  for (unsigned version = 11; version <= 13; version++)
    if (strcmp(library, bf_cuda_library(version)) == 0)
      return BF_OK;
  return bf_fail(diagnostic, BF_UNSUPPORTED,
                 "%s needs %s; Bankfold has libcudart.so.11.0, libcudart.so.12 and "
                 "libcudart.so.13: rebuild it with CUDA 11, 12 or 13",
                 program->path, library);
}

const char *bf_process_next_architecture(const char *tried, const char *said) {
  static const char *const order[] = {"sm_90", "sm_90a", "sm_100a", NULL};
  if (!tried)
    return order[0];
  const char *where = said ? strstr(said, ".target") : NULL;
  for (unsigned i = 0; where && order[i]; i++)
    if (strcmp(order[i], tried) == 0)
      return order[i + 1];
  return NULL;
}
