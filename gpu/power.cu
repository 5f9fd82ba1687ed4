// Energy of launches on the GPU of this machine, by NVML's counter of energy:
//
//   power LIST SECONDS SET=CUBIN...
//
// Each launch of LIST (tests/data/h200/launches.csv explains the columns) whose set has a CUBIN
// runs again and again for SECONDS. Prints a line for each as CSV: launches and seconds between two
// changes of the counter, joules, mean clocks of the multiprocessors and of memory in MHz, and
// degrees; the first and last line are of an idle GPU with a context. With SECONDS 0 each launch
// runs three times on fresh data and nothing is printed: for Nsight Compute.
#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

static double seconds_now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

static void check(cudaError_t error, const char *what) {
  if (error == cudaSuccess)
    return;
  fprintf(stderr, "power: %s: %s\n", what, cudaGetErrorString(error));
  exit(1);
}

// ---- NVML, opened at run time ----

struct nvml {
  void *device = nullptr;
  int (*energy)(void *, unsigned long long *) = nullptr;
  int (*clock)(void *, int, unsigned *) = nullptr;
  int (*temperature)(void *, int, unsigned *) = nullptr;

  nvml() {
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!library)
      return;
    auto init = (int (*)())dlsym(library, "nvmlInit_v2");
    auto by_index = (int (*)(unsigned, void **))dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
    energy = (decltype(energy))dlsym(library, "nvmlDeviceGetTotalEnergyConsumption");
    clock = (decltype(clock))dlsym(library, "nvmlDeviceGetClockInfo");
    temperature = (decltype(temperature))dlsym(library, "nvmlDeviceGetTemperature");
    if (!init || !by_index || init() || by_index(0, &device))
      energy = nullptr;
  }
};

// A moment at which the counter of energy had changed.
struct sample {
  double at;
  unsigned long long millijoules;
  unsigned long launches; // done by then
  unsigned clock, memory_clock, degrees;
};

// Watches the counter until told to stop.
static void watch(const nvml &meter, const std::atomic<bool> &stop,
                  const std::atomic<unsigned long> &launches, std::vector<sample> &samples) {
  unsigned long long last = 0, found;
  while (!stop) {
    if (meter.energy(meter.device, &found) == 0 && found != last) {
      sample taken = {seconds_now(), found, launches, 0, 0, 0};
      meter.clock(meter.device, 1, &taken.clock);
      meter.clock(meter.device, 2, &taken.memory_clock);
      meter.temperature(meter.device, 0, &taken.degrees);
      samples.push_back(taken);
      last = found;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// ---- Launches ----

__global__ void fill(unsigned *to, unsigned words, bool zero) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x) {
    unsigned word = (i + 1) * 0x9e3779b1u; // as bf_launch_word
    word ^= word >> 16;
    word *= 0x21f0aaadu;
    word ^= word >> 15;
    word *= 0x735a2d97u;
    to[i] = zero ? 0 : word ^ word >> 15;
  }
}

struct listed {
  std::string set, kind, pair, kernel;
  unsigned blocks, threads, shared_bytes, in_words, out_words, n, p, q;
};

static std::vector<listed> read_list(const char *path) {
  std::vector<listed> list;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> field;
    std::stringstream fields(line);
    for (std::string one; std::getline(fields, one, ',');)
      field.push_back(one);
    auto number = [&](int i) { return (unsigned)strtoul(field[i].c_str(), nullptr, 10); };
    if (field.size() == 12)
      list.push_back({field[0], field[1], field[2], field[3], number(4), number(5), number(6),
                      number(7), number(8), number(9), number(10), number(11)});
  }
  return list;
}

struct memory {
  unsigned *in = nullptr, *out = nullptr;
};

static void refill(const listed &launch, const memory &data) {
  fill<<<1024, 256>>>(data.in, launch.in_words, false);
  fill<<<1024, 256>>>(data.out, launch.out_words, true);
}

static void run_once(const listed &launch, cudaKernel_t kernel, memory &data) {
  unsigned n = launch.n, p = launch.p, q = launch.q;
  void *arguments[] = {&data.out, &data.in, &n, &p, &q};
  check(cudaLaunchKernel((const void *)kernel, dim3(launch.blocks), dim3(launch.threads), arguments,
                         launch.shared_bytes, 0),
        launch.kernel.c_str());
}

