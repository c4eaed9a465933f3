// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/known_releases.h"

#include "simulated_cuda/executor/machine/block.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gmt::executor {
namespace {

constexpr std::size_t kMostParts = 64; // of a block

} // namespace

std::uint32_t KnownReleases::of(std::uint32_t slot) const {
  return slot < slots.size() ? std::max(all, slots[slot]) : all;
}

bool KnownReleases::join(const KnownReleases& other) {
  bool is_more = other.all > all;
  all = std::max(all, other.all);
  if (slots.size() < other.slots.size()) slots.resize(other.slots.size());
  for (std::size_t i = 0; i < other.slots.size(); ++i) {
    is_more |= other.slots[i] > std::max(all, slots[i]);
    slots[i] = std::max(slots[i], other.slots[i]);
  }
  return is_more;
}

void KnownReleases::learn(std::uint32_t slot, std::uint32_t moment) {
  if (slots.size() <= slot) slots.resize(slot + 1);
  slots[slot] = std::max(slots[slot], moment);
}

// Whether what the part's lanes learnt is ordered before what the lane does now.
bool ThreadsKnowledge::is_before(const Warp& w, std::uint32_t lane, const Part& part) {
  if (part.warp == w.id && (part.lanes >> lane & 1) != 0) return true;
  for (std::uint32_t m = part.lanes; m != 0; m &= m - 1) {
    const std::uint32_t thread = part.warp * kLanes + static_cast<std::uint32_t>(__builtin_ctz(m));
    if (w.block->order.knows(w, lane, thread, part.clock)) return true;
  }
  return false;
}

void ThreadsKnowledge::add(std::vector<Part>& parts, Part part) {
  if (!parts.empty()) {
    Part& last = parts.back();
    if (last.warp == part.warp && last.lanes == part.lanes && last.clock == part.clock) {
      last.known.join(part.known);
      return;
    }
  }
  if (parts.size() == kMostParts) {
    const auto half = std::next(parts.begin(), kMostParts / 2);
    std::for_each(parts.begin(), half, [&](const Part& each) { all_.join(each.known); });
    parts.erase(parts.begin(), half);
  }
  parts.push_back(std::move(part));
}

void ThreadsKnowledge::learn(const Warp& w, std::uint32_t lanes, std::uint32_t slot,
                             const KnownReleases& known, std::uint32_t moment, bool is_relaxed) {
  const Block& block = *w.block;
  if (all_.of(slot) >= moment) return;
  std::vector<Part>& parts = is_relaxed ? polled_ : parts_;
  const auto has_it = [&](const Part& part) { // as where a word is polled
    return part.warp == w.id && (lanes & ~part.lanes) == 0 && part.known.of(slot) >= moment;
  };
  if (std::any_of(parts.rbegin(), parts.rend(), has_it)) return;
  std::erase_if(parts_, [&](const Part& part) {
    if (part.clock >= block.last_barrier) return false;
    all_.join(part.known);
    return true;
  });
  Part part{w.id, lanes, block.clock, known};
  part.known.learn(slot, moment);
  add(parts, std::move(part));
}

void ThreadsKnowledge::learn_all(std::uint32_t moment) {
  all_.all = std::max(all_.all, moment);
  parts_.clear();
  polled_.clear();
}

void ThreadsKnowledge::fence(const Warp& w) {
  std::vector<Part> left;
  for (Part& part : std::exchange(polled_, {})) {
    Part acquired{w.id, 0, w.block->clock, part.known};
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
      const auto lane = static_cast<std::uint32_t>(__builtin_ctz(m));
      if (is_before(w, lane, part)) acquired.lanes |= 1u << lane;
    }
    const bool is_over = part.warp == w.id && (part.lanes & ~acquired.lanes) == 0;
    if (acquired.lanes != 0) add(parts_, std::move(acquired));
    if (!is_over) left.push_back(std::move(part));
  }
  polled_ = std::move(left);
}

bool ThreadsKnowledge::knows(const Warp& w, std::uint32_t lane, std::uint32_t slot,
                             std::uint32_t moment) const {
  if (all_.of(slot) >= moment) return true;
  return std::ranges::any_of(parts_, [&](const Part& part) {
    return part.known.of(slot) >= moment && is_before(w, lane, part);
  });
}

bool ThreadsKnowledge::may_differ(const Block& block) const {
  return std::ranges::any_of(parts_,
                             [&](const Part& part) { return part.clock >= block.last_barrier; });
}

} // namespace gmt::executor
