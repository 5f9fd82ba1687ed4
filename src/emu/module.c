/* Modules: the variables of .global and .const, placed and initialised, and the kernels. */
#include "emu/device.h"
#include "emu/race.h"

#include <stdlib.h>

enum { LEAST_ALIGNMENT = 16 };

/* ---- Placing ---- */

/* True for what has an address: not textures and the like, not what is defined elsewhere. */
static bool has_memory(const bf_ptx_item *item) {
  if (item->kind != BF_PTX_ITEM_VARIABLE)
    return false;
  const bf_ptx_variable *variable = item->variable;
  return (variable->space == BF_PTX_SPACE_GLOBAL || variable->space == BF_PTX_SPACE_CONST) &&
         variable->linkage != BF_PTX_EXTERN && variable->bytes > 0;
}

static uint64_t alignment(const bf_ptx_variable *variable) {
  return variable->alignment_bytes > LEAST_ALIGNMENT ? variable->alignment_bytes : LEAST_ALIGNMENT;
}

/* Lays variables out from address 0 on; returns the bytes needed. placed may be NULL. */
static uint64_t lay_out(const bf_ptx_module *ptx, bf_emu_placed *placed, unsigned *count) {
  uint64_t at = 0;
  *count = 0;
  for (const bf_ptx_item *item = ptx->first; item; item = item->next) {
    if (!has_memory(item))
      continue;
    uint64_t align = alignment(item->variable);
    at = (at + align - 1) / align * align;
    if (placed)
      placed[*count] = (bf_emu_placed){item->variable, at};
    (*count)++;
    at += item->variable->bytes;
  }
  return at;
}

bool bf_emu_place_of(const bf_emu_module *module, const bf_ptx_variable *variable,
                     uint64_t *address) {
  for (unsigned i = 0; i < module->variables; i++)
    if (module->placed[i].variable == variable ||
        module->placed[i].variable->name == variable->name) {
      *address = module->placed[i].address;
      return true;
    }
  return false;
}

/* ---- Initialising ---- */

/* The bits of one element. */
static int element_bits(const bf_emu_module *module, const bf_ptx_operand *value, bf_ptx_type type,
                        uint64_t *bits, bf_diagnostic *diagnostic) {
  union {
    float f;
    uint32_t u;
  } single;
  union {
    double d;
    uint64_t u;
  } number = {.u = value->bits};
  switch (value->kind) {
  case BF_PTX_INTEGER:
  case BF_PTX_FLOAT32:
    *bits = value->bits;
    return BF_OK;
  case BF_PTX_FLOAT64:
  case BF_PTX_DECIMAL:
    single.f = (float)number.d;
    *bits = bf_ptx_type_bytes(type) == 4 ? single.u : number.u;
    return BF_OK;
  case BF_PTX_SYMBOL:
    break;
  default:
    return bf_fail(diagnostic, BF_UNSUPPORTED, "%s:%u: initialiser of this kind", module->ptx->file,
                   value->line);
  }
  const bf_ptx_symbol *symbol = value->symbol;
  uint64_t address = 0;
  if (symbol->kind == BF_PTX_SYMBOL_FUNCTION)
    address = bf_emu_function_address(symbol->function);
  else if (symbol->kind != BF_PTX_SYMBOL_VARIABLE ||
           !bf_emu_place_of(module, symbol->variable, &address))
    return bf_fail(diagnostic, BF_UNSUPPORTED, "%s:%u: '%s' has no address here", module->ptx->file,
                   value->line, symbol->name);
  address += (uint64_t)value->offset;
  if (value->mask)
    address = (address & value->mask) >> __builtin_ctzll(value->mask);
  *bits = address;
  return BF_OK;
}

/* Writes value to an array of the given dimensions at memory, which holds bytes. */
static int initialise(const bf_emu_module *module, const bf_ptx_operand *value,
                      const bf_ptx_variable *variable, unsigned dimension, uint8_t *memory,
                      uint64_t bytes, bf_diagnostic *diagnostic) {
  uint64_t element = bf_ptx_type_bytes(variable->type);
  if (value->kind != BF_PTX_VECTOR) {
    uint64_t bits;
    BF_TRY(element_bits(module, value, variable->type, &bits, diagnostic));
    if (element > 8 || element > bytes)
      return bf_fail(diagnostic, BF_UNSUPPORTED, "%s:%u: initialiser of this type",
                     module->ptx->file, value->line);
    memcpy(memory, &bits, element);
    return BF_OK;
  }
  uint64_t step = element;
  for (unsigned d = dimension + 1; d < variable->dimensions; d++)
    step *= variable->dimension[d];
  if (dimension < variable->dimensions && variable->vector)
    step *= variable->vector;
  for (uint32_t i = 0; i < value->count; i++) {
    if ((i + 1) * step > bytes)
      return bf_fail(diagnostic, BF_BAD_INPUT, "%s:%u: more values than '%s' holds",
                     module->ptx->file, value->line, variable->name);
    BF_TRY(initialise(module, &value->item[i], variable, dimension + 1, memory + i * step, step,
                      diagnostic));
  }
  return BF_OK;
}

static bool is_managed(const bf_ptx_variable *variable) {
  return variable->attribute && strstr(variable->attribute, "managed");
}

/* The value that variable i begins with, in memory that is 0. */
static int set_variable(const bf_emu_module *module, unsigned i, bf_diagnostic *diagnostic) {
  const bf_ptx_variable *variable = module->placed[i].variable;
  uint8_t *memory = (uint8_t *)(uintptr_t)module->placed[i].address;
  return variable->initialiser ? initialise(module, variable->initialiser, variable, 0, memory,
                                            variable->bytes, diagnostic)
                               : BF_OK;
}

