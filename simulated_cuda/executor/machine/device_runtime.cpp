// SPDX-License-Identifier: Apache-2.0
// The device's runtime: what libcudadevrt has the driver do when a kernel launches kernels.
// Arguments lie in the caller's area of parameters, as for any call.
#include "simulated_cuda/executor/machine/device_runtime.h"

#include "simulated_cuda/executor/executor.h"
#include "simulated_cuda/executor/machine/access.h"
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/device_bytes.h"
#include "simulated_cuda/executor/machine/device_launches.h"
#include "simulated_cuda/executor/machine/report_sink.h"
#include "simulated_cuda/executor/machine/workers/worker.h"
#include "simulated_cuda/executor/program/device_functions.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gmt::executor {
namespace {

using namespace device_error;

constexpr std::uint32_t kNoSuchHandle = 700;
// As for launches from the host.
constexpr std::uint32_t kMostThreads = 1024, kMostThreadsZ = 64, kMostBlocksX = 0x7fffffff,
                        kMostBlocksYz = 65535, kMostDynamicBytes = 232448;

// The driver's functions answer with numbers of their own, which libcudadevrt turns into
// cudaError_t by a table of its PTX (CUDA 13.0: cudartErrorCnpMapArr). One that the table lacks
// becomes cudaErrorUnknown.
std::uint32_t number_of_driver(std::uint32_t error) {
  constexpr std::pair<std::uint32_t, std::uint32_t> kNumbers[] = {
    {2, 4},   {9, 7},   {65, 5},  {66, 10},  {67, 9},  {68, 11},
    {69, 12}, {101, 3}, {127, 2}, {215, 13}, {701, 6}, {900, 14},
  };
  for (const auto& [runtime, driver] : kNumbers)
    if (runtime == error) return driver;
  constexpr std::uint32_t kNoneOfThem = 999;
  return error <= 1 ? error : kNoneOfThem;
}

class Call {
public:
  Call(Warp& w, const Instruction* in, std::uint32_t lane)
      : w_(w), in_(in), site_(w.frame->code->calls[in->extra]), lane_(lane) {}

  template <class T = std::uint64_t>
  T argument(std::size_t index) const {
    T value{};
    if (index < site_.argument_offsets.size())
      std::memcpy(&value, area() + site_.argument_offsets[index],
                  std::min<std::size_t>(site_.argument_sizes[index], sizeof value));
    return value;
  }
  void give(std::uint64_t value) const {
    if (site_.return_offsets.empty()) return;
    std::memcpy(area() + site_.return_offsets[0], &value,
                std::min<std::size_t>(site_.return_sizes[0], sizeof value));
  }
  // To where the first argument points, which is checked.
  template <class T>
  std::uint32_t write(T value) const {
    const Translation to =
      translate(w_, in_, lane_, Space::kGeneric, argument(0), sizeof value, Access::kStore);
    if (to.host == nullptr) return kInvalidValue;
    std::memcpy(to.host, &value, sizeof value);
    if (to.shadow != nullptr) set_initialized(to.shadow, to.first, sizeof value, ~std::uint64_t{0});
    return 0;
  }

  DeviceLaunches& launches() const { return *w_.grid->launch->launches; }
  // A number of the thread in the whole grid.
  std::uint64_t thread() const {
    return w_.block->number * w_.grid->threads + w_.id * kLanes + lane_;
  }
  // A cudaError_t, which a later question for the last error gets, too.
  void answer(std::uint32_t error) const {
    if (error != 0) launches().set_error(thread(), error);
    give(number_of_driver(error));
  }
  void set_last_error() const {
    launches().set_error(thread(), argument<std::uint32_t>(0));
    give(argument<std::uint32_t>(0));
  }

  // cudaError_t (where to, flags): events of kernels have no time, as an H100 insists.
  void create_event() const {
    constexpr std::uint32_t kDisableTiming = 2; // cudaEventDisableTiming
    const bool is_possible = (argument<std::uint32_t>(1) & kDisableTiming) != 0;
    answer(is_possible ? write(launches().new_handle()) : kInvalidValue);
  }

