// SPDX-License-Identifier: Apache-2.0
// The memory that a launch may use: blocks in which its arguments point, variables of its module,
// blocks in which pointers in these point, and so on, then all others that are alive. Words are
// taken for pointers if an allocation lies there.
//
// Allocations are remembered by their addresses alone. Whether one is still alive, and how large,
// the driver says.
#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/library/capture/capture.h"
#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/replacements.h"
#include "ptx/syntax/ptx.h"

namespace gmt::interposer::kernel_checks {

namespace {

struct Allocations {
  std::set<CUdeviceptr> begins; // alive when they were allocated
};
constinit Lasting<Allocations> all_allocations;

void remember(CUdeviceptr begin) noexcept {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  const Locked lock;
  std::set<CUdeviceptr>& begins = (*all_allocations).begins;
  if (begin != 0 && begins.size() < kMost) begins.insert(begin);
}

template <Name kName, class Pointer, class... Args> struct Allocates {
  static CUresult call(Pointer* address, Args... args) noexcept {
    const int result = own<kName, Pointer*, Args...>(address, args...);
    if (result == CUDA_SUCCESS && address != nullptr)
      remember((CUdeviceptr)*address); // NOLINT: of either type
    return static_cast<CUresult>(result);
  }
};
template <Name kName, class Pointer, class... Args> void put_allocation() noexcept {
  replace(kName.text, reinterpret_cast<void*>(&Allocates<kName, Pointer, Args...>::call));
}

CUresult map_memory(CUdeviceptr address, std::size_t bytes, std::size_t offset,
                    CUmemGenericAllocationHandle handle, unsigned long long flags) noexcept {
  const int result =
    own<"cuMemMap", CUdeviceptr, std::size_t, std::size_t, CUmemGenericAllocationHandle,
        unsigned long long>(address, bytes, offset, handle, flags);
  if (result == CUDA_SUCCESS) remember(address);
  return static_cast<CUresult>(result);
}

CUresult register_memory(void* address, std::size_t bytes, unsigned flags) noexcept {
  const int result =
    own<"cuMemHostRegister_v2", void*, std::size_t, unsigned>(address, bytes, flags);
  CUdeviceptr on_device = 0;
  if (result == CUDA_SUCCESS && driver.address_on_device(&on_device, address, 0) == 0)
    remember(on_device);
  return static_cast<CUresult>(result);
}

struct Range {
  std::uint64_t begin = 0, bytes = 0;
};

std::optional<Range> ask_for_block(std::uint64_t address) {
  CUdeviceptr begin = 0;
  std::size_t bytes = 0;
  if (driver.address_range(&begin, &bytes, address) != 0 || bytes == 0) return std::nullopt;
  if (address < begin || address - begin >= bytes) return std::nullopt;
  return Range{begin, bytes};
}

// Of device_hooks/, as they are linked.
constexpr std::string_view kOwnVariables = "_ZN3gmt6device";

class Search {
public:
  Search(std::uint64_t limit, trace::Capture* capture) : left_(limit), capture_(*capture) {
    std::vector<CUdeviceptr> begins;
    {
      const Locked lock;
      begins.assign((*all_allocations).begins.begin(), (*all_allocations).begins.end());
    }
    for (const CUdeviceptr begin : begins) {
      if (const auto block = ask_for_block(begin)) live_[block->begin] = block->bytes;
    }
  }

  void variables(const NamedKernel& kernel) {
    const ptx::Module module = ptx::parse_module(capture_.ptx);
    for (const ptx::Variable& one : module.variables()) {
      const bool is_there = one.space == ptx::Space::kGlobal || one.space == ptx::Space::kConst;
      if (!is_there || one.linkage == ptx::Linkage::kExtern) continue;
      const std::string name(one.name);
      if (name.starts_with(kOwnVariables)) continue; // a replay has its own
      CUdeviceptr begin = 0;
      std::size_t bytes = 0;
      const int result = kernel.library != nullptr
                           ? driver.library_variable(&begin, &bytes, kernel.library, name.c_str())
                           : driver.module_variable(&begin, &bytes, kernel.module, name.c_str());
      if (result == 0 && bytes != 0) add({begin, bytes}, name); // else no kernel uses it
    }
  }