int bf_emu_restore(bf_emu_module *module, bf_diagnostic *diagnostic) {
  for (unsigned i = 0; i < module->variables; i++) {
    memset((void *)(uintptr_t)module->placed[i].address, 0, module->placed[i].variable->bytes);
    BF_TRY(set_variable(module, i, diagnostic));
  }
  return BF_OK;
}

/* Initialises all variables and makes them known to the device. */
static int fill(bf_emu_module *module, bf_diagnostic *diagnostic) {
  for (unsigned i = 0; i < module->variables; i++) {
    const bf_ptx_variable *variable = module->placed[i].variable;
    BF_TRY(set_variable(module, i, diagnostic));
    bool is_const = variable->space == BF_PTX_SPACE_CONST;
    bf_emu_entry entry = {.public = {module->placed[i].address, variable->bytes, BF_EMU_VARIABLE, 0,
                                     0, is_managed(variable)},
                          .is_const = is_const};
    BF_TRY(bf_emu_add(module->emu, &entry, diagnostic));
    module->const_bytes += is_const ? variable->bytes : 0;
  }
  return BF_OK;
}

static int place(bf_emu_module *module, bf_diagnostic *diagnostic) {
  unsigned count;
  module->memory_bytes = lay_out(module->ptx, NULL, &count);
  if (count == 0)
    return BF_OK;
  uint64_t bytes = (module->memory_bytes + 511) & ~UINT64_C(511);
  module->placed = calloc(count, sizeof *module->placed);
  void *memory = NULL;
  if (!module->placed || posix_memalign(&memory, 512, bytes))
    return bf_no_memory(diagnostic);
  memset(memory, 0, bytes);
  module->memory = memory;
  lay_out(module->ptx, module->placed, &module->variables);
  for (unsigned i = 0; i < module->variables; i++)
    module->placed[i].address += (uintptr_t)memory;
  return fill(module, diagnostic);
}

/* ---- Modules and kernels ---- */

int bf_emu_load(bf_emu *emu, const bf_ptx_module *ptx, bf_emu_module **module,
                bf_diagnostic *diagnostic) {
  bf_emu_module *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  made->emu = emu;
  made->ptx = ptx;
  pthread_mutex_init(&made->lock, NULL);
  made->next = emu->modules;
  emu->modules = made;
  int error = place(made, diagnostic);
  if (error)
    bf_emu_unload(made);
  else
    *module = made;
  return error;
}

void bf_emu_unload(bf_emu_module *module) {
  if (!module)
    return;
  bf_race_forget(module->emu);
  bf_emu_module **link = &module->emu->modules;
  while (*link && *link != module)
    link = &(*link)->next;
  if (*link)
    *link = module->next;
  if (module->memory)
    bf_emu_remove_variables(module->emu, (uintptr_t)module->memory,
                            (uintptr_t)module->memory + module->memory_bytes);
  for (bf_emu_kernel *kernel = module->kernels, *next; kernel; kernel = next) {
    next = kernel->next;
    bf_arena arena = kernel->arena;
    bf_arena_free(&arena);
  }
  pthread_mutex_destroy(&module->lock);
  free(module->memory);
  free(module->placed);
  free(module);
}

uint64_t bf_emu_function_pointer(const bf_ptx_function *function) {
  return bf_emu_function_address(function);
}

bool bf_emu_variable(const bf_emu_module *module, const char *name, bf_emu_range *range) {
  for (unsigned i = 0; i < module->variables; i++)
    if (strcmp(module->placed[i].variable->name, name) == 0) {
      const bf_ptx_variable *variable = module->placed[i].variable;
      *range = (bf_emu_range){module->placed[i].address, variable->bytes, BF_EMU_VARIABLE, 0, 0,
                              is_managed(variable)};
      return true;
    }
  return false;
}

int bf_emu_kernel_get(bf_emu_module *module, const char *name, const bf_emu_kernel **kernel,
                      bf_diagnostic *diagnostic) {
  const bf_ptx_function *function = bf_ptx_find(module->ptx, name);
  if (!function || !function->is_entry)
    return bf_ptx_no_kernel(module->ptx, module->ptx->file, name, diagnostic);
  int error = BF_OK;
  pthread_mutex_lock(&module->lock);
  bf_emu_kernel *found = module->kernels;
  while (found && found->function != function)
    found = found->next;
  if (!found) {
    error = bf_emu_decode(module, function, &found, diagnostic);
    if (!error) {
      found->next = module->kernels;
      module->kernels = found;
    }
  }
  pthread_mutex_unlock(&module->lock);
  *kernel = found;
  return error;
}

const bf_emu_needs *bf_emu_kernel_needs(const bf_emu_kernel *kernel) { return &kernel->needs; }
const char *bf_emu_kernel_name(const bf_emu_kernel *kernel) { return kernel->function->name; }

const bf_ptx_module *bf_emu_kernel_ptx(const bf_emu_kernel *kernel) { return kernel->module->ptx; }

bool bf_emu_kernel_parameter(const bf_emu_kernel *kernel, unsigned index, uint64_t *offset,
                             uint64_t *bytes) {
  if (index >= kernel->function->parameters.count)
    return false;
  *offset = kernel->parameter_offset[index];
  *bytes = kernel->parameter_bytes[index];
  return true;
}

unsigned bf_emu_kernel_sites(const bf_emu_kernel *kernel) { return kernel->site_count; }
bf_emu_site bf_emu_kernel_site(const bf_emu_kernel *kernel, unsigned index) {
  return kernel->sites[index];
}
