// SPDX-License-Identifier: Apache-2.0
// The new code is made in one pass. Statements and labels move with the instruction behind them. It
// is one file because that pass keeps its place in the old code and in the new one.
#include "rewriter/body_rewriter.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "ptx/flow/flow.h"
#include "ptx/flow/origins.h"
#include "rewriter/assertions.h"
#include "rewriter/decided_values.h"
#include "rewriter/scopes.h"
#include "rewriter/segments.h"

namespace gmt::rewriter {
namespace {

using ptx::Body;
using ptx::Instruction;
using ptx::Statement;
using ptx::StatementKind;

// Instructions between a jump back and where it leads.
std::vector<bool> loops_of(const ptx::Module& module, const Body& body) {
  std::vector<bool> in_loop(body.instructions.size());
  const ptx::Flow flow = ptx::flow_of(module, body);
  for (std::uint32_t b = 0; b < flow.blocks.size(); ++b) {
    for (const std::uint32_t to : flow.blocks[b].successors) {
      if (to > b) continue;
      std::fill(in_loop.begin() + flow.blocks[to].first, in_loop.begin() + flow.blocks[b].last,
                true);
    }
  }
  return in_loop;
}

class BodyRewriter {
public:
  BodyRewriter(Body& body, const BodyContext& context, std::vector<Site>& sites)
      : body_(body), context_(context), sites_(sites), code_(body, context.names),
        checks_(code_, body, context.options, context.control, context.launch),
        arrays_(context.module, body, origins_, context.knows_block) {}

  void rewrite() {
    for (const Instruction& instruction : body_.instructions)
      classified_.push_back(classify(body_, instruction));
    origins_ = ptx::origins_of(context_.function, body_);
    if (context_.options.checks_written) decided_ = decided_results(context_.module, body_);
    find_arrays();
    find_pointers();
    const auto accesses = std::ranges::count(classified_, Role::kAccess, &Classified::role);
    calls_ = accesses > static_cast<std::ptrdiff_t>(context_.options.most_inline);
    assertions_ = assertions_of(context_.module, context_.function, body_, origins_);
    is_copied_ = accesses <= static_cast<std::ptrdiff_t>(context_.options.most_copied) ||
                 context_.options.checks_written;
    const std::vector<Segment> segments =
      segments_of(context_.module, body_, classified_, is_copied_ ? Copied::kYes : Copied::kNo);
    begin_statements();
    std::vector<Instruction> slow;
    auto next = segments.begin();
    for (std::uint32_t i = 0; i < body_.instructions.size();) {
      move_statements(i);
      if (next == segments.end() || next->first != i) {
        add_assert(i);
        add_plain(i++);
        continue;
      }
      i = next->last;
      move_statements(i - 1); // of lines alone: others begin a segment
      add_segment(*next++);
    }
    finish();
  }

private:
  // What of shared and local memory needs a check.
  void find_arrays() {
    for (std::size_t i = 0; i < classified_.size(); ++i) {
      Classified& one = classified_[i];
      array_of_.emplace_back();
      if (one.role != Role::kAccess) continue;
      const bool is_small =
        one.access.space == ptx::Space::kShared || one.access.space == ptx::Space::kLocal;
      array_of_[i] = arrays_.check_of(one.access);
      // Where no check of its address is needed, written bytes may be asked for.
      const bool is_asked = follows_shared() && one.access.space == ptx::Space::kShared &&
                            one.access.kind == AccessKind::kLoad && decided_[i] != 0;
      if (is_asked && array_of_[i].array == nullptr) array_of_[i].by_block = true;
      if (is_small && array_of_[i].array == nullptr && !array_of_[i].by_block)
        one.role = one.role_unchecked;
    }
  }

