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

API(cudaIpcOpenMemHandle, void **address, rt_ipc_handle from, unsigned flags) {
  RT_ENTER_DEVICE(context);
  handle given;
  bf_diagnostic diagnostic;
  if (!address || flags > 1 || !read_handle(&from, memory_magic, &given))
    return rt_leave(context, cudaErrorInvalidValue);
  void *memory = map_memory(&given);
  if (!memory)
    return rt_leave(context, cudaErrorMapBufferObjectFailed);
  if (bf_emu_register(context->emu, memory, given.bytes, RT_MAPPED | RT_IMPORTED, &diagnostic) !=
      BF_OK) {
    munmap(memory, given.bytes);
    return rt_leave(context, cudaErrorMemoryAllocation);
  }
  *address = memory;
  return rt_leave(context, cudaSuccess);
}

API(cudaIpcCloseMemHandle, void *address) {
  RT_SYNCHRONISE(context);
  bf_emu_range range;
  bf_diagnostic diagnostic;
  uint64_t at = (uint64_t)(uintptr_t)address;
  if (!bf_emu_find(context->emu, at, &range) || range.address != at || !(range.flags & RT_IMPORTED))
    return rt_leave(context, cudaErrorInvalidValue);
  bf_emu_release(context->emu, at, &diagnostic);
  munmap(address, range.bytes);
  return rt_leave(context, cudaSuccess);
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
