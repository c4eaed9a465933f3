// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/replay/placement.h"

#include "simulated_cuda/common/private_table.h"

#include <cuda.h>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace gmt::replay {
namespace {

struct Range {
  std::uint64_t begin, end;
};

std::vector<Range>& held() {
  static std::vector<Range> ranges;
  return ranges;
}

// Whole pages, one range where they touch.
std::vector<Range> ranges_of(const trace::Capture& capture) {
  constexpr std::uint64_t kPage = std::uint64_t{64} << 10;
  std::vector<Range> all;
  const auto add = [&all](std::uint64_t address, std::uint64_t bytes) {
    all.push_back({address / kPage * kPage, (address + bytes + kPage - 1) / kPage * kPage});
  };
  for (const trace::CapturedBlock& block : capture.blocks) add(block.address, block.before.size());
  for (const trace::UncapturedBlock& block : capture.left_out) add(block.address, block.bytes);
  std::ranges::sort(all, {}, &Range::begin);
  std::vector<Range> joined;
  for (const Range& range : all) {
    if (!joined.empty() && range.begin <= joined.back().end)
      joined.back().end = std::max(joined.back().end, range.end);
    else joined.push_back(range);
  }
  return joined;
}

bool hold(const Range& range) {
  void* const wanted = reinterpret_cast<void*>(range.begin); // NOLINT(performance-no-int-to-ptr)
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  void* const mapped = mmap(wanted, range.end - range.begin, PROT_NONE, kFlags, -1, 0);
  if (mapped == wanted) return true;
  if (mapped != MAP_FAILED) munmap(mapped, range.end - range.begin); // of a kernel older than 4.17
  return false;
}

std::string in_hex(std::uint64_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

// The stack's limit as it was; set: the process was started anew to have another layout.
constexpr const char* kStackLimit = "GPUMEMTRACE_REPLAY_STACK";

// Of the next program that this process executes: libraries lie in the middle of the address space,
// as the kernel has it where stacks may grow without a limit, and at other addresses each time.
// CUDA's addresses, which are high ones, stay free so.
void choose_other_layout() {
  constexpr unsigned long kAsk = 0xffffffff;
  const int now = personality(kAsk);
  if (now >= 0 && (now & ADDR_NO_RANDOMIZE) != 0)
    personality(static_cast<unsigned long>(now) & ~static_cast<unsigned long>(ADDR_NO_RANDOMIZE));
  rlimit stack{};
  if (std::getenv(kStackLimit) != nullptr || getrlimit(RLIMIT_STACK, &stack) != 0) return;
  setenv(kStackLimit, std::to_string(stack.rlim_cur).c_str(), 1);
  stack.rlim_cur = RLIM_INFINITY;
  setrlimit(RLIMIT_STACK, &stack);
}

// Threads get the stacks that they have under the limit that was there.
void restore_stack_limit() {
  constexpr std::size_t kUsual = std::size_t{8} << 20;
  const char* const text = std::getenv(kStackLimit);
  rlimit stack{};
  if (text == nullptr || getrlimit(RLIMIT_STACK, &stack) != 0) return;
  stack.rlim_cur = std::strtoull(text, nullptr, 10);
  setrlimit(RLIMIT_STACK, &stack);
  unsetenv(kStackLimit);
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_attr_setstacksize(&attributes, stack.rlim_cur == RLIM_INFINITY ? kUsual : stack.rlim_cur);
  pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

const sim::SimulatedReplayTable* replay_table() {
  CUuuid id;
  std::memcpy(id.bytes, sim::kSimulatedReplayTable, sizeof id.bytes);
  const void* table = nullptr;
  return cuGetExportTable(&table, &id) == CUDA_SUCCESS
           ? static_cast<const sim::SimulatedReplayTable*>(table)
           : nullptr;
}

std::string allocate_at(const sim::SimulatedReplayTable& table, std::uint64_t address,
                        std::uint64_t bytes) {
  table.set_next_address(address);
  CUdeviceptr allocated = 0;
  const CUresult result = cuMemAlloc(&allocated, bytes);
  if (result == CUDA_SUCCESS && allocated == address) return {};
  return "memory of " + std::to_string(bytes) + " bytes could not be put at " + in_hex(address);
}

} // namespace

std::string hold_addresses(const trace::Capture& capture, char** arguments) {
  constexpr const char* kTries = "GPUMEMTRACE_REPLAY_TRIES";
  constexpr int kMost = 64;
  const char* text = std::getenv(kTries);
  const int tries = text != nullptr ? std::atoi(text) : 0;
  for (const Range& range : ranges_of(capture)) {
    if (hold(range)) {
      held().push_back(range);
      continue;
    }
    if (tries < kMost) {
      choose_other_layout();
      setenv(kTries, std::to_string(tries + 1).c_str(), 1);
      execv("/proc/self/exe", arguments);
    }
    return "the addresses of its memory from " + in_hex(range.begin) + " to " + in_hex(range.end) +
           " are taken in this process, however often it is started anew";
  }
  restore_stack_limit();
  unsetenv(kTries);
  return {};
}

std::string allocate_memory(const trace::Capture& capture) {
  const sim::SimulatedReplayTable* table = replay_table();
  if (table == nullptr)
    return "the driver is not gpumemtrace's simulated device: start it by 'gpumemtrace replay'";
  for (const Range& range : held()) {
    munmap(reinterpret_cast<void*>(range.begin), range.end - range.begin); // NOLINT
    if (!table->reserve(range.begin, range.end - range.begin))
      return "the addresses from " + in_hex(range.begin) + " to " + in_hex(range.end) +
             " could not be reserved";
  }
  for (const trace::CapturedBlock& block : capture.blocks) {
    if (!block.variable.empty()) {
      table->set_variable_address(block.variable.c_str(), block.address);
      continue;
    }
    std::string problem = allocate_at(*table, block.address, block.before.size());
    if (!problem.empty()) return problem;
    if (cuMemcpyHtoD(block.address, block.before.data(), block.before.size()) != CUDA_SUCCESS)
      return "memory at " + in_hex(block.address) + " could not be filled";
  }
  for (const trace::UncapturedBlock& block : capture.left_out) {
    std::string problem = allocate_at(*table, block.address, block.bytes);
    if (!problem.empty()) return problem;
  }
  return {};
}

void choose_handle(std::uint64_t handle) {
  if (const auto* table = replay_table()) table->set_next_texture(handle);
}

void choose_block(std::uint64_t number) {
  if (const auto* table = replay_table()) table->run_only_block(number);
}

} // namespace gmt::replay
