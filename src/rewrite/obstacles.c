/* What stands in the way of rewriting a kernel: instructions that are refused, functions whose
 * callers or bodies are not all known, variables that cannot be whole rows, barriers that cannot be
 * told from data. */
#include "rewrite/inner.h"

#include <stdarg.h>
#include <string.h>

/* What is being looked at. */
typedef struct search {
  bf_rewrite_plan *plan;
  bf_rewrite_kernel_plan *kernel;
  bf_rewrite_kernel *out;
  bool knows_barriers; /* mbarrier objects, if any, have variables of their own */
} search;

/* ---- The list ---- */

static bool has_text(const bf_rewrite_kernel *out, const char *text) {
  for (unsigned i = 0; i < out->obstacles; i++)
    if (strcmp(out->obstacle[i].text, text) == 0)
      return true;
  return false;
}

/* Room for one more. */
static bool grow(bf_rewrite_plan *plan, bf_rewrite_kernel_plan *kernel, bf_rewrite_kernel *out) {
  if (out->obstacles < kernel->capacity)
    return true;
  unsigned capacity = kernel->capacity ? 2 * kernel->capacity : 8;
  bf_rewrite_obstacle *grown = bf_arena_alloc(plan->arena, capacity * sizeof *grown);
  if (!grown)
    return false;
  if (out->obstacles)
    memcpy(grown, out->obstacle, out->obstacles * sizeof *grown);
  out->obstacle = grown;
  kernel->capacity = capacity;
  return true;
}

bool bf_rewrite_add_obstacle(bf_rewrite_plan *plan, bf_rewrite_kernel_plan *kernel,
                             bf_rewrite_kernel *out, uint64_t line, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  kernel->refused = true;
  if (has_text(out, text))
    return true;
  const char *copy = bf_arena_copy(plan->arena, text);
  if (!copy || !grow(plan, kernel, out))
    return false;
  out->obstacle[out->obstacles++] = (bf_rewrite_obstacle){line, copy};
  return true;
}

#define ADD(s, line, ...)                                                                          \
  bf_rewrite_add_obstacle((s)->plan, (s)->kernel, (s)->out, (line), __VA_ARGS__)

/* ---- Calls ---- */

/* Functions of the CUDA runtime that touch no shared memory unless they are given its address. */
static bool is_known_outside(const char *name) {
  static const char *const known[] = {"vprintf", "__assertfail", "malloc", "free"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(known[i], name) == 0)
      return true;
  return false;
}

static bool check_call(search *s, const bf_ptx_instruction *instruction) {
  const bf_ptx_operand *callee = bf_rewrite_callee(instruction);
  if (!callee)
    return true;
  if (callee->kind != BF_PTX_SYMBOL || instruction->call_prototype)
    return ADD(s, instruction->line, "a call through a register");
  const char *name = callee->symbol->name;
  int found = bf_rewrite_find(s->plan, name);
  if (found >= 0)
    return !s->plan->function[found].function->is_entry ||
           ADD(s, instruction->line, "a call of kernel %s", name);
  if (!is_known_outside(name))
    return ADD(s, instruction->line, "a call of %s, which is not in the module", name);
  if (s->kernel->reaches_generic)
    return ADD(s, instruction->line, "a call of %s, which may be given shared memory", name);
  return true;
}

/* Functions whose accesses are hashed must have the body that stands here. */
static bool check_linkage(search *s, const bf_rewrite_function *own) {
  const bf_ptx_function *function = own->function;
  if (function->is_entry || !own->is_involved || function->linkage == BF_PTX_PRIVATE ||
      function->linkage == BF_PTX_VISIBLE)
    return true;
  return ADD(s, function->line, "function %s may be replaced by another module's", function->name);
}

/* ---- Variables ---- */

