// SPDX-License-Identifier: Apache-2.0
// A loop is a strongly connected component of blocks. What depends on the time spreads in it from
// results to results, and from a branch to all that is computed on either side before the sides
// meet: there, only registers may change.
#include "ptx/flow/time_loops.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "ptx/flow/accesses.h"

namespace gmt::ptx {
namespace {

// What only computes from registers. Those with a carry are left out: it is no register.
constexpr std::array kComputes = std::to_array<std::string_view>(
  {"mov",  "add", "sub", "mul", "mad",  "shl",  "shr",  "shf",  "and",  "or",   "xor", "not",
   "cnot", "set", "div", "rem", "setp", "selp", "slct", "cvt",  "min",  "max",  "abs", "neg",
   "fma",  "sad", "bfe", "bfi", "clz",  "popc", "brev", "prmt", "lop3", "bfind"});

bool names_time(const Body& body, const Operand& operand) {
  if (operand.kind == OperandKind::kSpecial)
    return is_time(static_cast<SpecialRegister>(operand.id));
  for (std::uint16_t i = 0; i < operand.count; ++i) {
    if (names_time(body, body.parts(operand)[i])) return true;
  }
  return false;
}

bool names_time(const Body& body, const Instruction& instruction) {
  for (std::size_t i = 0; i < instruction.operand_count; ++i) {
    if (names_time(body, body.operand(instruction, i))) return true;
  }
  return false;
}

// Components with at least one edge inside, by Tarjan's algorithm without recursion.
class Components {
public:
  explicit Components(const Flow& flow)
      : flow_(flow), index_(flow.blocks.size(), kNone), lowest_(flow.blocks.size()),
        is_open_(flow.blocks.size()) {}

  std::vector<std::vector<std::uint32_t>> find() {
    for (std::uint32_t b = 0; b < flow_.blocks.size(); ++b) {
      if (flow_.blocks[b].reachable && index_[b] == kNone) walk(b);
    }
    return std::move(found_);
  }

private:
  struct Step {
    std::uint32_t block, next;
  };

  void enter(std::uint32_t b) {
    index_[b] = lowest_[b] = count_++;
    open_.push_back(b);
    is_open_[b] = true;
    way_.push_back({b, 0});
  }

  void walk(std::uint32_t root) {
    enter(root);
    while (!way_.empty()) {
      const std::uint32_t b = way_.back().block;
      const auto& successors = flow_.blocks[b].successors;
      if (way_.back().next < successors.size()) {
        const std::uint32_t to = successors[way_.back().next++];
        if (index_[to] == kNone) enter(to);
        else if (is_open_[to]) lowest_[b] = std::min(lowest_[b], index_[to]);
        continue;
      }
      way_.pop_back();
      if (!way_.empty()) {
        const std::uint32_t before = way_.back().block;
        lowest_[before] = std::min(lowest_[before], lowest_[b]);
      }
      if (lowest_[b] == index_[b]) close(b);
    }
  }

  void close(std::uint32_t b) {
    std::vector<std::uint32_t> blocks;
    do {
      blocks.push_back(open_.back());
      is_open_[open_.back()] = false;
      open_.pop_back();
    } while (blocks.back() != b);
    const auto& successors = flow_.blocks[b].successors;
    const bool is_loop = blocks.size() > 1 || std::ranges::find(successors, b) != successors.end();
    if (!is_loop) return;
    std::ranges::sort(blocks);
    found_.push_back(std::move(blocks));
  }

  const Flow& flow_;
  std::vector<std::uint32_t> index_, lowest_, open_;
  std::vector<bool> is_open_;
  std::vector<Step> way_;
  std::vector<std::vector<std::uint32_t>> found_;
  std::uint32_t count_ = 0;
};

class Follower {
public:
  Follower(const Body& body, const Flow& flow, const std::vector<std::uint32_t>& blocks)
      : body_(body), flow_(flow), blocks_(blocks), is_inside_(flow.blocks.size()),
        is_decided_(flow.blocks.size()), depends_(body.registers.size()) {
    for (const std::uint32_t b : blocks) is_inside_[b] = true;
  }

