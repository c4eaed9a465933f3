// SPDX-License-Identifier: Apache-2.0
// Each register lives in one interval of instructions, from its first to its last point of life
// in the order of the text; intervals take slots by linear scan, the lowest free one first.
#include "simulated_cuda/executor/program/slots.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <utility>

#include "ptx/flow/accesses.h"

namespace gmt::executor {
namespace {

// Steps of the search for what lives across blocks. Beyond it registers live everywhere: that is
// right too, and only costs slots.
constexpr std::uint64_t kMostSteps = 50'000'000;

class Liveness {
public:
  Liveness(const ptx::Body& body, const ptx::Flow& flow)
      : body_(body), flow_(flow), intervals_(body.registers.size()),
        exposed_(body.registers.size()), defined_(body.registers.size()) {}

  std::vector<Interval> find() {
    for (std::uint32_t b = 0; b < flow_.blocks.size(); ++b) scan(b);
    std::vector<std::uint32_t> reached(flow_.blocks.size(), ptx::kNone);
    for (std::uint32_t r = 0; r < exposed_.size(); ++r) spread(r, reached);
    return std::move(intervals_);
  }

private:
  static std::uint32_t read_at(std::uint32_t i) { return 2 * i; }
  static std::uint32_t written_at(std::uint32_t i) { return 2 * i + 1; }

  // Points inside one block, which blocks need a value from before them, and which make one.
  void scan(std::uint32_t b) {
    const ptx::BasicBlock& block = flow_.blocks[b];
    for (std::uint32_t i = block.first; i < block.last; ++i) {
      const ptx::Instruction& instruction = body_.instructions[i];
      ptx::accesses_of(body_, instruction, accesses_);
      for (const std::uint32_t r : accesses_.reads) {
        intervals_[r].cover(read_at(i), written_at(i));
        expose(r, b);
      }
      for (const std::uint32_t r : accesses_.writes) {
        intervals_[r].cover(written_at(i), written_at(i));
        if (instruction.guard != ptx::kNone) {
          expose(r, b); // what it was before may stay
        } else if (defined_[r].empty() || defined_[r].back() != b) {
          defined_[r].push_back(b);
        }
      }
    }
  }

  void expose(std::uint32_t r, std::uint32_t b) {
    if (!defined_[r].empty() && defined_[r].back() == b) return;
    if (exposed_[r].empty() || exposed_[r].back() != b) exposed_[r].push_back(b);
  }

  // A register lives through all blocks between those that make it and those that need it.
  void spread(std::uint32_t r, std::vector<std::uint32_t>& reached) {
    if (exposed_[r].empty()) return;
    if (steps_ > kMostSteps) {
      intervals_[r].cover(0, written_at(static_cast<std::uint32_t>(body_.instructions.size())));
      return;
    }
    open_ = exposed_[r];
    for (const std::uint32_t b : open_) reached[b] = r;
    for (; !open_.empty(); ++steps_) {
      const std::uint32_t b = open_.back();
      open_.pop_back();
      intervals_[r].cover(read_at(flow_.blocks[b].first), read_at(flow_.blocks[b].first));
      for (const std::uint32_t before : flow_.blocks[b].predecessors) {
        const std::uint32_t last = written_at(flow_.blocks[before].last - 1);
        intervals_[r].cover(last, last);
        if (reached[before] == r) continue;
        if (std::binary_search(defined_[r].begin(), defined_[r].end(), before)) continue;
        reached[before] = r;
        open_.push_back(before);
      }
    }
  }

  const ptx::Body& body_;
  const ptx::Flow& flow_;
  std::vector<Interval> intervals_;
  std::vector<std::vector<std::uint32_t>> exposed_; // for each register: blocks that read it first
  std::vector<std::vector<std::uint32_t>> defined_; // and blocks that write it without a guard
  std::vector<std::uint32_t> open_;
  ptx::Accesses accesses_;
  std::uint64_t steps_ = 0;
};

using Lowest = std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>>;

struct Ending {
  std::uint32_t end;
  std::uint32_t slot;
  bool operator>(const Ending& other) const { return end > other.end; }
};

// Slots for registers of one width. Lanes of different fragments may hold different registers in
// one slot; so all registers of a slot have their lanes at the same bytes.
struct FreeSlots {
  Lowest free;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> in_use;

  std::uint32_t take(const Interval& interval, std::uint32_t& count) {
    while (!in_use.empty() && in_use.top().end < interval.begin) {
      free.push(in_use.top().slot);
      in_use.pop();
    }
    std::uint32_t slot = count;
    if (free.empty()) {
      ++count;
    } else {
      slot = free.top();
      free.pop();
    }
    in_use.push({interval.end, slot});
    return slot;
  }
};

} // namespace

SlotFile file_of(ptx::Type type) {
  if (type == ptx::Type::kPred) return SlotFile::kPredicate;
  if (ptx::bits_of(type) <= 32) return SlotFile::k32;
  return ptx::bits_of(type) <= 64 ? SlotFile::k64 : SlotFile::k128;
}

Slots allocate_slots(const ptx::Body& body, const ptx::Flow& flow) {
  Slots slots;
  slots.of.resize(body.registers.size());
  slots.lives = Liveness(body, flow).find();
  std::vector<Interval>& intervals = slots.lives;
  std::vector<std::uint32_t> order;
  for (std::uint32_t r = 0; r < intervals.size(); ++r) {
    slots.of[r].file = file_of(body.registers[r].type);
    if (!intervals[r].empty()) order.push_back(r);
  }
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(intervals[a].begin, a) < std::pair(intervals[b].begin, b);
  });
  std::map<std::uint32_t, FreeSlots> by_width;
  const auto give = [&](std::uint32_t r, const Interval& interval) {
    Slot& slot = slots.of[r];
    FreeSlots& free = by_width[ptx::bits_of(body.registers[r].type)];
    slot.index = free.take(interval, slots.count[static_cast<int>(slot.file)]);
  };
  // Registers of parameters and returns are filled and read from outside: they live all the time.
  Interval always;
  always.cover(0, ptx::kNone - 1);
  for (const auto* from_outside : {&body.parameter_registers, &body.return_registers}) {
    for (const std::uint32_t r : *from_outside) {
      if (r == ptx::kNone) continue;
      intervals[r] = always;
      give(r, always);
    }
  }
  for (const std::uint32_t r : order) {
    if (slots.of[r].index == ptx::kNone) give(r, intervals[r]);
  }
  return slots;
}

} // namespace gmt::executor