static bool check_variable(search *s, const bf_ptx_variable *variable, bool is_hashed) {
  bool is_open = variable->bytes == 0;
  if (variable->linkage == BF_PTX_EXTERN && !is_open)
    return ADD(s, variable->line, "shared variable %s is defined elsewhere", variable->name);
  if (!is_hashed)
    return true;
  if (variable->linkage == BF_PTX_COMMON)
    return ADD(s, variable->line, "shared variable %s may be replaced by another module's",
               variable->name);
  if (variable->attribute)
    return ADD(s, variable->line, "shared variable %s has attributes", variable->name);
  return true;
}

/* Open arrays have one hash. */
static bool check_open(search *s, const bf_rewrite_use *use) {
  const bf_rewrite_plan *plan = s->plan;
  const bf_ptx_variable *open = plan->variable[use->variable];
  unsigned array = plan->first_open;
  s->out->has_dynamic_shared = true;
  if (!bf_rewrite_use_of(s->kernel, array))
    s->kernel->open_hash = use->hash; /* which stands for all */
  if (!bf_rewrite_same_hash(use->hash, bf_rewrite_array_hash(plan, s->kernel, array)))
    return ADD(s, open->line,
               "shared variables %s and %s start at the same place and need one hash",
               plan->variable[array]->name, open->name);
  return true;
}

/* Where dynamic shared memory starts behind so many bytes of static shared memory. */
static uint64_t dynamic_start(const bf_rewrite_plan *plan, uint64_t static_bytes, unsigned open,
                              bool is_padded) {
  enum { LEAST_ALIGNMENT = 16 };
  unsigned own = bf_rewrite_alignment(plan, open, is_padded);
  uint64_t alignment = own > LEAST_ALIGNMENT ? own : LEAST_ALIGNMENT;
  return (static_bytes + alignment - 1) / alignment * alignment;
}

/* A launch may ask for all the memory there is: dynamic shared memory must not start later than it
 * did. It may end anywhere: GPUs give blocks whole rows (docs/rewrite.md). */
static bool check_room(search *s) {
  const bf_rewrite_plan *plan = s->plan;
  uint64_t before = 0, after = 0, line = 0;
  if (plan->is_examination || plan->padding_has_room)
    return true;
  for (unsigned i = 0; i < s->kernel->uses; i++) {
    const bf_rewrite_use *use = &s->kernel->use[i];
    const bf_ptx_variable *open = plan->variable[use->variable];
    if (open->bytes)
      continue;
    uint64_t old = dynamic_start(plan, s->out->shared_bytes, use->variable, false);
    uint64_t new = dynamic_start(plan, s->out->padded_bytes, use->variable, use->pads);
    before = old > before ? old : before;
    after = new > after ? new : after;
    line = open->line;
  }
  return after <= before || ADD(s, line,
                                "padding moves dynamic shared memory by %llu bytes, for which a "
                                "launch may have no room",
                                (unsigned long long)(after - before));
}

/* Adds up the variables that the kernel can reach. */
static bool check_variables(search *s) {
  const bf_rewrite_plan *plan = s->plan;
  for (unsigned i = 0; i < s->kernel->uses; i++) {
    const bf_rewrite_use *use = &s->kernel->use[i];
    const bf_ptx_variable *variable = plan->variable[use->variable];
    bool is_padded = bf_rewrite_pads(plan, s->kernel, use->variable);
    if (!check_variable(s, variable, is_padded))
      return false;
    if (variable->bytes == 0) {
      if (!check_open(s, use))
        return false;
      continue;
    }
    bf_ptx_variable declared = bf_rewrite_declared(plan, s->kernel, use->variable);
    s->out->shared_bytes = bf_rewrite_append(s->out->shared_bytes, variable);
    s->out->padded_bytes = bf_rewrite_append(s->out->padded_bytes, &declared);
  }
  if (!check_room(s))
    return false;
  if (s->out->padded_bytes <= BF_REWRITE_MOST_STATIC_BYTES)
    return true;
  return ADD(s, 0, "%llu bytes of shared memory, padded to rows, are more than %u",
             (unsigned long long)s->out->padded_bytes, BF_REWRITE_MOST_STATIC_BYTES);
}

/* ---- Kernels ---- */