// Runs a launch (or, without a kernel, nothing) for so many seconds, and prints a line.
static void run_long(const nvml &meter, const listed &launch, cudaKernel_t kernel, memory &data,
                     double seconds) {
  std::atomic<bool> stop{false};
  std::atomic<unsigned long> done{0};
  std::vector<sample> samples;
  unsigned batch = 1;
  double begin = seconds_now();
  std::thread watcher(watch, std::cref(meter), std::cref(stop), std::cref(done), std::ref(samples));
  while (seconds_now() - begin < seconds) {
    if (!kernel) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      continue;
    }
    double start = seconds_now();
    for (unsigned i = 0; i < batch; i++)
      run_once(launch, kernel, data);
    check(cudaDeviceSynchronize(), launch.kernel.c_str());
    done += batch;
    if (seconds_now() - start < 0.004 && batch < 100000)
      batch *= 2;
  }
  stop = true;
  watcher.join();
  size_t first = 0; // what warms up is left out
  while (first < samples.size() && samples[first].at < begin + 0.3 * seconds)
    first++;
  if (first + 1 >= samples.size()) {
    fprintf(stderr, "power: %s: the counter did not change\n", launch.kernel.c_str());
    return;
  }
  const sample &a = samples[first], &b = samples.back();
  double clock = 0, memory_clock = 0;
  for (size_t i = first; i < samples.size(); i++) {
    clock += samples[i].clock;
    memory_clock += samples[i].memory_clock;
  }
  double count = (double)(samples.size() - first);
  printf("%s,%s,%u,%u,%u,%u,%u,%u,%u,%u,%lu,%.6f,%.3f,%.0f,%.0f,%u\n", launch.set.c_str(),
         launch.kernel.c_str(), launch.blocks, launch.threads, launch.shared_bytes, launch.in_words,
         launch.out_words, launch.n, launch.p, launch.q, b.launches - a.launches, b.at - a.at,
         (double)(b.millijoules - a.millijoules) / 1000, clock / count, memory_clock / count,
         b.degrees);
  fflush(stdout);
}

int main(int count, char **argument) {
  if (count < 4) {
    fprintf(stderr, "usage: power LIST SECONDS SET=CUBIN...\n");
    return 2;
  }
  std::vector<listed> list = read_list(argument[1]);
  double seconds = atof(argument[2]);
  std::map<std::string, cudaLibrary_t> library;
  for (int i = 3; i < count; i++) {
    std::string text = argument[i];
    size_t equals = text.find('=');
    if (equals == std::string::npos)
      return 2;
    check(cudaLibraryLoadFromFile(&library[text.substr(0, equals)], text.c_str() + equals + 1,
                                  nullptr, nullptr, 0, nullptr, nullptr, 0),
          text.c_str());
  }
  unsigned most = 1;
  for (const listed &launch : list)
    most = std::max(most, std::max(launch.in_words, launch.out_words));
  memory data;
  check(cudaMalloc(&data.in, (size_t)most * 4), "memory");
  check(cudaMalloc(&data.out, (size_t)most * 4), "memory");
  nvml meter;
  if (seconds > 0 && !meter.energy) {
    fprintf(stderr, "power: no NVML with a counter of energy\n");
    return 1;
  }
  if (seconds > 0)
    printf("set,kernel,blocks,threads,shared_bytes,in_words,out_words,n,p,q,launches,seconds,"
           "joules,clock_mhz,memory_mhz,degrees\n");
  listed idle = {};
  idle.kernel = "idle";
  if (seconds > 0)
    run_long(meter, idle, nullptr, data, 3 * seconds);
  for (const listed &launch : list) {
    auto found = library.find(launch.set);
    if (found == library.end())
      continue;
    cudaKernel_t kernel;
    check(cudaLibraryGetKernel(&kernel, found->second, launch.kernel.c_str()),
          launch.kernel.c_str());
    if (launch.shared_bytes > 48 * 1024)
      check(cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int)launch.shared_bytes),
            launch.kernel.c_str());
    for (unsigned i = 0; i < (seconds > 0 ? 1 : 3); i++) {
      refill(launch, data);
      if (seconds > 0)
        run_long(meter, launch, kernel, data, seconds);
      else
        run_once(launch, kernel, data);
    }
    check(cudaDeviceSynchronize(), launch.kernel.c_str());
  }
  if (seconds > 0)
    run_long(meter, idle, nullptr, data, 3 * seconds);
  return 0;
}
