/* Sections and symbols of ELF files, and the CUDA runtime inside them. */
#include "exchange/cuda_file.h"

#include <stddef.h>
#include <string.h>

/* ---- ELF ---- */

const void *bf_elf_part(const bf_elf *elf, uint64_t offset, uint64_t size) {
  return offset <= elf->size && size <= elf->size - offset ? elf->bytes + offset : NULL;
}

bool bf_elf_open(const void *bytes, uint64_t size, bf_elf *elf) {
  *elf = (bf_elf){.bytes = bytes, .size = size};
  const Elf64_Ehdr *header = bf_elf_part(elf, 0, sizeof *header);
  if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
    return false;
  elf->header = header;
  if (header->e_shentsize == sizeof(Elf64_Shdr) && header->e_shoff % 8 == 0 &&
      header->e_shstrndx < header->e_shnum)
    elf->section =
        bf_elf_part(elf, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr));
  if (header->e_phentsize == sizeof(Elf64_Phdr) && header->e_phoff % 8 == 0)
    elf->segment =
        bf_elf_part(elf, header->e_phoff, (uint64_t)header->e_phnum * sizeof(Elf64_Phdr));
  return true;
}

/* The string at offset in a table of strings; empty where it has no end. */
static const char *string_at(const bf_elf *elf, const Elf64_Shdr *table, uint64_t offset) {
  const char *text = bf_elf_part(elf, table->sh_offset, table->sh_size);
  if (!text || offset >= table->sh_size || text[table->sh_size - 1] != 0)
    return "";
  return text + offset;
}

const char *bf_elf_section_name(const bf_elf *elf, unsigned section) {
  const Elf64_Shdr *names = &elf->section[elf->header->e_shstrndx];
  return string_at(elf, names, elf->section[section].sh_name);
}

const Elf64_Phdr *bf_elf_segment(const bf_elf *elf, uint64_t address, uint64_t size) {
  for (unsigned i = 0; elf->segment && i < elf->header->e_phnum; i++) {
    const Elf64_Phdr *segment = &elf->segment[i];
    if (segment->p_type == PT_LOAD && address >= segment->p_vaddr && size <= segment->p_filesz &&
        address - segment->p_vaddr <= segment->p_filesz - size)
      return segment;
  }
  return NULL;
}

void bf_elf_symbols(const bf_elf *elf, unsigned type, bf_elf_visit *visit, void *context) {
  for (unsigned i = 0; elf->section && i < elf->header->e_shnum; i++) {
    const Elf64_Shdr *table = &elf->section[i];
    if (table->sh_type != type || table->sh_entsize != sizeof(Elf64_Sym) ||
        table->sh_link >= elf->header->e_shnum || table->sh_offset % 8)
      continue;
    const Elf64_Sym *symbol = bf_elf_part(elf, table->sh_offset, table->sh_size);
    uint64_t count = symbol ? table->sh_size / sizeof *symbol : 0;
    for (uint64_t k = 0; k < count; k++)
      visit(context, &symbol[k], string_at(elf, &elf->section[table->sh_link], symbol[k].st_name));
  }
}

/* ---- CUDA ---- */

const char *bf_cuda_library(unsigned version) {
  return version >= 13   ? "libcudart.so.13"
         : version == 12 ? "libcudart.so.12"
                         : "libcudart.so.11.0";
}

/* What the symbols of a runtime inside a file tell. */
typedef struct evidence {
  bool has_symbols, asks;
  bool is_inside; /* names that only the static library has, or one that the shared one offers */
  bool of_12;     /* a call that CUDA 12 has, and neither 11 nor 13 */
  bool before_13; /* one that CUDA 13 has no more */
} evidence;

static bool is_function(const Elf64_Sym *symbol) {
  return symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC;
}

/* Notes what the name of a function says about the version of the runtime. */
static void note_version(evidence *seen, const char *name) {
  seen->of_12 |= strcmp(name, "cudaGetDeviceProperties_v2") == 0;
  seen->before_13 |= strcmp(name, "cudaThreadSynchronize") == 0;
}

/* bf_elf_visit of a file's own symbols. */
static void note_own(void *context, const Elf64_Sym *symbol, const char *name) {
  evidence *seen = context;
  if (!is_function(symbol))
    return;
  seen->has_symbols = true;
  seen->is_inside |=
      strncmp(name, "libcudart_static_", 17) == 0 || strncmp(name, "__cudart", 8) == 0;
  note_version(seen, name);
}

/* bf_elf_visit of symbols that files offer to and ask from each other. */
static void note_dynamic(void *context, const Elf64_Sym *symbol, const char *name) {
  evidence *seen = context;
  bool registers = strcmp(name, "__cudaRegisterFatBinary") == 0;
  seen->asks |= registers && symbol->st_shndx == SHN_UNDEF;
  seen->is_inside |= registers && is_function(symbol);
  if (is_function(symbol))
    note_version(seen, name);
}

/* Whether a section holds a text that every CUDA runtime has, from 11 to 13, and no program: the
 * name of a file that it shares with other processes. */
static bool has_runtime_text(const bf_elf *elf, const Elf64_Shdr *section) {
  static const char name[] = "cudart.shm.%"; /* behind a slash, as it is not here */
  const char *bytes = section->sh_type == SHT_PROGBITS
                          ? bf_elf_part(elf, section->sh_offset, section->sh_size)
                          : NULL;
  const char *end = bytes ? bytes + section->sh_size : NULL;
  for (const char *at = bytes; at && end - at > (ptrdiff_t)sizeof name;) {
    const char *slash = memchr(at, '/', (size_t)(end - at) - sizeof name + 1);
    if (slash && memcmp(slash + 1, name, sizeof name - 1) == 0)
      return true;
    at = slash ? slash + 1 : NULL;
  }
  return false;
}

/* Whether a file has the CUDA runtime inside, whatever its symbols say. */
static bool holds_runtime_text(const bf_elf *elf) {
  for (unsigned i = 0; elf->section && i < elf->header->e_shnum; i++)
    if (strcmp(bf_elf_section_name(elf, i), ".rodata") == 0 &&
        has_runtime_text(elf, &elf->section[i]))
      return true;
  return false;
}

/* Looks for the sections of nvcc. */
static void read_sections(const bf_elf *elf, bf_cuda_file *file) {
  for (unsigned i = 0; elf->section && i < elf->header->e_shnum; i++) {
    const char *name = bf_elf_section_name(elf, i);
    file->has_device_code |=
        strcmp(name, ".nv_fatbin") == 0 || strcmp(name, ".nvFatBinSegment") == 0;
  }
}

void bf_cuda_file_read(const bf_elf *elf, bf_cuda_file *file) {
  evidence seen = {0};
  *file = (bf_cuda_file){0};
  read_sections(elf, file);
  for (unsigned i = 0; elf->segment && i < elf->header->e_phnum; i++)
    file->is_dynamic |= elf->segment[i].p_type == PT_DYNAMIC;
  bf_elf_symbols(elf, SHT_SYMTAB, note_own, &seen);
  bf_elf_symbols(elf, SHT_DYNSYM, note_dynamic, &seen);
  file->asks_for_runtime = seen.asks;
  if (seen.is_inside)
    file->runtime = seen.of_12 ? 12 : seen.before_13 ? 11 : 13;
  file->hides_runtime = file->has_device_code && !seen.is_inside && !seen.asks &&
                        !seen.has_symbols && holds_runtime_text(elf);
}
