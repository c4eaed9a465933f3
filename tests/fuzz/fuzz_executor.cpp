// SPDX-License-Identifier: Apache-2.0
// The device's memory is one region. Between its blocks lie pages without any access, so that a
// handler which leaves a block ends the process, also where no sanitizer sees it.
#include "tests/fuzz/fuzz_executor.h"

#include "simulated_cuda/executor/executor.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gmt::test {
namespace {

using namespace executor;

constexpr std::uint64_t kBase = 0x700000000000ull, kPage = 4096;
constexpr std::uint64_t kVariables = 32 * kPage, kHeap = 8 * kPage;
constexpr std::uint64_t kDeviceBytes = 64 * kPage;
constexpr std::size_t kMostKernels = 6, kMostParameterBytes = 4096;
constexpr double kMostSeconds = 20; // of a processor: the machine may be busy with others

std::uint64_t executed = 0;

void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::abort();
}

struct Listener : Observer {
  void report(const Report& r) override { seen += r.location.instruction.size(); }
  void heap_event(const HeapEvent& e) override { seen += e.bytes; }
  void print(const std::string& text) override { seen += text.size(); }
  std::uint64_t seen = 0;
};

// The host's bytes of the device, made once.
class Device {
public:
  Device() {
    void* mapped =
      mmap(nullptr, kDeviceBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(mapped != MAP_FAILED, "no memory for the device");
    host_ = static_cast<std::byte*>(mapped);
  }
  std::byte* host() { return host_; }
  // A block that begins and ends at pages which cannot be reached.
  std::uint64_t block(std::uint64_t bytes) {
    const std::uint64_t at = next_ + kPage;
    next_ = at + bytes;
    require(next_ + kPage <= kDeviceBytes, "the device is full");
    mprotect(host_ + at, bytes, PROT_READ | PROT_WRITE);
    std::memset(host_ + at, 0, bytes);
    return kBase + at;
  }

private:
  std::byte* host_ = nullptr;
  std::uint64_t next_ = 0;
};

struct World {
  Device device;
  std::uint64_t ones = device.block(kPage), fresh = device.block(kPage);
  std::uint64_t heap = device.block(kHeap), variables = device.block(kVariables);
  std::vector<std::uint32_t> pinned = std::vector<std::uint32_t>(64, 7);
};

// False: its variables need more memory than there is.
bool allocate_variables(Module& module, Memory& memory, World& world) {
  std::uint64_t at = world.variables;
  const std::uint64_t end = at + kVariables;
  for (std::size_t i = 0; i < module.variables().size(); ++i) {
    const Variable& variable = module.variables()[i];
    const std::uint64_t alignment = variable.alignment == 0 ? 1 : variable.alignment;
    if (alignment > kPage || variable.size > end - at) return false;
    at = (at + alignment - 1) / alignment * alignment;
    if (at > end || variable.size > end - at) return false;
    memory.allocate(at, variable.size);
    module.set_address(i, at);
    at += variable.size;
  }
  at = world.variables;
  for (std::size_t i = 0; i < module.variables().size(); ++i) {
    const Variable& variable = module.variables()[i];
    const std::uint64_t alignment = variable.alignment == 0 ? 1 : variable.alignment;
    at = (at + alignment - 1) / alignment * alignment;
    const std::vector<std::byte> bytes = module.initial_bytes(i);
    require(bytes.size() == variable.size, "the initial bytes of a variable");
    if (!bytes.empty()) std::memcpy(world.device.host() + (at - kBase), bytes.data(), bytes.size());
    memory.mark_initialized(at, variable.size);
    at += variable.size;
  }
  return true;
}

// Pointers where a parameter has room for one, else small numbers.
std::vector<std::byte> parameters_of(const Kernel& kernel, const World& world) {
  std::vector<std::byte> bytes(kernel.parameter_bytes);
  const std::uint64_t pointers[] = {world.ones, world.fresh, world.heap + 64,
                                    reinterpret_cast<std::uint64_t>(world.pinned.data())};
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const Parameter& parameter = kernel.parameters[i];
    const std::uint64_t value = parameter.size >= 8 ? pointers[i % 4] : 33;
    const std::size_t size = std::min<std::size_t>(parameter.size, sizeof value);
    if (parameter.offset + size <= bytes.size())
      std::memcpy(bytes.data() + parameter.offset, &value, size);
  }
  return bytes;
}

