// SPDX-License-Identifier: Apache-2.0
// What threads know of what other blocks of the launch let know (grid_ordering.h). Releases have
// moments of the launch, and slots: the words by which they are known.
#pragma once

#include <cstdint>
#include <vector>

namespace gmt::executor {

struct Block;
struct Warp;

// By slots, up to which moment.
struct KnownReleases {
  std::uint32_t all = 0; // of all slots
  std::vector<std::uint32_t> slots;

  std::uint32_t of(std::uint32_t slot) const;
  bool join(const KnownReleases& other); // whether it knows more now
  void learn(std::uint32_t slot, std::uint32_t moment);
};

// Which threads of a block learnt what, and at which clock of the block. Others of the block know
// it where something orders them behind that. Where there is too much of it, all threads of the
// block count as knowing the oldest, so that order is overestimated rather than missed.
class ThreadsKnowledge {
public:
  // The lanes learnt what is known by a slot at the moment. Relaxed: known behind their next fence.
  void learn(const Warp& w, std::uint32_t lanes, std::uint32_t slot, const KnownReleases& known,
             std::uint32_t moment, bool is_relaxed);
  void learn_all(std::uint32_t moment); // all threads
  void fence(const Warp& w);            // a fence that acquires, by the warp's lanes
  bool knows(const Warp& w, std::uint32_t lane, std::uint32_t slot, std::uint32_t moment) const;
  // Whether one thread of the block may know more than another.
  bool may_differ(const Block& block) const;

private:
  struct Part {
    std::uint32_t warp = 0, lanes = 0;
    std::uint32_t clock = 0;
    KnownReleases known;
  };
  static bool is_before(const Warp& w, std::uint32_t lane, const Part& part);
  void add(std::vector<Part>& parts, Part part);

  KnownReleases all_;
  std::vector<Part> parts_, polled_;
};

} // namespace gmt::executor