  // False if the time decides more.
  bool run() {
    do {
      has_changed_ = false;
      for (const std::uint32_t b : blocks_) {
        for (std::uint32_t i = flow_.blocks[b].first; i < flow_.blocks[b].last; ++i) {
          if (!apply(b, body_.instructions[i])) return false;
        }
      }
    } while (has_changed_);
    return !registers().empty() && !(has_branch_ && asks_who_is_here_);
  }

  std::vector<std::uint32_t> registers() const {
    std::vector<std::uint32_t> all;
    for (std::uint32_t r = 0; r < depends_.size(); ++r) {
      if (depends_[r]) all.push_back(r);
    }
    return all;
  }

  bool is_read_outside() {
    for (std::uint32_t b = 0; b < flow_.blocks.size(); ++b) {
      for (std::uint32_t i = flow_.blocks[b].first; !is_inside_[b] && i < flow_.blocks[b].last;
           ++i) {
        accesses_of(body_, body_.instructions[i], accesses_);
        if (reads_time()) return true;
      }
    }
    return std::ranges::any_of(body_.return_registers,
                               [&](std::uint32_t r) { return r != kNone && depends_[r]; });
  }

private:
  bool reads_time() const {
    return std::ranges::any_of(accesses_.reads, [&](std::uint32_t r) { return depends_[r]; });
  }

  bool apply(std::uint32_t b, const Instruction& instruction) {
    const Mnemonic& mnemonic = body_.mnemonic(instruction);
    const std::string_view opcode = mnemonic.opcode;
    accesses_of(body_, instruction, accesses_);
    if (opcode == "activemask" || (opcode == "vote" && !mnemonic.has("sync")))
      asks_who_is_here_ = true;
    if (opcode == "bra") return !reads_time() || part(b);
    if (!is_decided_[b] && !reads_time() && !names_time(body_, instruction)) return true;
    if (opcode == "nanosleep") return true;
    if (std::ranges::find(kComputes, opcode) == kComputes.end() || mnemonic.has("cc")) return false;
    for (const std::uint32_t r : accesses_.writes) {
      has_changed_ |= !depends_[r];
      depends_[r] = true;
    }
    return true;
  }

  // Lanes part at the end of a block by the time: all blocks until they meet depend on it.
  bool part(std::uint32_t b) {
    has_branch_ = true;
    const std::uint32_t meet = flow_.blocks[b].reconverges_at;
    if (meet == kNone || !is_inside_[meet]) return false;
    std::vector<std::uint32_t> open = flow_.blocks[b].successors;
    std::vector<bool> is_seen(flow_.blocks.size());
    is_seen[meet] = true;
    while (!open.empty()) {
      const std::uint32_t at = open.back();
      open.pop_back();
      if (is_seen[at]) continue;
      if (!is_inside_[at]) return false;
      is_seen[at] = true;
      has_changed_ |= !is_decided_[at];
      is_decided_[at] = true;
      std::ranges::copy(flow_.blocks[at].successors, std::back_inserter(open));
    }
    return true;
  }

  const Body& body_;
  const Flow& flow_;
  const std::vector<std::uint32_t>& blocks_;
  std::vector<bool> is_inside_;
  std::vector<bool> is_decided_; // blocks: whether they are reached depends on the time
  std::vector<bool> depends_;    // registers
  Accesses accesses_;
  bool has_changed_ = false, has_branch_ = false, asks_who_is_here_ = false;
};

} // namespace

bool is_time(SpecialRegister special) {
  switch (special) {
  case SpecialRegister::kClock:
  case SpecialRegister::kClock64:
  case SpecialRegister::kClockHi:
  case SpecialRegister::kGlobaltimer:
  case SpecialRegister::kGlobaltimerLo:
  case SpecialRegister::kGlobaltimerHi: return true;
  default: return false;
  }
}

std::vector<TimeLoop> time_loops_of(const Body& body, const Flow& flow, bool is_kernel) {
  std::vector<TimeLoop> loops;
  for (const auto& blocks : Components(flow).find()) {
    Follower follower(body, flow, blocks);
    if (!follower.run() || (!is_kernel && follower.is_read_outside())) continue;
    loops.push_back({blocks, follower.registers()});
  }
  return loops;
}

} // namespace gmt::ptx