static bool check_instruction(search *s, const bf_rewrite_function *own, uint32_t index) {
  const bf_ptx_instruction *instruction = own->function->instruction[index];
  const char *text = bf_rewrite_refusal(instruction, own->guards_generic);
  if (text && !ADD(s, instruction->line, "%s", text))
    return false;
  if (own->touch[index].kind == BF_TOUCH_BARRIER) {
    s->out->accesses++;
    s->out->exempt++;
    if (!s->knows_barriers &&
        !ADD(s, instruction->line, "mbarrier objects that cannot be told from data"))
      return false;
  }
  if (bf_rewrite_is_hashed(own, index)) {
    s->out->accesses++;
    unsigned granule = bf_rewrite_granule(&own->touch[index]);
    if (granule > s->out->granule_bytes)
      s->out->granule_bytes = granule;
  }
  return check_call(s, instruction);
}

/* Blocks of a cluster see each other's shared memory. */
static bool check_directives(search *s, const bf_ptx_function *function) {
  static const char *const cluster[] = {"explicitcluster", "reqnctapercluster", "maxclusterrank"};
  for (unsigned i = 0; i < function->directives.count; i++)
    for (size_t k = 0; k < sizeof cluster / sizeof *cluster; k++)
      if (strcmp(function->directives.item[i].name, cluster[k]) == 0 &&
          !ADD(s, function->line, "a kernel of a cluster (.%s)", cluster[k]))
        return false;
  return true;
}

/* Shared memory whose size the host chooses for each parameter. */
static bool check_parameters(search *s, const bf_ptx_function *function) {
  for (unsigned i = 0; i < function->parameters.count; i++) {
    const bf_ptx_variable *parameter = &function->parameters.item[i];
    if (parameter->is_pointer && parameter->pointer_space == BF_PTX_SPACE_SHARED &&
        !ADD(s, parameter->line, "parameter %s points to shared memory", parameter->name))
      return false;
  }
  return true;
}

/* ---- Hashes ---- */

/* Where arrays have hashes of their own, an access must be to one of them. */
static bool check_origin(search *s, const bf_rewrite_function *own, uint32_t index) {
  const bf_rewrite_plan *plan = s->plan;
  bf_rewrite_origin origin = own->origin[index];
  uint64_t line = own->function->instruction[index]->line;
  if (own->touch[index].kind == BF_TOUCH_GENERIC && !own->touch[index].is_tile)
    return ADD(s, line, "a generic access, where arrays have hashes of their own");
  if (origin.first == BF_REWRITE_ELSEWHERE)
    return true;
  if (origin.first < 0)
    return ADD(s, line,
               "an access to an array that is not known, where arrays have hashes of "
               "their own");
  if (origin.second >= 0)
    return ADD(s, line, "an access to %s or to %s, which have hashes of their own",
               plan->variable[origin.first]->name, plan->variable[origin.second]->name);
  return true;
}

/* A bulk copy moves bytes as they lie, by itself. The swizzle of one of a tensor depends on where
 * its array lies: no other array that grows may move it. */
static bool check_copy(search *s, const bf_rewrite_function *own, uint32_t index,
                       const bf_hash *hash) {
  enum { SWIZZLE_BYTES = 1024 }; /* after which all of them repeat (docs/hopper.md) */
  const bf_ptx_instruction *instruction = own->function->instruction[index];
  int array = own->origin[index].first;
  if (hash)
    return ADD(s, instruction->line, "a bulk copy of shared memory that is hashed");
  if (bf_ptx_has(instruction, "tensor") && s->kernel->differs && array >= 0 &&
      s->plan->variable[array]->alignment_bytes % SWIZZLE_BYTES)
    return ADD(
        s, instruction->line,
        "a tensor copy of %s, whose start is no multiple of %d bytes: its swizzle depends on "
        "where it lies",
        s->plan->variable[array]->name, SWIZZLE_BYTES);
  return true;
}

