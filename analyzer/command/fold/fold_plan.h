// SPDX-License-Identifier: Apache-2.0
// Which records of a trace may go while its program runs on, so that a trace of days stays small:
// see fold_walk.h, which makes a plan, and log_folder.h, which carries it out.
#pragma once

#include <algorithm>
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
  static constexpr std::size_t kMostOrders = std::size_t{1} << 25;
  static constexpr std::size_t kMostFiles = std::size_t{1} << 13;

  // From the first order on up to the last one; of a longer stretch its end. Nothing is known of
  // earlier orders: their records stay.
  void begin(std::uint64_t first, std::uint64_t last) {
    first_ = std::max(first, last - std::min<std::uint64_t>(last, kMostOrders - 1));
  }
  bool contains(std::uint64_t order) const {
    return order >= first_ && order - first_ < kMostOrders;
  }
  // `file` is the one that the record stands in, by number, if it is to be dropped.
  void set(std::uint64_t order, Part part, std::size_t file = 0) {
    if (!contains(order)) return;
    const std::uint64_t at = order - first_;
    if (at >= parts_.size()) parts_.resize(at + 1);
    parts_[at] = word(part, file);
  }
  Part of(std::uint64_t order) const {
    return order >= first_ && order - first_ < parts_.size() ? part(parts_[order - first_])
                                                             : Part::kNone;
  }
  // For what was to be dropped and must stay.
  void keep(std::uint64_t order, Part part) {
    if (of(order) == Part::kDropped) parts_[order - first_] = word(part, 0);
  }

  // A reader takes a note for a call that may have used any memory and ordered any streams. One is
  // needed between a use that stays and what it may be held against, and before a free, whose block
  // may have been used. Each file has its own: one may be written anew and another not.
  void set_notes() {
    struct File {
      std::size_t dropped = 0, noted = 0; // positions
    };
    std::vector<File> files(kMostFiles);
    std::vector<std::size_t> open; // files with a record that is dropped behind their last note
    std::size_t used = 1; // the last use that stays; perhaps there was one before the first
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Part is = part(parts_[i]);
      if (is == Part::kDropped) {
        const std::size_t file = parts_[i] >> kPartBits;
        if (std::ranges::find(open, file) == open.end()) open.push_back(file);
        files[file].dropped = i;
      }
      if (is != Part::kWork && is != Part::kRelease && is != Part::kTensor) continue;
      std::erase_if(open, [&](std::size_t number) {
        File& file = files[number];
        if (is == Part::kTensor && used <= file.noted) return false;
        parts_[file.dropped] = word(Part::kNote, 0);
        file.noted = i + 1;
        return true;
      });
      if (is == Part::kWork) used = i + 2;
    }
  }

private:
  static constexpr unsigned kPartBits = 3;
  static_assert(kMostFiles << kPartBits <= std::size_t{1} << 16);
  static std::uint16_t word(Part part, std::size_t file) {
    return static_cast<std::uint16_t>(static_cast<std::size_t>(part) | file << kPartBits);
  }
  static Part part(std::uint16_t word) { return static_cast<Part>(word & ((1U << kPartBits) - 1)); }

  std::uint64_t first_ = UINT64_MAX;
  std::vector<std::uint16_t> parts_;
};

} // namespace gmt