  // `may_ask`: the driver is asked for blocks whose allocation was not seen.
  void words(const std::string& bytes, bool may_ask) {
    for (std::size_t at = 0; at + sizeof(std::uint64_t) <= bytes.size(); at += sizeof at) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, sizeof word);
      constexpr std::uint64_t kLeast = 0x10000;
      if (word < kLeast || word >> 56 != 0) continue;
      if (!may_ask && (live_.empty() || word < live_.begin()->first)) continue;
      if (const auto block = find(word, may_ask)) add(*block, {});
    }
  }

  // What the blocks that are known point to.
  void follow() {
    while (!waiting_.empty()) {
      const std::size_t index = waiting_.front();
      waiting_.pop_front();
      std::string bytes = std::move(capture_.blocks[index].before); // others may move meanwhile
      words(bytes, false);
      capture_.blocks[index].before = std::move(bytes);
    }
  }

  void rest() {
    for (const auto& [begin, bytes] : live_) add({begin, bytes}, {});
  }

  void finish() { std::ranges::sort(capture_.blocks, {}, &trace::CapturedBlock::address); }

private:
  std::optional<Range> find(std::uint64_t address, bool may_ask) const {
    const auto next = live_.upper_bound(address);
    if (next != live_.begin()) {
      const auto& [begin, bytes] = *std::prev(next);
      if (address - begin < bytes) return Range{begin, bytes};
    }
    return may_ask ? ask_for_block(address) : std::nullopt;
  }

  bool overlaps_known(const Range& block) const {
    const auto next = known_.lower_bound(block.begin + block.bytes);
    if (next == known_.begin()) return false;
    const auto& [begin, bytes] = *std::prev(next);
    return begin + bytes > block.begin;
  }

  void add(const Range& block, const std::string& variable) {
    if (overlaps_known(block)) return;
    known_[block.begin] = block.bytes;
    trace::CapturedBlock captured;
    captured.address = block.begin;
    captured.variable = variable;
    bool is_there = block.bytes <= left_;
    if (is_there) {
      captured.before.resize(block.bytes);
      is_there = stream_.fetch(block.begin, &captured.before);
    }
    if (!is_there) {
      capture_.left_out.push_back({block.begin, block.bytes});
      return;
    }
    left_ -= block.bytes;
    waiting_.push_back(capture_.blocks.size());
    capture_.blocks.push_back(std::move(captured));
  }

  OwnStream stream_;
  std::uint64_t left_;
  trace::Capture& capture_;
  std::map<std::uint64_t, std::uint64_t> live_, known_; // bytes, by begin
  std::deque<std::size_t> waiting_;
};

} // namespace

void replace_allocations() noexcept {
  put_allocation<"cuMemAlloc_v2", CUdeviceptr, std::size_t>();
  put_allocation<"cuMemAllocPitch_v2", CUdeviceptr, std::size_t*, std::size_t, std::size_t,
                 unsigned>();
  put_allocation<"cuMemAllocManaged", CUdeviceptr, std::size_t, unsigned>();
  put_allocation<"cuMemHostAlloc", void*, std::size_t, unsigned>();
  put_allocation<"cuMemAllocHost_v2", void*, std::size_t>();
  put_allocation<"cuMemAllocAsync", CUdeviceptr, std::size_t, CUstream>();
  put_allocation<"cuMemAllocAsync_ptsz", CUdeviceptr, std::size_t, CUstream>();
  put_allocation<"cuMemAllocFromPoolAsync", CUdeviceptr, std::size_t, CUmemoryPool, CUstream>();
  put_allocation<"cuMemAllocFromPoolAsync_ptsz", CUdeviceptr, std::size_t, CUmemoryPool,
                 CUstream>();
  replace("cuMemMap", reinterpret_cast<void*>(&map_memory));
  replace("cuMemHostRegister_v2", reinterpret_cast<void*>(&register_memory));
}

void abandon_allocations() noexcept { all_allocations.begin_anew(); }

void capture_memory(const NamedKernel& kernel, std::uint64_t limit, trace::Capture* capture) {
  const OwnCopies own_copies;
  Search search(limit, capture);
  search.variables(kernel); // first: a block of the driver's may hold them
  search.words(capture->arguments, true);
  search.follow();
  search.rest();
  search.finish();
}

void capture_results(trace::Capture* capture) {
  const OwnCopies own_copies;
  const OwnStream stream;
  for (trace::CapturedBlock& block : capture->blocks) {
    std::string after(block.before.size(), '\0');
    block.has_after = stream.fetch(block.address, &after);
    if (block.has_after && after != block.before) block.after = std::move(after);
  }
}

} // namespace gmt::interposer::kernel_checks
