/* libnvidia-ml.so.1, NVIDIA's management library, for programs that ask it about the device that
 * they run on: its one device is that of Bankfold's libcuda.so.1, which answers. What only a GPU
 * has (power, temperature, fans) is not supported. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Results, numbered as in nvml.h. */
enum {
  SUCCESS,
  UNINITIALIZED,
  INVALID_ARGUMENT,
  NOT_SUPPORTED,
  NOT_FOUND = 6,
  INSUFFICIENT_SIZE,
  DRIVER_NOT_LOADED = 9,
};

#define API(name, ...)                                                                             \
  int name(__VA_ARGS__);                                                                           \
  int name(__VA_ARGS__)
/* The same function by an older or newer name. */
#define ALIAS(name, of) extern __typeof__(of) name __attribute__((alias(#of)))

/* ---- The driver ---- */

/* Attributes of cuDeviceGetAttribute. */
enum {
  CLOCK_KHZ = 13,
  PCI_BUS = 33,
  PCI_DEVICE = 34,
  MEMORY_CLOCK_KHZ = 36,
  BUS_BITS = 37,
  PCI_DOMAIN = 50,
  MAJOR = 75,
  MINOR = 76,
};

static void *driver; /* NULL: not initialised */
static unsigned uses;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A function of the driver with these types of arguments. */
#define DRIVER(name, types) ((int(*) types)(uintptr_t)dlsym(driver, name))

static int attribute(int number) {
  int value = 0;
  return DRIVER("cuDeviceGetAttribute", (int *, int, int))(&value, number, 0) ? 0 : value;
}

API(nvmlInit_v2, void) {
  pthread_mutex_lock(&lock);
  if (!driver)
    driver = dlopen("libcuda.so.1", RTLD_NOW);
  bool is_there = driver && dlsym(driver, "cuInit") && !DRIVER("cuInit", (unsigned))(0);
  uses += is_there;
  pthread_mutex_unlock(&lock);
  return is_there ? SUCCESS : DRIVER_NOT_LOADED;
}
ALIAS(nvmlInit, nvmlInit_v2);
API(nvmlInitWithFlags, unsigned flags) {
  (void)flags;
  return nvmlInit_v2();
}

API(nvmlShutdown, void) {
  pthread_mutex_lock(&lock);
  int result = uses ? SUCCESS : UNINITIALIZED;
  uses -= uses > 0;
  pthread_mutex_unlock(&lock);
  return result;
}

const char *nvmlErrorString(int result);
const char *nvmlErrorString(int result) {
  static const char *const texts[] = {
      [SUCCESS] = "Success",
      [UNINITIALIZED] = "Uninitialized",
      [INVALID_ARGUMENT] = "Invalid Argument",
      [NOT_SUPPORTED] = "Not Supported",
      [NOT_FOUND] = "Not Found",
      [INSUFFICIENT_SIZE] = "Insufficient Size",
      [DRIVER_NOT_LOADED] = "Driver Not Loaded",
  };
  bool is_known = result >= 0 && result < (int)(sizeof texts / sizeof *texts) && texts[result];
  return is_known ? texts[result] : "Unknown Error";
}

/* ---- Devices: a handle is the address of this ---- */

static int the_device;

/* Whether a call about the device can be answered; a result. */
static int check(const void *device, const void *to) {
  if (!uses)
    return UNINITIALIZED;
  return device == &the_device && to ? SUCCESS : INVALID_ARGUMENT;
}
#define CHECK(device, to)                                                                          \
  do {                                                                                             \
    int check_result = check(device, to);                                                          \
    if (check_result != SUCCESS)                                                                   \
      return check_result;                                                                         \
  } while (0)

/* Text for a program's buffer; a result. */
static int hand_over(const char *text, char *to, unsigned bytes) {
  if (strlen(text) >= bytes)
    return INSUFFICIENT_SIZE;
  memcpy(to, text, strlen(text) + 1);
  return SUCCESS;
}

API(nvmlDeviceGetCount_v2, unsigned *count) {
  CHECK(&the_device, count);
  *count = 1;
  return SUCCESS;
}
ALIAS(nvmlDeviceGetCount, nvmlDeviceGetCount_v2);

