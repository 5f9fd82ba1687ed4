/* Memory and events that several processes use. Memory of which a process asks for a handle becomes
 * a file of the kernel's (memfd), at the same addresses; another process finds the file through
 * /proc and maps it. Work is done when the call that asks for it returns, so that an event of
 * another process, once it is recorded, has happened. */
#include "context.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The emulator gives allocations of that size whole pages (emu/device.c). */
enum { PAGE = 4096, PAGED_BYTES = 1 << 14 };

/* What a handle holds. */
typedef struct handle {
  char magic[8];
  int64_t process;
  int32_t descriptor;
  uint64_t bytes; /* of the allocation */
} handle;
static const char memory_magic[8] = "bfipcmem", event_magic[8] = "bfipcevt";

/* The handle in the 64 bytes of a program; false where they hold something else. */
static bool read_handle(const rt_ipc_handle *from, const char magic[8], handle *to) {
  memcpy(to, from->bytes, sizeof *to);
  return memcmp(to->magic, magic, 8) == 0;
}

static void write_handle(rt_ipc_handle *to, const handle *from) {
  memset(to, 0, sizeof *to);
  memcpy(to->bytes, from, sizeof *from);
}

/* ---- Giving ---- */

/* Memory that others may use. */
typedef struct rt_export {
  int descriptor;
  uint64_t bytes; /* whole pages */
} rt_export;

/* Makes the pages of an allocation those of a file, with the same content; the descriptor, or -1.
 */
static int make_file(void *memory, uint64_t bytes) {
  int descriptor = memfd_create("bankfold", MFD_CLOEXEC);
  uint64_t done = 0;
  if (descriptor < 0 || ftruncate(descriptor, (off_t)bytes) != 0)
    done = bytes + 1;
  while (done < bytes) {
    ssize_t written = pwrite(descriptor, (char *)memory + done, bytes - done, (off_t)done);
    done = written > 0 ? done + (uint64_t)written : bytes + 1;
  }
  if (done == bytes && mmap(memory, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                            descriptor, 0) != MAP_FAILED)
    return descriptor;
  if (descriptor >= 0)
    close(descriptor);
  return -1;
}

/* The export of an allocation, made at the first call; NULL where that fails. */
static rt_export *export_of(rt_context *context, const bf_emu_range *range) {
  void *memory = (void *)(uintptr_t)range->address;
  rt_export *made = rt_map_get(&context->exports, memory);
  if (made || !(made = malloc(sizeof *made)))
    return made;
  *made = (rt_export){-1, (range->bytes + PAGE - 1) / PAGE * PAGE};
  if (rt_map_put(&context->exports, memory, made) &&
      (made->descriptor = make_file(memory, made->bytes)) >= 0)
    return made;
  rt_map_remove(&context->exports, memory);
  free(made);
  return NULL;
}

void rt_end_export(rt_context *context, void *memory) {
  rt_export *export = rt_map_get(&context->exports, memory);
  if (!export)
    return;
  mmap(memory, export->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
       0);
  close(export->descriptor);
  rt_map_remove(&context->exports, memory);
  free(export);
}

API(cudaIpcGetMemHandle, rt_ipc_handle *to, void *address) {
  RT_ENTER_DEVICE(context);
  bf_emu_range range;
  if (!to || !bf_emu_find(context->emu, (uint64_t)(uintptr_t)address, &range) ||
      range.memory != BF_EMU_DEVICE || (range.flags & RT_MANAGED))
    return rt_leave(context, cudaErrorInvalidValue);
  if (range.address % PAGE || range.bytes < PAGED_BYTES) {
    rt_say(context, "cudaIpcGetMemHandle: an allocation under %d bytes cannot be shared",
           PAGED_BYTES);
    return rt_leave(context, cudaErrorNotSupported);
  }
  const rt_export *export = export_of(context, &range);
  if (!export)
    return rt_leave(context, cudaErrorMemoryAllocation);
  handle made = {.process = getpid(), .descriptor = export->descriptor, .bytes = range.bytes};
  memcpy(made.magic, memory_magic, 8);
  write_handle(to, &made);
  return rt_leave(context, cudaSuccess);
}

/* ---- Taking ---- */