  // Which parameters are looked up, and which accesses use them.
  void find_pointers() {
    if (!context_.function.is_entry || context_.options.bounds == Bounds::kNever) return;
    const std::vector<bool> in_loop = loops_of(context_.module, body_);
    pointer_of_.resize(body_.instructions.size());
    using Key = std::pair<std::uint32_t, std::int64_t>;
    std::map<Key, bool> is_used;
    const auto key_of = [this](std::uint32_t i) {
      const MemoryAccess& access = classified_[i].access;
      const bool is_device = access.space == ptx::Space::kGlobal || access.is_generic();
      if (!is_device) return std::pair(false, Key());
      const ptx::Origin& origin = origins_[access.base];
      return std::pair(origin.kind == ptx::OriginKind::kParameter,
                       Key(origin.parameter, origin.offset));
    };
    for (std::uint32_t i = 0; i < classified_.size(); ++i) {
      if (classified_[i].role != Role::kAccess || !key_of(i).first) continue;
      if (in_loop[i] || context_.options.bounds == Bounds::kAlways) is_used[key_of(i).second];
    }
    for (const auto& [key, unused] : is_used) {
      const ptx::Origin origin{ptx::OriginKind::kParameter, key.first, key.second};
      pointers_.emplace_back(origin, checks_.new_pointer());
    }
    for (std::uint32_t i = 0; i < classified_.size(); ++i) {
      if (classified_[i].role != Role::kAccess || !key_of(i).first) continue;
      for (auto& [origin, pointer] : pointers_) {
        if (Key(origin.parameter, origin.offset) == key_of(i).second) pointer_of_[i] = &pointer;
      }
    }
  }

  GroupedAccess grouped(std::uint32_t i) const {
    const Instruction& instruction = body_.instructions[i];
    return {classified_[i].access,
            {instruction.guard, instruction.guard_negated},
            pointer_of_.empty() ? nullptr : pointer_of_[i],
            array_of_[i],
            written_check(i),
            i};
  }

  // Where it is checked: guards of accesses whose size is in a register are made there.
  GroupedAccess checked(std::uint32_t i) {
    GroupedAccess access = grouped(i);
    if (access.access.size != ptx::kNone) access.guard = checks_.whole_access(out_, access);
    return access;
  }

  // Accesses of one size under one guard stay one range.
  std::vector<GroupedAccess> checked(const Group& group) {
    std::vector<GroupedAccess> accesses;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool>, Guard> whole;
    for (const std::uint32_t i : group.accesses) {
      GroupedAccess access = grouped(i);
      const std::tuple key(access.access.size, access.access.bytes, access.guard.id,
                           access.guard.negated);
      if (const auto known = whole.find(key); known != whole.end()) access.guard = known->second;
      else whole[key] = access.guard = checked(i).guard;
      accesses.push_back(access);
    }
    return accesses;
  }

  // It, or what it calls, asks what of shared memory is written.
  bool needs_shared_state() const {
    if (!follows_shared() || !context_.function.is_entry) return false;
    for (std::uint32_t i = 0; i < classified_.size(); ++i) {
      const WrittenCheck check = written_check(i);
      if (check.in_shared && check.is_asked && classified_[i].role == Role::kAccess) return true;
    }
    return std::ranges::any_of(body_.instructions, [this](const Instruction& instruction) {
      return body_.mnemonic(instruction).opcode == "call";
    });
  }

  bool follows_shared() const { return context_.control.shared_covered != 0; }

  // Of memory of the device whose variable is not known: the module's own are written. Of shared
  // memory.
  WrittenCheck written_check(std::uint32_t i) const {
    WrittenCheck check;
    const MemoryAccess& access = classified_[i].access;
    const DeclaredArray* array = array_of_[i].array;
    const bool is_generic = access.is_generic();
    const bool is_device = access.space == ptx::Space::kGlobal || is_generic;
    const bool in_shared = access.space == ptx::Space::kShared ||
                           (is_generic && array != nullptr && array->space == ptx::Space::kShared);
    check.in_shared = in_shared && follows_shared();
    check.may_be_shared = follows_shared() && is_generic && array == nullptr;
    const bool is_followed = check.in_shared || (is_device && array == nullptr);
    if (!context_.options.checks_written || !is_followed) return {};
    const Instruction& instruction = body_.instructions[i];
    if (access.kind == AccessKind::kLoad) {
      const ptx::Operand& result = body_.operand(instruction, 0);
      const bool is_vector = result.kind == ptx::OperandKind::kVector;
      check.element_bytes = access.bytes / (is_vector ? result.count : 1);
      check.elements = decided_[i];
    } else {
      check.is_marked = true;
      if (access.kind == AccessKind::kStore) return check;
      check.element_bytes = access.bytes;
      check.elements = 1;
    }
    check.is_asked = check.elements != 0 && check.element_bytes <= 8;
    return check;
  }