API(nvmlDeviceGetHandleByIndex_v2, unsigned index, void **device) {
  CHECK(&the_device, device);
  *device = &the_device;
  return index == 0 ? SUCCESS : INVALID_ARGUMENT;
}
ALIAS(nvmlDeviceGetHandleByIndex, nvmlDeviceGetHandleByIndex_v2);

/* GPU- and sixteen bytes in hexadecimal digits. */
static int uuid_text(char text[80]) {
  unsigned char uuid[16];
  int length = snprintf(text, 80, "GPU-");
  if (DRIVER("cuDeviceGetUuid_v2", (void *, int))(uuid, 0))
    return NOT_SUPPORTED;
  for (int i = 0; i < 16; i++)
    length += snprintf(text + length, 80 - (size_t)length, "%s%02x",
                       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
  return SUCCESS;
}

API(nvmlDeviceGetUUID, void *device, char *to, unsigned bytes) {
  char text[80];
  CHECK(device, to);
  int result = uuid_text(text);
  return result == SUCCESS ? hand_over(text, to, bytes) : result;
}

API(nvmlDeviceGetHandleByUUID, const char *uuid, void **device) {
  char text[80];
  CHECK(&the_device, device);
  if (!uuid)
    return INVALID_ARGUMENT;
  *device = &the_device;
  return uuid_text(text) == SUCCESS && strcmp(text, uuid) == 0 ? SUCCESS : NOT_FOUND;
}

API(nvmlDeviceGetHandleByPciBusId_v2, const char *bus, void **device) {
  int number;
  CHECK(&the_device, device);
  if (!bus)
    return INVALID_ARGUMENT;
  *device = &the_device;
  return DRIVER("cuDeviceGetByPCIBusId", (int *, const char *))(&number, bus) ? NOT_FOUND : SUCCESS;
}
ALIAS(nvmlDeviceGetHandleByPciBusId, nvmlDeviceGetHandleByPciBusId_v2);

API(nvmlDeviceGetName, void *device, char *to, unsigned bytes) {
  char text[256];
  CHECK(device, to);
  return DRIVER("cuDeviceGetName", (char *, int, int))(text, sizeof text, 0)
             ? NOT_SUPPORTED
             : hand_over(text, to, bytes);
}

API(nvmlDeviceGetIndex, void *device, unsigned *index) {
  CHECK(device, index);
  *index = 0;
  return SUCCESS;
}
ALIAS(nvmlDeviceGetMinorNumber, nvmlDeviceGetIndex);

API(nvmlDeviceGetCudaComputeCapability, void *device, int *major, int *minor) {
  CHECK(device, minor ? major : NULL);
  *major = attribute(MAJOR);
  *minor = attribute(MINOR);
  return SUCCESS;
}

/* The older form ends behind the numbers, with four words that are reserved. */
typedef struct pci_info {
  char bus_legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char bus_id[32];
} pci_info;

API(nvmlDeviceGetPciInfo_v2, void *device, pci_info *to) {
  CHECK(device, to);
  pci_info info = {.domain = (unsigned)attribute(PCI_DOMAIN),
                   .bus = (unsigned)attribute(PCI_BUS),
                   .device = (unsigned)attribute(PCI_DEVICE)};
  snprintf(info.bus_legacy, sizeof info.bus_legacy, "%04x:%02x:%02x.0", info.domain & 0xffff,
           info.bus & 0xff, info.device & 0xff);
  memcpy(to, &info, offsetof(pci_info, bus_id));
  return SUCCESS;
}
ALIAS(nvmlDeviceGetPciInfo, nvmlDeviceGetPciInfo_v2);

API(nvmlDeviceGetPciInfo_v3, void *device, pci_info *to) {
  int result = nvmlDeviceGetPciInfo_v2(device, to);
  if (result == SUCCESS)
    snprintf(to->bus_id, sizeof to->bus_id, "%08x:%02x:%02x.0", to->domain, to->bus & 0xff,
             to->device & 0xff);
  return result;
}

/* ---- Memory and clocks ---- */

typedef struct memory_info {
  unsigned long long total, free, used;
} memory_info;

API(nvmlDeviceGetMemoryInfo, void *device, memory_info *to) {
  size_t free_bytes, total;
  CHECK(device, to);
  if (DRIVER("cuDeviceTotalMem_v2", (size_t *, int))(&total, 0))
    return NOT_SUPPORTED;
  *to = (memory_info){.total = total, .free = total};
  /* Without a context nothing is in use. */
  if (!DRIVER("cuMemGetInfo_v2", (size_t *, size_t *))(&free_bytes, &total))
    *to = (memory_info){.total = total, .free = free_bytes, .used = total - free_bytes};
  return SUCCESS;
}

typedef struct memory_info_v2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
} memory_info_v2;

