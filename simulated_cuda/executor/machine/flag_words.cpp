// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/flag_words.h"

#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/cluster.h"
#include "simulated_cuda/executor/machine/grid_ordering.h"

namespace gmt::executor {

FlagWords::FlagWords(const Warp& w, const std::uint64_t* addresses, std::int64_t offset,
                     std::uint32_t bytes)
    : words_each_(bytes < 4 ? 1 : bytes / 4) {
  const bool is_in_cluster = w.block->cluster != nullptr && w.block->cluster->size() > 1;
  for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<std::uint32_t>(__builtin_ctz(m));
    const std::uint64_t address = addresses[lane] + static_cast<std::uint64_t>(offset);
    const bool is_shared = address - kSharedWindow < kWindowBytes;
    if (!is_shared) add(address / 4, lane);
    else if (is_in_cluster) add(kOther, lane);
  }
}

FlagWords FlagWords::others(const Warp& w) {
  FlagWords words;
  words.groups_[0] = {kOther, w.mask};
  words.count_ = 1;
  return words;
}

// Words of which lanes beside each other have the same are joined. Others may stand there twice.
void FlagWords::add(std::uint64_t word, std::uint32_t lane) {
  if (count_ != 0 && groups_[count_ - 1].word == word) groups_[count_ - 1].lanes |= 1u << lane;
  else groups_[count_++] = {word, 1u << lane};
}

bool FlagWords::matter(const Block& block) {
  if (block.order.has_fenced) return true;
  return block.global.launch != 0 &&
         (block.has_device_fence || block.grid->ordering->has_releases());
}

// Threads of one block: by the clocks of threads.
template <class Function> void FlagWords::each_in_block(const Warp& w, Function function) const {
  if (!w.block->order.has_fenced) return;
  for (const Group& group : groups()) {
    for (std::uint32_t i = 0; i < words_each_ && group.word != kOther; ++i)
      function(Ordering::Lanes{&w, group.lanes}, Ordering::kGlobalWord - (group.word + i));
  }
}

void FlagWords::release(const Warp& w) const {
  Block& block = *w.block;
  each_in_block(w, [&](const Ordering::Lanes& lanes, std::uint64_t word) {
    block.order.strong_store(block, lanes, word);
  });
  if (block.global.launch == 0) return;
  if (block.has_device_fence) block.grid->ordering->release(w, *this);
  block.grid->ordering->raise(w);
}

void FlagWords::acquire(const Warp& w, bool is_relaxed) const {
  Block& block = *w.block;
  each_in_block(w, [&](const Ordering::Lanes& lanes, std::uint64_t word) {
    block.order.strong_load(block, lanes, word);
  });
  if (block.global.launch != 0) block.grid->ordering->acquire(w, *this, is_relaxed);
}

} // namespace gmt::executor
