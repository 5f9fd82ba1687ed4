/* Virtual memory: addresses are reserved, memory is created, and mapped there. Memory is a file of
 * the kernel's (memfd), so that it can be mapped twice and handed to another process. Kernels may
 * use addresses once access is set; neighbouring ones of a reservation count as one piece. */
#include "driver.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Sizes and addresses are multiples of this, as on the GPUs that programs see. */
#define GRANULE ((size_t)2 << 20)

/* What memory shall be: CUmemAllocationProp. */
typedef struct properties {
  int type, handle_types;
  rt_location location;
  void *unused;
  unsigned char flags[8];
} properties;
enum { PINNED = 1, ON_DEVICE = 1, LAST_LOCATION = 4, IS_DESCRIPTOR = 1 };

/* Memory that was created. It lives until it is released and mapped nowhere. */
typedef struct dr_allocation {
  uint64_t handle;
  int descriptor;
  size_t bytes;
  properties how;
  unsigned uses; /* by the program and by mappings */
} dr_allocation;

/* A piece of memory in a reservation. */
typedef struct mapping {
  struct mapping *next; /* by address */
  dr_address address;
  size_t bytes;
  dr_allocation *memory;
  int access; /* 0: none, 1: read, 3: read and write */
} mapping;

/* Addresses that were reserved. */
typedef struct dr_reservation {
  struct dr_reservation *next;
  dr_address address;
  size_t bytes;
  mapping *mappings;
} dr_reservation;

static bool is_whole(uint64_t number) { return number && number % GRANULE == 0; }

/* ---- Addresses ---- */

/* The reservation that holds a range; NULL where there is none. */
static dr_reservation *find_reservation(const rt_context *context, dr_address address,
                                        size_t bytes) {
  for (dr_reservation *r = context->driver->reservations; r; r = r->next)
    if (address >= r->address && address - r->address < r->bytes &&
        bytes <= r->bytes - (address - r->address))
      return r;
  return NULL;
}

/* Addresses that nobody may use, aligned; NULL where there are none. */
static char *reserve(size_t bytes, size_t alignment, dr_address wanted) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  size_t all;
  if (wanted && wanted % alignment == 0) {
    char *there = mmap(dr_pointer(wanted), bytes, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
    if (there == dr_pointer(wanted))
      return there;
    if (there != MAP_FAILED)
      munmap(there, bytes);
  }
  if (__builtin_add_overflow(bytes, alignment, &all))
    return NULL;
  char *begin = mmap(NULL, all, PROT_NONE, flags, -1, 0);
  if (begin == MAP_FAILED)
    return NULL;
  size_t before = (alignment - (uintptr_t)begin % alignment) % alignment;
  if (before)
    munmap(begin, before);
  if (alignment - before)
    munmap(begin + before + bytes, alignment - before);
  return begin + before;
}