  void prepare() const;
  void launch() const;
  LaunchPoint point() const;
  // By a question that gives an error and fills in a value of this type.
  template <class T, class Question>
  void ask(const Question& question) const;
  void launch_graph() const;
  bool set_conditional() const;

  // The kernel that an address names; null if it names none.
  const ptx::Function* kernel_at(std::uint64_t address) const;

private:
  std::byte* area() const {
    return w_.frame->parameters + std::size_t{lane_} * w_.frame->code->parameter_bytes;
  }

  Warp& w_;
  const Instruction* in_;
  const CallSite& site_;
  const std::uint32_t lane_;
};

struct Dim3 {
  std::uint32_t x, y, z;
};

Extent extent_of(Dim3 given) { return {given.x, given.y, given.z}; }

bool is_possible(const DeviceLaunch& launch) {
  const Extent &grid = launch.grid, &block = launch.block;
  if (grid.x > kMostBlocksX || grid.y > kMostBlocksYz || grid.z > kMostBlocksYz) return false;
  if (block.x > kMostThreads || block.y > kMostThreads || block.z > kMostThreadsZ) return false;
  return grid.count() != 0 && block.count() != 0 && block.count() <= kMostThreads &&
         launch.shared_bytes <= kMostDynamicBytes;
}

const ptx::Function* Call::kernel_at(std::uint64_t address) const {
  const std::uint64_t offset = address - kFunctionWindow;
  const auto& functions = w_.program->linked->functions();
  if (offset >= kWindowBytes || offset % 16 != 0 || offset / 16 >= functions.size()) return nullptr;
  const ptx::Function* function = functions[offset / 16].function;
  return function->is_entry ? function : nullptr;
}

template <class T, class Question>
void Call::ask(const Question& question) const {
  T value{};
  std::uint32_t error = 0;
  {
    const std::lock_guard lock(launches().facts_mutex);
    error = question(launches().facts, value);
  }
  answer(error == 0 ? write(value) : error);
}

// void* (kernel, grid, block, shared bytes): a null pointer if there can be no such launch.
void Call::prepare() const {
  const auto refuse = [&](std::uint32_t error) {
    launches().set_error(thread(), error);
    give(0);
  };
  const ptx::Function* named = kernel_at(argument(0));
  if (named == nullptr) return refuse(kInvalidFunction);
  const ptx::Function& function = *named;
  DeviceLaunch made;
  made.kernel = function.name;
  made.grid = extent_of(argument<Dim3>(1));
  made.block = extent_of(argument<Dim3>(2));
  made.shared_bytes = argument<std::uint32_t>(3);
  made.by_block = w_.block->number;
  if (!is_possible(made)) return refuse(kInvalidConfiguration);
  std::vector<std::uint32_t> offsets;
  const std::size_t bytes = lay_out_parameters(function.parameters, &offsets);
  const std::uint64_t buffer = launches().prepare(std::move(made), bytes);
  if (buffer == 0) return refuse(kPendingCountExceeded);
  give(buffer);
}

// cudaError_t (buffer, stream)
void Call::launch() const { answer(launches().launch(argument(0), argument(1), point())); }

// What the block does behind it gets later clocks when all lanes have launched.
LaunchPoint Call::point() const {
  const Block& block = *w_.block;
  LaunchPoint point;
  point.is_known = block.global.launch != 0;
  point.block = static_cast<std::uint32_t>(block.number);
  point.thread = w_.id * kLanes + lane_;
  point.clock = block.clock;
  point.barrier = block.last_barrier;
  point.sync = w_.last_sync;
  point.knows_parts = block.order.is_partial;
  point.knows_blocks = block.known != 0;
  return point;
}

// cudaError_t (executable graph, stream)
void Call::launch_graph() const {
  answer(launches().launch_graph(argument(0), argument(1), w_.block->number));
}

// void (handle, value)
bool Call::set_conditional() const {
  const auto& set = launches().set_condition;
  if (set && set(argument(0), argument<std::uint32_t>(1))) return true;
  w_.worker->checks->ends(facts_of(w_, in_, lane_), ReportKind::kOther, kNoSuchHandle,
                          set ? "no conditional node of a graph has the handle that "
                                "cudaGraphSetConditional() got"
                              : "cudaGraphSetConditional() in a kernel that no graph launched");
  return false;
}

// cudaError_t (where to, ...)
void ask(const Call& call, DeviceFunction function) {
  const auto attribute_or_limit = call.argument<std::uint32_t>(1);
  switch (function) {
  case DeviceFunction::kGetDevice:
    return call.ask<std::uint32_t>([](DeviceFacts& facts, std::uint32_t& value) {
      value = facts.device();
      return 0u;
    });
  case DeviceFunction::kGetDeviceCount:
    return call.ask<std::uint32_t>([](DeviceFacts& facts, std::uint32_t& value) {
      value = facts.device_count();
      return 0u;
    });
  case DeviceFunction::kGetCacheConfig:
    return call.ask<std::uint32_t>([](DeviceFacts& facts, std::uint32_t& value) {
      value = facts.cache_config();
      return 0u;
    });
  case DeviceFunction::kGetLimit:
    return call.ask<std::uint64_t>([&](DeviceFacts& facts, std::uint64_t& value) {
      return facts.limit(value, attribute_or_limit);
    });
  case DeviceFunction::kDeviceAttribute:
    return call.ask<std::int32_t>([&](DeviceFacts& facts, std::int32_t& value) {
      return facts.device_attribute(value, attribute_or_limit, call.argument<std::uint32_t>(2));
    });
  case DeviceFunction::kFunctionAttribute:
    return call.ask<std::int32_t>([&](DeviceFacts& facts, std::int32_t& value) {
      const ptx::Function* kernel = call.kernel_at(call.argument(2));
      return kernel == nullptr ? kInvalidFunction
                               : facts.function_attribute(value, attribute_or_limit, kernel->name);
    });
  default:
    return call.ask<std::int32_t>([&](DeviceFacts& facts, std::int32_t& value) {
      const ptx::Function* kernel = call.kernel_at(call.argument(1));
      return kernel == nullptr
               ? kInvalidFunction
               : facts.active_blocks(value, kernel->name, call.argument<std::int32_t>(2),
                                     call.argument(3));
    });
  }
}

void run(const Call& call, DeviceFunction function) {
  switch (function) {
  case DeviceFunction::kSetConditional: return;
  case DeviceFunction::kPrepareLaunch: return call.prepare();
  case DeviceFunction::kLaunch: return call.launch();
  case DeviceFunction::kLaunchGraph: return call.launch_graph();
  case DeviceFunction::kStreamCreate: return call.answer(call.write(call.launches().new_handle()));
  case DeviceFunction::kEventCreate: return call.create_event();
  case DeviceFunction::kSetLastError: return call.set_last_error();
  case DeviceFunction::kGetLastError: return call.give(call.launches().take_error(call.thread()));
  // What they put in order is done in order anyway
  case DeviceFunction::kStreamWaitEvent: call.launches().order_by_events(); [[fallthrough]];
  case DeviceFunction::kEventDestroy:
  case DeviceFunction::kEventRecord:
  case DeviceFunction::kStreamDestroy: return call.give(0);
  default: return ask(call, function);
  }
}

} // namespace

const Instruction* call_device_runtime(Warp& w, const Instruction* in) {
  const auto function = device_function(w.frame->code->calls[in->extra].built_in);
  if (w.grid->launch->launches == nullptr || !function)
    return end_grid(w, 0, "its launch has no runtime of the device");
  for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
    const Call call(w, in, static_cast<std::uint32_t>(__builtin_ctz(m)));
    if (*function == DeviceFunction::kSetConditional) {
      if (!call.set_conditional()) return end_grid(w, kNoSuchHandle); // an H100's answer
    } else {
      run(call, *function);
    }
  }
  if (*function == DeviceFunction::kLaunch) w.block->advance_clock();
  w.worker->checks->pause_if_full();
  return in + 1;
}

} // namespace gmt::executor