  // Statements wait for the instruction behind them.
  void begin_statements() {
    waiting_ = std::move(body_.statements);
    body_.statements.clear();
  }

  void move_statements(std::uint32_t behind) {
    while (next_waiting_ < waiting_.size() && waiting_[next_waiting_].instruction <= behind) {
      Statement statement = waiting_[next_waiting_++];
      statement.instruction = static_cast<std::uint32_t>(out_.size());
      if (statement.kind == StatementKind::kLabel)
        body_.labels[statement.id].instruction = statement.instruction;
      body_.statements.push_back(statement);
    }
  }

  void add_label(const Mark& mark) {
    const auto instruction = static_cast<std::uint32_t>(mark.instruction);
    body_.labels[mark.label].instruction = instruction;
    body_.statements.push_back({StatementKind::kLabel, mark.label, instruction});
  }
  void add_label(std::uint32_t label) { add_label(Mark{label, out_.size()}); }

  // The copy of a segment: an entry for each group, and where it ends.
  struct Copy {
    Segment segment;
    std::vector<std::uint32_t> entries; // labels
    std::uint32_t end = 0;              // the label behind the segment
  };

  // What is executed where the check of a group says that something may be wrong, without a copy.
  struct Aside {
    Group group;
    std::uint32_t entry = 0, behind = 0; // labels: of it, and where it leads
  };

  void add_uncopied(const Segment& segment) {
    auto group = segment.groups.begin();
    for (std::size_t k = 0; k < segment.order.size(); ++k) {
      for (; group != segment.groups.end() && group->position == k; ++group) {
        asides_.push_back({*group, code_.new_label(), code_.new_label()});
        add_group(*group, asides_.back().entry);
        add_label(asides_.back().behind);
      }
      add_plain(segment.order[k]);
    }
  }

  void add_aside(const Aside& aside) {
    std::map<std::uint32_t, std::uint32_t> sites;
    for (const std::uint32_t i : aside.group.accesses) sites[i] = add_site(i);
    std::vector<Mark> marks;
    add_label(aside.entry);
    checks_.call_checks(out_, checked(aside.group), sites, context_.words, nullptr, marks);
    for (const Mark& mark : marks) add_label(mark);
    code_.add(out_, "bra.uni", {Code::of(ptx::OperandKind::kLabel, aside.behind)});
  }

  void add_segment(const Segment& segment) {
    if (!is_copied_) return add_uncopied(segment);
    Copy copy{segment, {}, 0};
    auto group = segment.groups.begin();
    for (std::size_t k = 0; k < segment.order.size(); ++k) {
      for (; group != segment.groups.end() && group->position == k; ++group) {
        copy.entries.push_back(code_.new_label());
        add_group(*group, copy.entries.back());
      }
      add_plain(segment.order[k]);
    }
    copy.end = code_.new_label();
    add_label(copy.end);
    copies_.push_back(std::move(copy));
  }

  // As it was; a store says what is written.
  void add_plain(std::uint32_t i) {
    const Classified& one = classified_[i];
    const bool is_store = follows_shared() && one.access.bytes != 0 &&
                          one.access.space == ptx::Space::kShared &&
                          one.access.kind != AccessKind::kLoad;
    if (one.role == Role::kAccess || is_store) checks_.mark_written(out_, grouped(i));
    out_.push_back(body_.instructions[i]);
  }