API(cuMemAddressReserve, dr_address *address, size_t bytes, size_t alignment, dr_address wanted,
    uint64_t flags) {
  DR_CHECK_ON();
  bool is_power = (alignment & (alignment - 1)) == 0;
  if (!address || !is_whole(bytes) || !is_power || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  dr_reservation *made = calloc(1, sizeof *made);
  char *begin = made ? reserve(bytes, alignment > GRANULE ? alignment : GRANULE, wanted) : NULL;
  if (!begin) {
    free(made);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  rt_context *context = rt_enter();
  *made =
      (dr_reservation){context->driver->reservations, (dr_address)(uintptr_t)begin, bytes, NULL};
  context->driver->reservations = made;
  *address = made->address;
  return rt_leave(context, CUDA_SUCCESS);
}

API(cuMemAddressFree, dr_address address, size_t bytes) {
  DR_CHECK_ON();
  rt_context *context = rt_enter();
  dr_reservation **at = &context->driver->reservations;
  while (*at && ((*at)->address != address || (*at)->bytes != bytes))
    at = &(*at)->next;
  dr_reservation *found = *at;
  if (!found || found->mappings)
    return rt_leave(context, CUDA_ERROR_INVALID_VALUE);
  *at = found->next;
  munmap(dr_pointer(address), bytes);
  free(found);
  return rt_leave(context, CUDA_SUCCESS);
}

/* ---- Memory ---- */

static dr_allocation *find_memory(const rt_context *context, uint64_t handle) {
  return rt_map_get(&context->driver->allocations, dr_pointer(handle));
}

/* Whether memory of that kind can be. */
static bool can_be(const properties *how) {
  return how && how->type == PINNED && how->location.type >= ON_DEVICE &&
         how->location.type <= LAST_LOCATION &&
         (how->location.type != ON_DEVICE || how->location.number == 0) &&
         (how->handle_types & ~IS_DESCRIPTOR) == 0;
}

/* Makes memory of a file known, which it takes over; a CUresult. */
static int add_memory(int descriptor, size_t bytes, const properties *how, uint64_t *handle) {
  rt_context *context = rt_enter();
  dr_allocation *made = calloc(1, sizeof *made);
  uint64_t number = ++context->driver->allocations_made;
  if (!made || !rt_map_put(&context->driver->allocations, dr_pointer(number), made)) {
    free(made);
    close(descriptor);
    return rt_leave(context, CUDA_ERROR_OUT_OF_MEMORY);
  }
  *made = (dr_allocation){number, descriptor, bytes, *how, 1};
  *handle = number;
  return rt_leave(context, CUDA_SUCCESS);
}

/* Ends one use of memory. */
static void give_back(rt_context *context, dr_allocation *memory) {
  if (--memory->uses)
    return;
  rt_map_remove(&context->driver->allocations, dr_pointer(memory->handle));
  close(memory->descriptor);
  free(memory);
}

/* Whether the device still has that much memory. */
static bool has_room(size_t bytes) {
  size_t available = 0, total = 0;
  return cudaMemGetInfo(&available, &total) == cudaSuccess && bytes <= available;
}

API(cuMemCreate, uint64_t *handle, size_t bytes, const properties *how, uint64_t flags) {
  DR_CHECK_ON();
  if (!handle || !is_whole(bytes) || !can_be(how) || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  int descriptor = has_room(bytes) ? memfd_create("bankfold", MFD_CLOEXEC) : -1;
  if (descriptor < 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  if (ftruncate(descriptor, (off_t)bytes) != 0) {
    close(descriptor);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  return add_memory(descriptor, bytes, how, handle);
}

API(cuMemRelease, uint64_t handle) {
  DR_CHECK_ON();
  rt_context *context = rt_enter();
  dr_allocation *memory = find_memory(context, handle);
  if (memory)
    give_back(context, memory);
  return rt_leave(context, memory ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

API(cuMemGetAllocationGranularity, size_t *bytes, const properties *how, int option) {
  DR_CHECK_ON();
  if (!bytes || !can_be(how) || option < 0 || option > 1)
    return CUDA_ERROR_INVALID_VALUE;
  *bytes = GRANULE;
  return CUDA_SUCCESS;
}

API(cuMemGetAllocationPropertiesFromHandle, properties *to, uint64_t handle) {
  DR_CHECK_ON();
  rt_context *context = rt_enter();
  const dr_allocation *memory = find_memory(context, handle);
  if (memory && to)
    *to = memory->how;
  return rt_leave(context, memory && to ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* Handles for other processes are descriptors of files. */
API(cuMemExportToShareableHandle, void *to, uint64_t handle, int type, uint64_t flags) {
  DR_CHECK_ON();
  rt_context *context = rt_enter();
  const dr_allocation *memory = find_memory(context, handle);
  bool is_fine = to && memory && type == IS_DESCRIPTOR && flags == 0 &&
                 (memory->how.handle_types & IS_DESCRIPTOR);
  int copy = is_fine ? fcntl(memory->descriptor, F_DUPFD_CLOEXEC, 0) : -1;
  rt_leave(context, cudaSuccess);
  if (copy >= 0)
    *(int *)to = copy;
  return copy >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API(cuMemImportFromShareableHandle, uint64_t *handle, void *from, int type) {
  DR_CHECK_ON();
  struct stat status;
  int given = (int)(intptr_t)from;
  if (!handle || type != IS_DESCRIPTOR || fstat(given, &status) != 0 ||
      !is_whole((uint64_t)status.st_size))
    return CUDA_ERROR_INVALID_VALUE;
  int copy = fcntl(given, F_DUPFD_CLOEXEC, 0);
  if (copy < 0)
    return CUDA_ERROR_OPERATING_SYSTEM;
  properties how = {.type = PINNED, .handle_types = IS_DESCRIPTOR, .location = {ON_DEVICE, 0}};
  return add_memory(copy, (size_t)status.st_size, &how, handle);
}

/* ---- What kernels see ---- */

/* Takes the pieces of a reservation that kernels may use from the emulator. */
static void hide(rt_context *context, const dr_reservation *in) {
  bf_emu_range range;
  bf_diagnostic diagnostic;
  for (const mapping *m = in->mappings; m; m = m->next)
    if (bf_emu_find(context->emu, m->address, &range) && range.address == m->address)
      bf_emu_release(context->emu, m->address, &diagnostic);
}

/* Shows them again: neighbours that may be used are one piece. A CUresult. */
static int show(rt_context *context, const dr_reservation *in) {
  bf_diagnostic diagnostic;
  for (const mapping *m = in->mappings; m;) {
    const mapping *first = m;
    size_t bytes = 0;
    for (; m && m->access && m->address == first->address + bytes; m = m->next)
      bytes += m->bytes;
    if (bytes && bf_emu_register(context->emu, dr_pointer(first->address), bytes, RT_MAPPED,
                                 &diagnostic) != BF_OK)
      return CUDA_ERROR_OUT_OF_MEMORY;
    if (!bytes)
      m = m->next;
  }
  return CUDA_SUCCESS;
}

/* ---- Mappings ---- */

/* Where a mapping of a range belongs in a reservation; NULL where there is one already. */
static mapping **place_for(dr_reservation *in, dr_address address, size_t bytes) {
  mapping **at = &in->mappings;
  while (*at && (*at)->address + (*at)->bytes <= address)
    at = &(*at)->next;
  return *at && (*at)->address < address + bytes ? NULL : at;
}

API(cuMemMap, dr_address address, size_t bytes, size_t offset, uint64_t handle, uint64_t flags) {
  DR_CHECK_ON();
  if (!is_whole(bytes) || address % GRANULE || offset != 0 || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  rt_context *context = rt_enter();
  dr_allocation *memory = find_memory(context, handle);
  dr_reservation *in = find_reservation(context, address, bytes);
  mapping **at = in ? place_for(in, address, bytes) : NULL;
  if (!memory || bytes > memory->bytes || !at)
    return rt_leave(context, CUDA_ERROR_INVALID_VALUE);
  mapping *made = malloc(sizeof *made);
  void *there = made ? mmap(dr_pointer(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED,
                            memory->descriptor, 0)
                     : MAP_FAILED;
  if (there == MAP_FAILED) {
    free(made);
    return rt_leave(context, CUDA_ERROR_OUT_OF_MEMORY);
  }
  *made = (mapping){*at, address, bytes, memory, 0};
  *at = made;
  memory->uses++;
  return rt_leave(context, CUDA_SUCCESS);
}

/* Whether mappings fill a range whole. */
static bool is_filled(const dr_reservation *in, dr_address address, size_t bytes) {
  dr_address end = address + bytes;
  for (const mapping *m = in->mappings; m && address < end; m = m->next)
    if (m->address == address && m->bytes <= end - address)
      address += m->bytes;
  return address == end;
}

/* Removes the mappings of a range, which they fill. */
static void unmap(rt_context *context, dr_reservation *in, dr_address address, size_t bytes) {
  for (mapping **at = &in->mappings; *at;) {
    mapping *m = *at;
    if (m->address < address || m->address >= address + bytes) {
      at = &m->next;
      continue;
    }
    *at = m->next;
    mmap(dr_pointer(m->address), m->bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    give_back(context, m->memory);
    free(m);
  }
}

API(cuMemUnmap, dr_address address, size_t bytes) {
  DR_CHECK_ON();
  rt_context *context = rt_enter();
  dr_reservation *in = bytes ? find_reservation(context, address, bytes) : NULL;
  if (!in || !is_filled(in, address, bytes))
    return rt_leave(context, CUDA_ERROR_INVALID_VALUE);
  hide(context, in);
  unmap(context, in, address, bytes);
  return rt_leave(context, show(context, in));
}

/* ---- Access ---- */

/* Who may do what: CUmemAccessDesc. */
typedef struct access_wanted {
  rt_location location;
  int flags; /* 0: nothing, 1: read, 3: read and write */
} access_wanted;

API(cuMemSetAccess, dr_address address, size_t bytes, const access_wanted *wanted, size_t count) {
  DR_CHECK_ON();
  rt_context *context = rt_enter();
  dr_reservation *in = bytes ? find_reservation(context, address, bytes) : NULL;
  if (!in || !wanted || count == 0 || !is_filled(in, address, bytes))
    return rt_leave(context, CUDA_ERROR_INVALID_VALUE);
  int access = 0;
  for (size_t i = 0; i < count; i++) {
    bool is_known =
        wanted[i].location.type >= ON_DEVICE && wanted[i].location.type <= LAST_LOCATION;
    if (!is_known || (wanted[i].flags != 0 && wanted[i].flags != 1 && wanted[i].flags != 3))
      return rt_leave(context, CUDA_ERROR_INVALID_VALUE);
    access |= wanted[i].flags;
  }
  hide(context, in);
  for (mapping *m = in->mappings; m; m = m->next)
    if (m->address >= address && m->address < address + bytes) {
      m->access = access;
      mprotect(dr_pointer(m->address), m->bytes, access ? PROT_READ | PROT_WRITE : PROT_NONE);
    }
  return rt_leave(context, show(context, in));
}

/* The mapping of an address; NULL where there is none. */
static const mapping *find_mapping(const rt_context *context, dr_address address) {
  const dr_reservation *in = find_reservation(context, address, 1);
  for (const mapping *m = in ? in->mappings : NULL; m; m = m->next)
    if (address >= m->address && address - m->address < m->bytes)
      return m;
  return NULL;
}

API(cuMemGetAccess, uint64_t *flags, const rt_location *location, dr_address address) {
  DR_CHECK_ON();
  rt_context *context = rt_enter();
  const mapping *found = find_mapping(context, address);
  if (found && flags && location)
    *flags = (uint64_t)found->access;
  return rt_leave(context, found && flags && location ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

API(cuMemRetainAllocationHandle, uint64_t *handle, void *address) {
  DR_CHECK_ON();
  rt_context *context = rt_enter();
  const mapping *found = find_mapping(context, (dr_address)(uintptr_t)address);
  if (found && handle) {
    found->memory->uses++;
    *handle = found->memory->handle;
  }
  return rt_leave(context, found && handle ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
