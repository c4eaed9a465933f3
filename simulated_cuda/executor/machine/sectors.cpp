// SPDX-License-Identifier: Apache-2.0
// How a GPU splits an access of a warp. The rules give what CUPTI counted on an H100 for each of
// 345 patterns of lanes (docs/coalescing.md, "Without a GPU").
#include "simulated_cuda/executor/machine/count_traffic.h"

#include <algorithm>
#include <bit>

namespace gmt::executor {
namespace {

constexpr std::uint32_t kSectorBytes = 32, kBanks = 32, kBankBytes = 4, kWavefrontBytes = 128;

std::uint64_t needed(std::uint32_t mask, std::uint32_t bytes, std::uint32_t of) {
  return (std::uint64_t{static_cast<std::uint32_t>(std::popcount(mask))} * bytes + of - 1) / of;
}

// Pieces of memory of so many bytes that the lanes' accesses begin in, each once.
std::uint64_t count_pieces(const std::uint64_t* addresses, std::uint32_t mask,
                           std::uint32_t bytes) {
  std::uint64_t seen[kLanes];
  std::uint32_t count = 0;
  for (std::uint32_t m = mask; m != 0; m &= m - 1) {
    const std::uint64_t piece = addresses[std::countr_zero(m)] / bytes;
    if (count != 0 && seen[count - 1] == piece) continue;
    if (std::find(seen, seen + count, piece) == seen + count) seen[count++] = piece;
  }
  return count;
}

// Whether each lane loads what its neighbour does, of lanes two by two, if that loads at all.
bool are_pairs(const std::uint64_t* addresses, std::uint32_t mask) {
  for (std::uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(m));
    const std::uint32_t other = lane ^ 1u;
    if ((mask >> other & 1) != 0 && addresses[lane] != addresses[other]) return false;
  }
  return true;
}

// Words that are in one bank have their turns one after the other.
class Banks {
public:
  explicit Banks(bool joins_equal) : joins_equal_(joins_equal) {}

  void add(std::uint64_t word) {
    std::uint32_t& count = counts_[word % kBanks];
    std::uint64_t* words = words_[word % kBanks];
    if (joins_equal_ && std::find(words, words + count, word) != words + count) return;
    words[count++] = word;
    most_ = std::max(most_, count);
  }
  std::uint32_t turns() const { return most_; }

private:
  bool joins_equal_;
  std::uint32_t counts_[kBanks] = {}, most_ = 0;
  std::uint64_t words_[kBanks][kLanes];
};

} // namespace

void TrafficCounts::add(const TrafficCounts& more) {
  executions += more.executions;
  threads += more.threads;
  sectors += more.sectors;
  ideal_sectors += more.ideal_sectors;
  wavefronts += more.wavefronts;
  ideal_wavefronts += more.ideal_wavefronts;
}

void count_sectors(const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t bytes,
                   TrafficCounts& counts) {
  const std::uint64_t sectors = count_pieces(addresses, mask, kSectorBytes);
  counts.sectors += sectors;
  counts.ideal_sectors += std::min(sectors, needed(mask, bytes, kSectorBytes));
}

// 32 lanes of up to 4 bytes share a wavefront, 16 of 8, 8 of 16; loads by pairs of lanes twice as
// many.
void count_wavefronts(const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t bytes,
                      Together together, TrafficCounts& counts) {
  std::uint32_t lanes = bytes <= kBankBytes ? kLanes : kWavefrontBytes / bytes;
  if (together == Together::kLoad && bytes > kBankBytes && are_pairs(addresses, mask)) lanes *= 2;
  std::uint64_t turns = 0;
  for (std::uint32_t first = 0; first < kLanes; first += lanes) {
    const std::uint32_t here = mask >> first & (lanes == kLanes ? ~0u : (1u << lanes) - 1);
    if (here == 0) continue;
    Banks banks(together != Together::kAtomic);
    for (std::uint32_t m = here; m != 0; m &= m - 1) {
      const std::uint64_t address =
        addresses[first + static_cast<std::uint32_t>(std::countr_zero(m))];
      for (std::uint64_t at = 0; at < bytes; at += kBankBytes)
        banks.add((address + at) / kBankBytes);
    }
    turns += banks.turns();
  }
  counts.wavefronts += turns;
  counts.ideal_wavefronts += std::min(turns, needed(mask, bytes, kWavefrontBytes));
}

void count_copy(const std::uint64_t* from, const std::uint64_t* to, std::uint32_t mask,
                std::uint32_t bytes, TrafficCounts& counts) {
  TrafficCounts stored;
  count_wavefronts(to, mask, bytes, Together::kStore, stored);
  const std::uint64_t lines = count_pieces(from, mask, kWavefrontBytes);
  counts.wavefronts += std::max(stored.wavefronts, lines);
  counts.ideal_wavefronts += stored.ideal_wavefronts;
}

} // namespace gmt::executor