API(nvmlDeviceGetMemoryInfo_v2, void *device, memory_info_v2 *to) {
  memory_info info;
  CHECK(device, to);
  int result = nvmlDeviceGetMemoryInfo(device, &info);
  if (result == SUCCESS)
    *to = (memory_info_v2){to->version, info.total, 0, info.free, info.used};
  return result;
}

API(nvmlDeviceGetMemoryBusWidth, void *device, unsigned *bits) {
  CHECK(device, bits);
  *bits = (unsigned)attribute(BUS_BITS);
  return SUCCESS;
}

/* which: graphics, multiprocessors, memory, video. */
API(nvmlDeviceGetClockInfo, void *device, unsigned which, unsigned *mhz) {
  CHECK(device, mhz);
  if (which > 3)
    return INVALID_ARGUMENT;
  *mhz = (unsigned)attribute(which == 2 ? MEMORY_CLOCK_KHZ : CLOCK_KHZ) / 1000;
  return SUCCESS;
}
ALIAS(nvmlDeviceGetMaxClockInfo, nvmlDeviceGetClockInfo);
ALIAS(nvmlDeviceGetApplicationsClock, nvmlDeviceGetClockInfo);

/* ---- What the device does: work is done inside the call that asks for it, so that it is idle ----
 */

API(nvmlDeviceGetUtilizationRates, void *device, unsigned of[2]) {
  CHECK(device, of);
  of[0] = of[1] = 0;
  return SUCCESS;
}

/* Values of which zero is the usual one: performance state 0, modes that are off, no process. */
API(nvmlDeviceGetPerformanceState, void *device, unsigned *value) {
  CHECK(device, value);
  *value = 0;
  return SUCCESS;
}
ALIAS(nvmlDeviceGetComputeMode, nvmlDeviceGetPerformanceState);
ALIAS(nvmlDeviceGetPersistenceMode, nvmlDeviceGetPerformanceState);

API(nvmlDeviceGetComputeRunningProcesses_v3, void *device, unsigned *count, void *list) {
  (void)list;
  return nvmlDeviceGetPerformanceState(device, count);
}
ALIAS(nvmlDeviceGetComputeRunningProcesses, nvmlDeviceGetComputeRunningProcesses_v3);
ALIAS(nvmlDeviceGetComputeRunningProcesses_v2, nvmlDeviceGetComputeRunningProcesses_v3);
ALIAS(nvmlDeviceGetGraphicsRunningProcesses, nvmlDeviceGetComputeRunningProcesses_v3);
ALIAS(nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlDeviceGetComputeRunningProcesses_v3);

/* ---- The system ---- */

API(nvmlSystemGetCudaDriverVersion, int *version) {
  CHECK(&the_device, version);
  return DRIVER("cuDriverGetVersion", (int *))(version) ? NOT_SUPPORTED : SUCCESS;
}
ALIAS(nvmlSystemGetCudaDriverVersion_v2, nvmlSystemGetCudaDriverVersion);

/* As of the first driver for CUDA 13.0. */
API(nvmlSystemGetDriverVersion, char *to, unsigned bytes) {
  CHECK(&the_device, to);
  return hand_over("580.65.06", to, bytes);
}
API(nvmlSystemGetNVMLVersion, char *to, unsigned bytes) {
  CHECK(&the_device, to);
  return hand_over("13.580.65.06", to, bytes);
}

API(nvmlUnitGetCount, unsigned *count) {
  CHECK(&the_device, count);
  *count = 0;
  return SUCCESS;
}

/* ---- What is not there ---- */

static int refuse(void) { return uses ? NOT_SUPPORTED : UNINITIALIZED; }

#define X(name)                                                                                    \
  int name(void);                                                                                  \
  int name(void) { return refuse(); }
#include "names.def"