/* Maps the memory of a handle; NULL where there is none. */
static void *map_memory(const handle *from) {
  char path[64];
  struct stat status;
  snprintf(path, sizeof path, "/proc/%lld/fd/%d", (long long)from->process, (int)from->descriptor);
  int descriptor = open(path, O_RDWR | O_CLOEXEC);
  if (descriptor < 0)
    return NULL;
  void *memory = MAP_FAILED;
  if (fstat(descriptor, &status) == 0 && from->bytes && (uint64_t)status.st_size >= from->bytes)
    memory = mmap(NULL, from->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  return memory == MAP_FAILED ? NULL : memory;
}

/* Maps the memory of a handle for kernels, with flags of its own; a cudaError. */
static int import(rt_context *context, const rt_ipc_handle *from, unsigned flags, void **address) {
  handle given;
  bf_diagnostic diagnostic;
  if (!address || !from || !read_handle(from, memory_magic, &given))
    return cudaErrorInvalidValue;
  void *memory = map_memory(&given);
  if (!memory)
    return cudaErrorMapBufferObjectFailed;
  flags |= RT_MAPPED | RT_IMPORTED;
  if (bf_emu_register(context->emu, memory, given.bytes, flags, &diagnostic) != BF_OK) {
    munmap(memory, given.bytes);
    return cudaErrorMemoryAllocation;
  }
  *address = memory;
  return cudaSuccess;
}

bool rt_end_import(rt_context *context, void *address, unsigned flags) {
  bf_emu_range range;
  bf_diagnostic diagnostic;
  uint64_t at = (uint64_t)(uintptr_t)address;
  if (!bf_emu_find(context->emu, at, &range) || range.address != at ||
      (range.flags & flags) != flags)
    return false;
  bf_emu_release(context->emu, at, &diagnostic);
  munmap(address, range.bytes);
  return true;
}

API(cudaIpcOpenMemHandle, void **address, rt_ipc_handle from, unsigned flags) {
  RT_ENTER_DEVICE(context);
  return rt_leave(context,
                  flags > 1 ? (int)cudaErrorInvalidValue : import(context, &from, 0, address));
}

API(cudaIpcCloseMemHandle, void *address) {
  RT_SYNCHRONISE(context);
  return rt_leave(context, rt_end_import(context, address, RT_IMPORTED) ? cudaSuccess
                                                                        : cudaErrorInvalidValue);
}

/* ---- Pools ---- */

/* The kind of handle that programs hand to each other: a descriptor of a file. */
enum { FILE_DESCRIPTOR = 1 };

/* The file of a pool is empty: memory has files of its own. */
API(cudaMemPoolExportToShareableHandle, void *to, void *pool, int type, unsigned flags) {
  RT_ENTER_DEVICE(context);
  const rt_object *object = rt_map_get(&context->objects, pool);
  if (!to || !object || object->kind != RT_POOL || flags)
    return rt_leave(context, cudaErrorInvalidValue);
  if (type != FILE_DESCRIPTOR)
    return rt_leave(context, cudaErrorNotSupported);
  int descriptor = memfd_create("bankfold pool", MFD_CLOEXEC);
  *(int *)to = descriptor;
  return rt_leave(context, descriptor < 0 ? cudaErrorOperatingSystem : cudaSuccess);
}

API(cudaMemPoolImportFromShareableHandle, void **pool, void *from, int type, unsigned flags) {
  static const char any_properties[64]; /* as large as what a program gives: no bound */
  struct stat status;
  if (type == FILE_DESCRIPTOR && !flags && fstat((int)(intptr_t)from, &status) == 0)
    return cudaMemPoolCreate(pool, any_properties);
  RT_ENTER_DEVICE(context);
  return rt_leave(context, cudaErrorInvalidValue);
}

API(cudaMemPoolExportPointer, rt_ipc_handle *to, void *address) {
  return cudaIpcGetMemHandle(to, address);
}

API(cudaMemPoolImportPointer, void **address, const void *pool, const rt_ipc_handle *from) {
  RT_ENTER_DEVICE(context);
  const rt_object *object = rt_map_get(&context->objects, pool);
  bool is_pool = object && object->kind == RT_POOL;
  return rt_leave(context,
                  is_pool ? import(context, from, RT_POOLED, address) : (int)cudaErrorInvalidValue);
}

/* ---- Events ---- */

/* Flags of events: without a time, and for several processes. */
enum { NO_TIMING = 2, INTERPROCESS = 4 };

API(cudaIpcGetEventHandle, rt_ipc_handle *to, void *event) {
  RT_ENTER_DEVICE(context);
  const rt_object *object = rt_map_get(&context->objects, event);
  if (!to || !object || object->kind != RT_EVENT)
    return rt_leave(context, to ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
  if (!(object->flags & INTERPROCESS))
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  handle made = {.process = getpid()};
  memcpy(made.magic, event_magic, 8);
  write_handle(to, &made);
  return rt_leave(context, cudaSuccess);
}

API(cudaIpcOpenEventHandle, void **event, rt_ipc_handle from) {
  handle given;
  if (!event || !read_handle(&from, event_magic, &given)) {
    RT_ENTER_DEVICE(context);
    return rt_leave(context, cudaErrorInvalidValue);
  }
  return cudaEventCreateWithFlags(event, NO_TIMING | INTERPROCESS);
}