void run_kernel(Module& module, const Kernel& kernel, World& world, Memory& memory,
                DeviceHeap& heap, std::size_t turn) {
  Listener listener;
  const std::vector<std::byte> parameters = parameters_of(kernel, world);
  static constexpr Checks kChecks[] = {Checks::kDefault, Checks::kFull, Checks::kNone};
  Launch launch;
  launch.module = &module;
  launch.kernel = &kernel;
  launch.grid = {turn % 3 == 2 ? 3u : 1u};
  launch.block = turn % 2 == 0 ? Extent{40} : Extent{16, 5, 1};
  launch.parameters = parameters;
  launch.memory = &memory;
  launch.heap = &heap;
  launch.cooperative = turn % 5 == 0;
  launch.dynamic_shared_bytes = turn % 4 == 1 ? 0 : 400;
  launch.checks = kChecks[turn / 2 % std::size(kChecks)];
  launch.limits.instructions = 5000;
  launch.limits.seconds = 1;
  launch.limits.memory_bytes = std::uint64_t{64} << 20;
  const std::clock_t start = std::clock();
  const Outcome outcome = run(launch, listener);
  const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  require(took < kMostSeconds, "a launch that did not end at its limits");
  if (outcome.end != End::kSkipped) ++executed;
  if (std::getenv("GMT_FUZZ_VERBOSE") != nullptr)
    std::fprintf(stderr, "%s: end %d, error %u, %s\n", kernel.name.c_str(),
                 static_cast<int>(outcome.end), outcome.gpu_error, outcome.reason.c_str());
  require(outcome.blocks_done <= launch.grid.count(), "the number of blocks");
  const bool all = outcome.blocks_done == launch.grid.count();
  require(outcome.end != End::kDone || all, "a launch without its last blocks");
}

} // namespace

void execute_ptx_input(const std::uint8_t* data, std::size_t size) {
  static World world;
  static std::size_t turn = 0;
  const std::string_view texts[] = {{reinterpret_cast<const char*>(data), size}};
  std::string error;
  const std::unique_ptr<Module> module = Module::load(texts, &error);
  if (module == nullptr) {
    if (std::getenv("GMT_FUZZ_VERBOSE") != nullptr) std::fprintf(stderr, "%s\n", error.c_str());
    return;
  }
  Memory memory;
  require(memory.add_region(kBase, kDeviceBytes, world.device.host()), "the device's region");
  const auto pinned = reinterpret_cast<std::uint64_t>(world.pinned.data());
  require(memory.add_host_memory(pinned, world.pinned.size() * 4,
                                 reinterpret_cast<std::byte*>(world.pinned.data())),
          "the region of pinned memory");
  if (!allocate_variables(*module, memory, world)) return;
  memory.allocate(world.ones, kPage);
  std::memset(world.device.host() + (world.ones - kBase), 1, kPage);
  memory.mark_initialized(world.ones, kPage);
  memory.allocate(world.fresh, kPage);
  const auto heap = DeviceHeap::create(memory, world.heap, kHeap);
  for (std::size_t i = 0; i < module->kernels().size() && i < kMostKernels; ++i) {
    const Kernel* kernel = module->find_kernel(module->kernels()[i].name);
    require(kernel != nullptr, "a kernel that is not found");
    if (kernel->parameter_bytes <= kMostParameterBytes)
      run_kernel(*module, *kernel, world, memory, *heap, turn++);
  }
}

std::uint64_t executed_kernels() { return executed; }

} // namespace gmt::test