  // What stores arguments for calls begins no segment and is in none.
  void add_assert(std::uint32_t i) {
    const auto found = std::ranges::find(assertions_, i, &Assertion::before);
    if (found == assertions_.end()) return;
    const std::uint32_t number = add_site(found->call);
    Site& site = sites_[number];
    site.is_assert = true;
    site.location = found->location;
    site.condition = found->condition;
    checks_.report_assert(out_, number);
  }

  void add_group(const Group& group, std::uint32_t slow) {
    std::vector<Mark> marks;
    const std::uint32_t any = checks_.check_group(out_, checked(group), marks);
    for (const Mark& mark : marks) add_label(mark);
    code_.add(out_, "bra", {Code::of(ptx::OperandKind::kLabel, slow)}, {any, false});
  }

  // The copy with exact checks by calls. An access may stand behind later groups' checks: where the
  // code as it was leads to these, nothing of an earlier group is left out.
  void add_copy_with_calls(const Copy& copy) {
    std::map<std::uint32_t, std::uint32_t> sites;
    for (const std::uint32_t i : copy.segment.order)
      if (classified_[i].role == Role::kAccess) sites[i] = add_site(i);
    std::map<std::uint32_t, LeftOut> left_out; // of accesses that are still to come
    auto group = copy.segment.groups.begin();
    auto entry = copy.entries.begin();
    for (std::size_t k = group->position; k < copy.segment.order.size(); ++k) {
      for (; group != copy.segment.groups.end() && group->position == k; ++group)
        add_entry(*group, *entry++, sites, left_out);
      const std::uint32_t i = copy.segment.order[k];
      if (classified_[i].role != Role::kAccess) {
        add_plain(i);
        continue;
      }
      std::vector<Mark> marks;
      checks_.make_one(out_, body_.instructions[i], grouped(i), sites[i], left_out.at(i), marks);
      for (const Mark& mark : marks) add_label(mark);
      left_out.erase(i);
    }
    code_.add(out_, "bra.uni", {Code::of(ptx::OperandKind::kLabel, copy.end)});
  }

  void add_entry(const Group& group, std::uint32_t entry,
                 const std::map<std::uint32_t, std::uint32_t>& sites,
                 std::map<std::uint32_t, LeftOut>& left_out) {
    std::set<std::uint32_t> masks;
    for (const auto& [access, which] : left_out) masks.insert(which.mask);
    if (masks.empty()) {
      add_label(entry);
    } else {
      const std::uint32_t checks = code_.new_label();
      code_.add(out_, "bra.uni", {Code::of(ptx::OperandKind::kLabel, checks)});
      add_label(entry);
      for (const std::uint32_t mask : masks)
        code_.add(out_, "mov.b32", {Code::reg(mask), Code::number(0)});
      add_label(checks);
    }
    std::vector<Mark> marks;
    checks_.call_checks(out_, checked(group), sites, context_.words, &left_out, marks);
    for (const Mark& mark : marks) add_label(mark);
  }

  void add_copy(const Copy& copy) {
    auto group = copy.segment.groups.begin();
    auto entry = copy.entries.begin();
    // What stands before the first check is done when the copy is entered.
    for (std::size_t k = group->position; k < copy.segment.order.size(); ++k) {
      for (; group != copy.segment.groups.end() && group->position == k; ++group)
        add_label(*entry++);
      const std::uint32_t i = copy.segment.order[k];
      if (classified_[i].role != Role::kAccess) {
        add_plain(i);
        continue;
      }
      std::vector<Mark> marks;
      checks_.check_one(out_, body_.instructions[i], checked(i), add_site(i), marks);
      for (const Mark& mark : marks) add_label(mark);
    }
    code_.add(out_, "bra.uni", {Code::of(ptx::OperandKind::kLabel, copy.end)});
  }

