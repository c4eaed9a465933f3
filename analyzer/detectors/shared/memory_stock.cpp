// SPDX-License-Identifier: Apache-2.0

#include "analyzer/detectors/shared/memory_stock.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {
namespace {

constexpr std::size_t kHolders = 5;

// Which pool's addresses a block has. Arrays, managed and virtual memory lie elsewhere.
class Pools {
public:
  using Key = PoolTable::Handle; // of a pool that the program made
  static constexpr Key kDefault = PoolTable::kDefault, kOutside = UINT64_MAX;

  explicit Pools(const PoolTable& pools) : pools_(pools) {}

  static bool covers(const Block& block) {
    return block.memory_kind == trace::MemoryKind::kDevice ||
           block.memory_kind == trace::MemoryKind::kPitched ||
           block.memory_kind == trace::MemoryKind::kStreamOrdered;
  }
  Key key(const Block& block) const {
    return block.memory_kind == trace::MemoryKind::kStreamOrdered
             ? pools_.made_or_default(block.shape().pool)
             : kOutside;
  }
  // The pool has given back to the device what was freed before.
  bool was_trimmed_since(const Block& freed, Key key) const {
    return freed.freed_at < pools_.emptied(key);
  }
  HeldMemory::Pool described(Key key) const {
    HeldMemory::Pool pool;
    pool.name = name_of(key);
    if (const auto threshold = pools_.release_threshold(key)) pool.release_threshold = threshold;
    return pool;
  }

private:
  static std::string name_of(Key key) {
    if (key == kOutside) return "outside pools";
    return key == kDefault ? "default pool" : cat({"pool ", format_address(key)});
  }

  const PoolTable& pools_;
};

class StockTaking {
public:
  StockTaking(const Heap& heap, const ProcessFacts& facts)
      : heap_(heap), facts_(facts), pools_(heap.cuda().pools) {}

  MemoryStock of_device(int device) {
    stock_.held.device = device;
    heap_.for_each_live([this](const Block& block) {
      if (!counts(block)) return;
      count(block);
      if (Pools::covers(block)) add(pool(pools_.key(block)), block);
    });
    count_freed();
    for (auto& [key, pool] : by_pool_) {
      if (key != Pools::kOutside || pool.freed_bytes != 0)
        stock_.held.pools.push_back(std::move(pool));
    }
    return build();
  }

  MemoryStock of_host() {
    stock_.held.is_host = true;
    heap_.for_each_live([this](const Block& block) {
      if (is_page_locked(block.memory_kind)) count(block);
    });
    return build();
  }

private:
  bool counts(const Block& block) const {
    if (!is_device_memory(block)) return false;
    const int wanted = stock_.held.device, device = heap_.device_of(block);
    return wanted == kAnyDevice || device == kAnyDevice || device == wanted;
  }

  template <class Sum> static void add(Sum& sum, const Block& block) {
    sum.bytes += block.bytes;
    ++sum.blocks;
  }

  HeldMemory::Pool& pool(Pools::Key key) {
    const auto [at, is_new] = by_pool_.try_emplace(key);
    if (is_new) at->second = pools_.described(key);
    return at->second;
  }

  void count(const Block& block) {
    MemoryHolder& holder = by_stack_[std::uint64_t{block.allocated.value} << 16 | block.api];
    holder.stack = block.allocated;
    holder.api = block.api;
    add(holder, block);
    add(stock_.held, block);
  }

  void count_freed() {
    struct Piece {
      std::uint64_t begin = 0, end = 0;
    };
    std::map<Pools::Key, Piece> last;
    heap_.for_each_freed([&](std::uint64_t begin, std::uint64_t end, const Block& block) {
      if (!Pools::covers(block) || !counts(block)) return;
      const Pools::Key key = pools_.key(block);
      if (pools_.was_trimmed_since(block, key)) return;
      Piece& piece = last[key];
      if (piece.end != begin) piece.begin = begin;
      piece.end = end;
      HeldMemory::Pool& sum = pool(key);
      sum.freed_bytes += end - begin;
      sum.largest_freed = std::max(sum.largest_freed, piece.end - piece.begin);
    });
  }

  MemoryStock build() {
    for (const auto& [key, holder] : by_stack_) stock_.holders.push_back(holder);
    add_modules();
    keep_largest();
    return std::move(stock_);
  }

  void add_modules() {
    std::map<std::string_view, HeldMemory::Module> by_path;
    for (const MemoryHolder& holder : stock_.holders) {
      const Caller caller = facts_.caller(holder.stack);
      HeldMemory::Module& module = by_path[caller.module];
      module.path = caller.module;
      module.owner = caller.owner;
      module.bytes += holder.bytes;
      module.blocks += holder.blocks;
    }
    std::vector<HeldMemory::Module>& modules = stock_.held.modules;
    for (auto& [path, module] : by_path) modules.push_back(std::move(module));
    std::ranges::stable_sort(modules, std::ranges::greater{}, &HeldMemory::Module::bytes);
  }

  void keep_largest() {
    std::vector<MemoryHolder>& holders = stock_.holders;
    std::ranges::sort(holders, [](const MemoryHolder& a, const MemoryHolder& b) {
      return std::tuple(b.bytes, a.stack.value, a.api) < std::tuple(a.bytes, b.stack.value, b.api);
    });
    while (holders.size() > kHolders) {
      ++stock_.held.other_holders;
      stock_.held.other_bytes += holders.back().bytes;
      holders.pop_back();
    }
  }

  const Heap& heap_;
  const ProcessFacts& facts_;
  const Pools pools_;
  MemoryStock stock_;
  std::unordered_map<std::uint64_t, MemoryHolder> by_stack_;
  std::map<Pools::Key, HeldMemory::Pool> by_pool_;
};

} // namespace

bool is_page_locked(trace::MemoryKind memory_kind) {
  return memory_kind == trace::MemoryKind::kPinned || memory_kind == trace::MemoryKind::kRegistered;
}

MemoryStock stock_of_device(const Heap& heap, const ProcessFacts& facts, int device) {
  return StockTaking(heap, facts).of_device(device);
}

MemoryStock stock_of_host(const Heap& heap, const ProcessFacts& facts) {
  return StockTaking(heap, facts).of_host();
}

} // namespace gmt
