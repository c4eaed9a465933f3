// SPDX-License-Identifier: Apache-2.0
// Which records of a trace may go while its program runs on, so that a trace of days stays small:
// see fold_walk.h, which makes a plan, and log_folder.h, which carries it out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gmt {

// What becomes of the records of some files, by their orders.
class FoldPlan {
public:
  enum class Part : std::uint8_t {
    kNone,    // stays; or no record of these files
    kWork,    // stays: a copy, set, launch or other use of memory
    kRelease, // stays: a free
    kTensor,  // stays: a tensor that was taken back
    kDropped,
    kNote, // becomes a note of how much was dropped up to there
  };
  static constexpr std::size_t kMostOrders = std::size_t{1} << 26;

  // From this order on; nothing is known of earlier ones.
  void begin(std::uint64_t order) { first_ = order; }
  bool contains(std::uint64_t order) const { return order >= first_; }
  // False if it is too far behind the first one.
  bool set(std::uint64_t order, Part part) {
    if (!contains(order)) return true;
    const std::uint64_t at = order - first_;
    if (at >= kMostOrders) return false;
    if (at >= parts_.size()) parts_.resize(at + 1);
    parts_[at] = part;
    return true;
  }
  Part of(std::uint64_t order) const {
    return order >= first_ && order - first_ < parts_.size() ? parts_[order - first_] : Part::kNone;
  }
  // For what was to be dropped and must stay.
  void keep(std::uint64_t order, Part part) {
    if (of(order) == Part::kDropped) parts_[order - first_] = part;
  }

  // A reader takes a note for a call that may have used any memory and ordered any streams. One is
  // needed between a use that stays and what it may be held against, and before a free, whose block
  // may have been used. The last record of each file that is dropped becomes one as well: it has
  // the file's sums.
  void set_notes(const std::vector<std::uint64_t>& last_of_files) {
    std::size_t dropped = kNothing;
    bool is_open = false; // a use stayed since the last note
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Part part = parts_[i];
      if (part == Part::kDropped) dropped = i;
      const bool is_held_against =
        part == Part::kWork || part == Part::kRelease || (part == Part::kTensor && is_open);
      if (is_held_against && dropped != kNothing) {
        parts_[dropped] = Part::kNote;
        dropped = kNothing;
        is_open = false;
      }
      is_open |= part == Part::kWork;
    }
    if (dropped != kNothing) parts_[dropped] = Part::kNote;
    for (const std::uint64_t order : last_of_files) keep(order, Part::kNote);
  }

private:
  static constexpr std::size_t kNothing = SIZE_MAX;
  std::uint64_t first_ = UINT64_MAX;
  std::vector<Part> parts_;
};

} // namespace gmt
