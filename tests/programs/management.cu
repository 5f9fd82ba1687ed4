// NVIDIA's management library (NVML) knows the device that the program runs on. It is loaded while the program runs, as
// by programs that can do without; nvml.h need not be there.
// flags: -ldl
// only: exec
#include "check.h"
#include <cstring>
#include <dlfcn.h>

struct memory {
  unsigned long long total, free, used;
};
struct pci {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char bus_id[32];
};

static void *library;
template <class... T> static int call(const char *name, T... arguments) {
  auto function = (int (*)(T...))dlsym(library, name);
  return function ? function(arguments...) : -1;
}

__global__ void nothing() {}

int main() {
  library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (!library) {
    puts(dlerror());
    return 1;
  }
  void *device = nullptr, *other;
  unsigned count = 0, number = 99, utilization[2] = {9, 9};
  char text[96], name[96], bus[32];
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  CHECK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
  printf("too early: %d\n", call("nvmlDeviceGetCount_v2", &count));
  printf("init: %d\n", call("nvmlInit_v2"));
  printf("count: %d", call("nvmlDeviceGetCount_v2", &count));
  printf(", %u\n", count);
  printf("handle: %d\n", call("nvmlDeviceGetHandleByIndex_v2", 0u, &device));
  printf("of another: %d\n", call("nvmlDeviceGetHandleByIndex_v2", 1u, &other));
  printf("name: %d", call("nvmlDeviceGetName", device, (char *)name, 96u));
  printf(", %d\n", strcmp(name, properties.name));
  printf("short name: %d\n", call("nvmlDeviceGetName", device, (char *)text, 3u));
  memory before, after;
  void *block;
  printf("memory: %d\n", call("nvmlDeviceGetMemoryInfo", device, &before));
  CHECK(cudaMalloc(&block, 32 << 20));
  call("nvmlDeviceGetMemoryInfo", device, &after);
  printf("all: %d, more used: %d, sum: %d\n", after.total == properties.totalGlobalMem,
         after.used >= before.used + (32 << 20), after.free + after.used == after.total);
  int major, minor, version;
  printf("capability: %d", call("nvmlDeviceGetCudaComputeCapability", device, &major, &minor));
  printf(", %d\n", major == properties.major && minor == properties.minor);
  pci place;
  printf("bus: %d", call("nvmlDeviceGetPciInfo_v3", device, &place));
  printf(", %d\n", strcasecmp(place.legacy, bus));
  printf("by bus: %d\n", call("nvmlDeviceGetHandleByPciBusId_v2", (const char *)place.bus_id, &device));
  printf("unique: %d", call("nvmlDeviceGetUUID", device, (char *)text, 96u));
  printf(", %d\n", call("nvmlDeviceGetHandleByUUID", (const char *)text, &device));
  printf("driver: %d %d\n", call("nvmlSystemGetDriverVersion", (char *)text, 80u),
         call("nvmlSystemGetCudaDriverVersion", &version));
  nothing<<<1, 1>>>();
  CHECK(cudaDeviceSynchronize());
  printf("idle: %d", call("nvmlDeviceGetUtilizationRates", device, (unsigned *)utilization));
  printf(", %u\n", utilization[0]);
  printf("power: %d, temperature: %d\n", call("nvmlDeviceGetPowerUsage", device, &number),
         call("nvmlDeviceGetTemperature", device, 0, &number));
  auto words = (const char *(*)(int))dlsym(library, "nvmlErrorString");
  printf("3: %s\n", words(3));
  printf("shutdown: %d\n", call("nvmlShutdown"));
  return 0;
}
