/* Inside room api: launches of the caller on the emulator, whose buffers are copied there and
 * back. */
#ifndef BF_API_LAUNCH_H
#define BF_API_LAUNCH_H

#include "api/api.h"
#include "emu/emu.h"

/* A buffer of the caller on a device. */
typedef struct bf_api_buffer {
  bf_argument given;
  uint64_t address;
  char name[96]; /* the parameter that it was made for */
} bf_api_buffer;

/* A device with one module and the buffers of all its launches. */
typedef struct bf_api_device {
  bf_emu *emu;
  bf_emu_module *module;
  bf_api_buffer *buffer;
  size_t buffers, capacity;
  uint8_t *parameters; /* of the last launch */
} bf_api_device;

/* Loads the module, which is borrowed. Close also after an error. */
int bf_api_device_open(const bf_ptx_module *ptx, bf_api_device *device, bf_diagnostic *diagnostic);
void bf_api_device_close(bf_api_device *device);
/* Makes a launch ready to run, except for its observer; buffers that earlier launches had keep what
 * is in them. It is good until the next one. */
int bf_api_device_prepare(bf_api_device *device, const bf_api_kernel *kernel,
                          const bf_launch *given, bf_emu_launch *launch, bf_diagnostic *diagnostic);
/* Copies buffers to where the caller wants them. */
void bf_api_device_copy_back(const bf_api_device *device);
/* The name of the buffer that starts at an address; NULL: there is none. */
const char *bf_api_device_buffer_at(const void *device, uint64_t address);

/* The fault of a kernel as an error at its source line, or at its line of the PTX, whose name is
 * file. */
int bf_api_fault(const bf_emu_fault *fault, const char *file, bf_diagnostic *diagnostic);
/* An error for more threads than can run a launch. */
int bf_api_check_threads(unsigned threads, bf_diagnostic *diagnostic);

#endif
