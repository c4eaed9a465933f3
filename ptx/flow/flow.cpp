// SPDX-License-Identifier: Apache-2.0
// Basic blocks and their edges; post-dominators come from dominators.h.
#include "ptx/flow/flow.h"

#include <algorithm>

#include "ptx/flow/dominators.h"

namespace gmt::ptx {
namespace {

bool leaves(const Module& module, const Body& body, const Instruction& instruction) {
  const std::string_view opcode = body.mnemonic(instruction).opcode;
  if (opcode == "ret" || opcode == "exit" || opcode == "trap") return true;
  if (opcode != "call") return false;
  const Call call = call_of(body, instruction);
  if (call.prototype != nullptr && call.prototype->kind == OperandKind::kPrototype) {
    return body.prototypes[call.prototype->id].noreturn;
  }
  const bool is_direct = call.target != nullptr && call.target->kind == OperandKind::kFunction;
  return is_direct && module.functions()[call.target->id].noreturn;
}

class Builder {
public:
  Builder(const Module& module, const Body& body)
      : module_(module), body_(body), count_(static_cast<std::uint32_t>(body.instructions.size())) {
  }

  Flow build() {
    split();
    for (std::uint32_t b = 0; b < flow_.blocks.size(); ++b) {
      end_of(flow_.blocks[b]);
      add_edges(b);
    }
    mark_reachable();
    return std::move(flow_);
  }

private:
  std::string_view opcode(std::uint32_t instruction) const {
    return body_.mnemonic(body_.instructions[instruction]).opcode;
  }

  void split() {
    std::vector<bool> begins(count_ + 1, false);
    begins[0] = true;
    for (const Label& label : body_.labels) begins[label.instruction] = true;
    for (std::uint32_t i = 0; i < count_; ++i) {
      const bool jumps = opcode(i) == "bra" || opcode(i) == "brx";
      if (jumps || leaves(module_, body_, body_.instructions[i])) begins[i + 1] = true;
    }
    flow_.block_of.resize(count_);
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (begins[i]) {
        flow_.blocks.emplace_back();
        flow_.blocks.back().first = i;
      }
      flow_.blocks.back().last = i + 1;
      flow_.block_of[i] = static_cast<std::uint32_t>(flow_.blocks.size() - 1);
    }
  }

  void end_of(BasicBlock& block) const {
    const Instruction& last = body_.instructions[block.last - 1];
    const bool guarded = last.guard != kNone;
    const std::string_view name = body_.mnemonic(last).opcode;
    if (name == "bra") {
      block.end = guarded ? BlockEnd::kConditional : BlockEnd::kBranch;
    } else if (name == "brx") {
      block.end = BlockEnd::kTable;
    } else if (leaves(module_, body_, last)) {
      block.end = guarded ? BlockEnd::kMayLeave : BlockEnd::kLeave;
    }
  }

  void add_edge(std::uint32_t from, std::uint32_t instruction) {
    if (instruction >= count_) {
      flow_.blocks[from].falls_off = true;
      return;
    }
    const std::uint32_t to = flow_.block_of[instruction];
    auto& successors = flow_.blocks[from].successors;
    if (flow_.blocks[to].predecessors.empty() || flow_.blocks[to].predecessors.back() != from) {
      successors.push_back(to);
      flow_.blocks[to].predecessors.push_back(from);
    }
  }

  // Where bra and brx lead. A damaged one leads nowhere.
  void add_targets(std::uint32_t b, const Instruction& last) {
    for (std::uint16_t i = 0; i < last.operand_count; ++i) {
      const Operand& operand = body_.operand(last, i);
      if (operand.kind == OperandKind::kLabel) {
        add_edge(b, body_.labels[operand.id].instruction);
      } else if (operand.kind == OperandKind::kTable && body_.tables[operand.id].of_labels) {
        for (const std::uint32_t target : body_.tables[operand.id].targets) {
          add_edge(b, body_.labels[target].instruction);
        }
      }
    }
  }

  void add_edges(std::uint32_t b) {
    const BasicBlock& block = flow_.blocks[b];
    const Instruction& last = body_.instructions[block.last - 1];
    const BlockEnd end = block.end;
    const bool jumps =
      end == BlockEnd::kBranch || end == BlockEnd::kConditional || end == BlockEnd::kTable;
    if (jumps) add_targets(b, last);
    const bool falls = end == BlockEnd::kFallThrough || end == BlockEnd::kConditional ||
                       end == BlockEnd::kMayLeave ||
                       (end == BlockEnd::kTable && last.guard != kNone);
    if (falls) add_edge(b, block.last);
  }

  void mark_reachable() {
    if (flow_.blocks.empty()) return;
    std::vector<std::uint32_t> open{0};
    flow_.blocks[0].reachable = true;
    while (!open.empty()) {
      const std::uint32_t b = open.back();
      open.pop_back();
      for (const std::uint32_t next : flow_.blocks[b].successors) {
        if (flow_.blocks[next].reachable) continue;
        flow_.blocks[next].reachable = true;
        open.push_back(next);
      }
    }
  }

  const Module& module_;
  const Body& body_;
  std::uint32_t count_;
  Flow flow_;
};

} // namespace

std::uint32_t Flow::reconvergence(std::uint32_t block) const {
  const std::uint32_t at = blocks[block].reconverges_at;
  return at == kNone ? static_cast<std::uint32_t>(block_of.size()) : blocks[at].first;
}

Flow flow_of(const Module& module, const Body& body) {
  Flow flow = Builder(module, body).build();
  find_post_dominators(flow);
  return flow;
}

} // namespace gmt::ptx
