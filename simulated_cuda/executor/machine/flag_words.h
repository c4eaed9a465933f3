// SPDX-License-Identifier: Apache-2.0
// The words of global memory, 4 bytes each, by which lanes of a warp synchronise with other
// threads: those of an atomic, a strong store or a strong load.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace gmt::executor {

struct Block;
struct Warp;

class FlagWords {
public:
  // Stands for all words of which no other is known.
  static constexpr std::uint64_t kOther = 0;
  struct Group { // lanes that use the same words, from this one on
    std::uint64_t word = kOther;
    std::uint32_t lanes = 0;
  };

  FlagWords() = default; // of no lane
  // Each lane's access of so many bytes at its address. Addresses in shared memory are no words,
  // but `kOther` if the warp's block is in a cluster: other blocks may use them.
  FlagWords(const Warp& w, const std::uint64_t* addresses, std::int64_t offset,
            std::uint32_t bytes);
  static FlagWords others(const Warp& w); // the warp's lanes use words of which nothing is known

  std::span<const Group> groups() const { return {groups_.data(), count_}; }
  std::uint32_t words_each() const { return words_each_; }

  // Whether they may order anything: some thread has executed a fence.
  static bool matter(const Block& block);
  // Before a strong store or an atomic, and behind a strong load or an atomic that returns. A
  // relaxed load lets the block know nothing until its next fence.
  void release(const Warp& w) const;
  void acquire(const Warp& w, bool is_relaxed = false) const;

private:
  void add(std::uint64_t word, std::uint32_t lane);
  template <class Function> void each_in_block(const Warp& w, Function function) const;

  std::array<Group, 32> groups_;
  std::uint32_t count_ = 0, words_each_ = 1;
};

} // namespace gmt::executor