  std::uint32_t add_site(std::uint32_t i) {
    const Instruction& instruction = body_.instructions[i];
    Site site;
    site.function = context_.function.name;
    site.ptx_line = context_.module.text_line(instruction.text_offset);
    site.instruction =
      context_.module.text().substr(instruction.text_offset, instruction.text_size);
    for (const ptx::SourceFrame& frame : body_.lines.stack(context_.module, instruction.line))
      site.lines.push_back({std::string(frame.file), frame.line, std::string(frame.function)});
    site.kind = classified_[i].access.kind;
    site.bytes = classified_[i].access.bytes;
    site.is_generic = classified_[i].access.is_generic();
    if (array_of_[i].array != nullptr) site.array = array_of_[i].array->name;
    sites_.push_back(std::move(site));
    return static_cast<std::uint32_t>(sites_.size() - 1);
  }

  // Whether control may come behind the last instruction, where copies are to follow.
  bool may_fall_off() const {
    const auto end = static_cast<std::uint32_t>(out_.size());
    const bool has_label = std::ranges::any_of(body_.statements, [end](const Statement& statement) {
      return statement.kind == StatementKind::kLabel && statement.instruction == end;
    });
    if (out_.empty() || has_label || out_.back().guard != ptx::kNone) return true;
    const std::string_view opcode = body_.mnemonic(out_.back()).opcode;
    return opcode != "ret" && opcode != "exit" && opcode != "bra";
  }

  void finish() {
    move_statements(static_cast<std::uint32_t>(body_.instructions.size()));
    if (!(copies_.empty() && asides_.empty()) && may_fall_off()) code_.add(out_, "ret", {});
    for (const Aside& aside : asides_) add_aside(aside);
    for (const Copy& copy : copies_) calls_ ? add_copy_with_calls(copy) : add_copy(copy);
    std::vector<Instruction> start;
    for (const auto& [origin, pointer] : pointers_) checks_.look_up(start, origin, pointer);
    checks_.look_up_shared(start);
    std::vector<Mark> marks;
    if (needs_shared_state()) checks_.clear_shared_state(start, marks);
    const auto moved = static_cast<std::uint32_t>(start.size());
    start.insert(start.end(), out_.begin(), out_.end());
    for (Statement& statement : body_.statements) statement.instruction += moved;
    for (ptx::Label& label : body_.labels) label.instruction += moved;
    std::vector<Statement> first;
    for (const Mark& mark : marks) {
      const auto at = static_cast<std::uint32_t>(mark.instruction);
      body_.labels[mark.label].instruction = at;
      first.push_back({StatementKind::kLabel, mark.label, at});
    }
    body_.statements.insert(body_.statements.begin(), first.begin(), first.end());
    body_.instructions = std::move(start);
    code_.declare();
  }

  Body& body_;
  const BodyContext& context_;
  std::vector<Site>& sites_;
  Code code_;
  Checks checks_;
  std::vector<ptx::Origin> origins_;   // of each register of the text
  std::vector<std::uint32_t> decided_; // see decided_results
  DeclaredArrays arrays_;
  std::vector<Assertion> assertions_;
  std::vector<Classified> classified_;
  std::vector<ArrayCheck> array_of_; // of each instruction
  std::deque<std::pair<ptx::Origin, PointerParameter>> pointers_;
  std::vector<PointerParameter*> pointer_of_; // of each instruction; empty: none
  std::vector<Statement> waiting_;
  std::size_t next_waiting_ = 0;
  std::vector<Instruction> out_;
  std::vector<Copy> copies_;
  std::vector<Aside> asides_;
  bool calls_ = false; // for exact checks
  bool is_copied_ = true;
};

} // namespace

std::string add_checks(Body& body, const BodyContext& context, std::vector<Site>& sites) {
  for (const ptx::Register& each : body.registers) {
    if (each.name.starts_with("%gmt_")) return "it has names of checked code already";
  }
  for (const ptx::Label& label : body.labels) {
    if (label.name.starts_with("$gmt_")) return "it has names of checked code already";
  }
  if (std::string reason = flatten_scopes(body, context.names); !reason.empty()) return reason;
  BodyRewriter(body, context, sites).rewrite();
  return {};
}

} // namespace gmt::rewriter