/* The hash must keep the access in one piece. */
static bool check_granule(search *s, const bf_rewrite_function *own, uint32_t index) {
  const bf_hash *hash = bf_rewrite_hash_at(s->plan, s->kernel, own, index);
  uint64_t granule = hash ? bf_hash_granule_words(hash) * BF_REWRITE_WORD_BYTES : UINT64_MAX;
  if (own->touch[index].is_tile && hash)
    return ADD(s, own->function->instruction[index]->line,
               "wmma on shared memory that is hashed: it has one address and one stride for all "
               "lines of a tile, which a hash moves apart");
  if (own->touch[index].is_copy)
    return check_copy(s, own, index, hash);
  if (own->touch[index].width_bytes <= granule)
    return true;
  return ADD(s, own->function->instruction[index]->line,
             "an access of %u bytes, of which the hash keeps %llu together",
             own->touch[index].width_bytes, (unsigned long long)granule);
}

/* An access whose address is known to be no multiple of its width: GPUs refuse it, and a hash could
 * take it apart. */
static bool check_alignment(search *s, const bf_rewrite_function *own, uint32_t index,
                            const uint64_t *zeros) {
  const bf_ptx_instruction *instruction = own->function->instruction[index];
  const bf_ptx_operand *address = &instruction->operand[own->touch[index].operand];
  const bf_ptx_operand *base = &address->item[0];
  uint64_t offset = (uint64_t)address->offset, width = own->touch[index].width_bytes;
  unsigned known = BF_REWRITE_ROW_BITS;
  if (s->kernel->refused || own->touch[index].kind != BF_TOUCH_SHARED ||
      own->touch[index].is_tile || own->touch[index].is_copy)
    return true; /* its form may be one that is not understood */
  if (base->kind == BF_PTX_REGISTER)
    known = bf_rewrite_low_zeros(zeros[base->registers->first + base->index]);
  else if (base->kind == BF_PTX_SYMBOL)
    known = bf_rewrite_zeros_of_variable(s->plan, s->kernel, base->symbol->variable);
  offset += base->kind == BF_PTX_SYMBOL ? (uint64_t)base->offset : 0;
  offset += base->kind == BF_PTX_INTEGER ? base->bits : 0;
  uint64_t low = offset & (((uint64_t)1 << known) - 1); /* known bits of the address */
  if ((width & (width - 1)) || (low & (width - 1)) == 0)
    return true;
  return ADD(s, instruction->line, "an access that is not aligned to its width of %llu bytes",
             (unsigned long long)width);
}

/* Accesses under the hashes that are asked for. */
static bool check_hashes(search *s) {
  for (unsigned n = 0; n < s->kernel->reached.count; n++) {
    const bf_rewrite_function *own = &s->plan->function[s->kernel->reached.item[n]];
    const uint64_t *zeros = bf_rewrite_zeros(s->plan, s->kernel, own);
    if (!zeros)
      return false;
    for (uint32_t i = 0; i < own->function->instructions; i++) {
      if (!bf_rewrite_is_hashed(own, i))
        continue;
      if (s->kernel->differs && !check_origin(s, own, i))
        return false;
      if (!check_granule(s, own, i) || !check_alignment(s, own, i, zeros))
        return false;
    }
  }
  return true;
}

bool bf_rewrite_find_obstacles(bf_rewrite_plan *plan, bf_rewrite_kernel_plan *kernel,
                               bf_rewrite_kernel *out) {
  search s = {plan, kernel, out, false};
  if (!bf_rewrite_knows_barriers(plan, kernel, &s.knows_barriers))
    return false;
  const bf_ptx_function *entry = plan->function[kernel->index].function;
  if (!check_directives(&s, entry) || !check_parameters(&s, entry))
    return false;
  for (unsigned n = 0; n < kernel->reached.count; n++) {
    const bf_rewrite_function *own = &plan->function[kernel->reached.item[n]];
    for (uint32_t i = 0; i < own->function->instructions; i++)
      if (!check_instruction(&s, own, i))
        return false;
    if (!check_linkage(&s, own))
      return false;
  }
  return check_variables(&s) && check_hashes(&s) && bf_rewrite_check_padding(plan, kernel, out) &&
         bf_rewrite_list_arrays(plan, kernel, out);
}
