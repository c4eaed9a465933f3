// SPDX-License-Identifier: Apache-2.0
// Instructions are moved up one by one, each with those that it needs, as long as no register is
// read or written in another order and no load passes a store.
#include "rewriter/segments.h"

#include <algorithm>

#include "ptx/flow/accesses.h"
#include "ptx/flow/flow.h"

namespace gmt::rewriter {
namespace {

using ptx::Body;

// Of what is copied: instructions of a segment, and accesses of a group; more would need too many
// registers.
constexpr std::size_t kLongest = 160, kMostInGroup = 32;
constexpr std::size_t kLongestUncopied = 1000, kMostUncopied = 128;

bool meets(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  return std::ranges::any_of(
    a, [&b](std::uint32_t id) { return std::find(b.begin(), b.end(), id) != b.end(); });
}

// Of an access: whether it is in a group, and whether that is the one being made.
enum class Check : std::uint8_t { kNone, kHere, kBefore };

class Grouping {
public:
  Grouping(const Body& body, const std::vector<Classified>& classified, std::uint32_t first,
           std::uint32_t last, std::size_t most_in_group)
      : classified_(classified), most_in_group_(most_in_group) {
    segment_.first = first;
    segment_.last = last;
    for (std::uint32_t i = first; i < last; ++i) {
      ptx::accesses_of(body, body.instructions[i], registers_.emplace_back());
      guards_.push_back(body.instructions[i].guard);
    }
    is_done_.resize(registers_.size());
    checks_.resize(registers_.size());
  }

  Segment group() {
    for (std::uint32_t i = 0; i < registers_.size(); ++i) {
      if (is_done_[i]) continue;
      if (of(i).role == Role::kAccess && checks_[i] == Check::kNone) open_group(i);
      emit(i);
    }
    return std::move(segment_);
  }

private:
  const Classified& of(std::uint32_t i) const { return classified_[segment_.first + i]; }

  void emit(std::uint32_t i) {
    is_done_[i] = true;
    segment_.order.push_back(segment_.first + i);
  }

  void open_group(std::uint32_t first) {
    Group group;
    for (std::uint32_t i = first; i < registers_.size() && group.accesses.size() < most_in_group_;
         ++i) {
      if (of(i).role != Role::kAccess || checks_[i] != Check::kNone) continue;
      moved_.clear();
      std::vector<std::uint32_t> needed = {of(i).access.base};
      if (guards_[i] != ptx::kNone) needed.push_back(guards_[i]);
      if (of(i).access.size != ptx::kNone) needed.push_back(of(i).access.size);
      if (!is_there(i, first, needed)) continue;
      std::sort(moved_.begin(), moved_.end());
      for (const std::uint32_t m : moved_) emit(m);
      checks_[i] = Check::kHere;
      group.accesses.push_back(segment_.first + i);
    }
    for (const std::uint32_t i : group.accesses) checks_[i - segment_.first] = Check::kBefore;
    group.position = segment_.order.size();
    segment_.groups.push_back(std::move(group));
  }

  bool is_moved(std::uint32_t i) const {
    return std::find(moved_.begin(), moved_.end(), i) != moved_.end();
  }

  // Whether the registers can have before `first` the values that `i` reads. Adds to moved_.
  bool is_there(std::uint32_t i, std::uint32_t first, const std::vector<std::uint32_t>& needed) {
    for (std::uint32_t k = i; k-- > first;) {
      if (is_done_[k] || is_moved(k) || !meets(registers_[k].writes, needed)) continue;
      if (!move(k, first)) return false;
    }
    return true;
  }

  // Moves `i` before `first`, with all between them that it must not pass.
  bool move(std::uint32_t i, std::uint32_t first) {
    if (!may_move(i)) return false;
    moved_.push_back(i);
    for (std::uint32_t k = i; k-- > first;) {
      if (is_done_[k] || is_moved(k) || !depend(k, i)) continue;
      if (!move(k, first)) return false;
    }
    return true;
  }

  bool may_move(std::uint32_t i) const {
    switch (of(i).role) {
    case Role::kPure:
    case Role::kLoad: return true;
    case Role::kAccess: return checks_[i] == Check::kBefore && !of(i).access.is_ordered; // a load
    default: return false;
    }
  }

  // Whether `later` must stay behind `earlier`.
  bool depend(std::uint32_t earlier, std::uint32_t later) const {
    const ptx::Accesses& a = registers_[earlier];
    const ptx::Accesses& b = registers_[later];
    if (meets(a.writes, b.reads) || meets(a.reads, b.writes) || meets(a.writes, b.writes))
      return true;
    if (of(later).role == Role::kPure) return false;
    const Role role = of(earlier).role;
    return role == Role::kFixed || (role == Role::kAccess && of(earlier).access.is_ordered);
  }

  const std::vector<Classified>& classified_;
  const std::size_t most_in_group_;
  Segment segment_;
  std::vector<ptx::Accesses> registers_;
  std::vector<std::uint32_t> guards_;
  std::vector<bool> is_done_;
  std::vector<Check> checks_;
  std::vector<std::uint32_t> moved_; // by the access that is tried
};

} // namespace

std::vector<Segment> segments_of(const ptx::Module& module, const Body& body,
                                 const std::vector<Classified>& classified, Copied copied) {
  const bool is_copied = copied == Copied::kYes;
  const ptx::Flow flow = ptx::flow_of(module, body);
  std::vector<bool> begins(body.instructions.size() + 1);
  for (const ptx::Statement& statement : body.statements) {
    if (statement.kind != ptx::StatementKind::kLine) begins[statement.instruction] = true;
  }
  for (const ptx::BasicBlock& block : flow.blocks) begins[block.first] = true;

  std::vector<Segment> segments;
  std::uint32_t first = ptx::kNone, last = 0; // of accesses
  const auto close = [&] {
    const std::size_t most = is_copied ? kMostInGroup : kMostUncopied;
    if (first != ptx::kNone)
      segments.push_back(Grouping(body, classified, first, last, most).group());
    first = ptx::kNone;
  };
  for (std::uint32_t i = 0; i < body.instructions.size(); ++i) {
    const Role role = classified[i].role;
    if (begins[i] || role == Role::kBoundary || (is_copied && role == Role::kTogether)) close();
    if (first != ptx::kNone && i - first >= (is_copied ? kLongest : kLongestUncopied)) close();
    if (role != Role::kAccess) continue;
    if (first == ptx::kNone) first = i;
    last = i + 1;
  }
  close();
  return segments;
}

} // namespace gmt::rewriter
