// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/program/unfenced_products.h"

#include "ptx/flow/accesses.h"

#include <algorithm>
#include <set>

namespace gmt::executor {
namespace {

constexpr std::string_view kProduct = "wgmma.mma_async", kFence = "wgmma.fence",
                           kWait = "wgmma.wait_group";

// Of one basic block, from its first instruction on.
class Values {
public:
  explicit Values(const ptx::Body& body) : body_(body) {}

  // Whether it is a product that takes a value of its own block.
  bool is_unfenced(const ptx::Instruction& in) {
    const ptx::Mnemonic& mnemonic = body_.mnemonic(in);
    const bool is_product = mnemonic.text.starts_with(kProduct);
    const bool found = is_product && (takes_new(in, 0) || takes_new(in, 1));
    if (mnemonic.text.starts_with(kFence)) {
      new_.clear();
      has_waited_ = false;
    } else if (mnemonic.text.starts_with(kWait)) {
      has_waited_ = true;
    } else {
      write(in, has_waited_ && !is_product && makes_a_value(mnemonic));
    }
    return found;
  }

private:
  // Without optimization all values are loaded from local memory wherever they are used.
  static bool makes_a_value(const ptx::Mnemonic& mnemonic) {
    if (mnemonic.opcode == "ld") return mnemonic.has("shared") || mnemonic.has("global");
    return mnemonic.opcode != "mov";
  }

  // D and A, where they are registers.
  bool takes_new(const ptx::Instruction& in, std::size_t at) const {
    const ptx::Operand& operand = body_.operand(in, at);
    if (operand.kind != ptx::OperandKind::kVector) return false;
    const ptx::Operand* parts = body_.parts(operand);
    return std::any_of(parts, parts + operand.count, [&](const ptx::Operand& part) {
      return part.kind == ptx::OperandKind::kRegister && new_.contains(part.id);
    });
  }

  void write(const ptx::Instruction& in, bool computes) {
    ptx::accesses_of(body_, in, accesses_);
    const bool moves_new =
      body_.mnemonic(in).opcode == "mov" &&
      std::ranges::any_of(accesses_.reads, [&](std::uint32_t r) { return new_.contains(r); });
    for (const std::uint32_t r : accesses_.writes) {
      if (computes || moves_new) new_.insert(r);
      else if (in.guard == ptx::kNone) new_.erase(r);
    }
  }

  const ptx::Body& body_;
  ptx::Accesses accesses_;
  bool has_waited_ = false;     // since the last fence
  std::set<std::uint32_t> new_; // registers with values that are younger than that wait
};

} // namespace

std::vector<std::uint32_t> unfenced_products(const ptx::Body& body, const ptx::Flow& flow) {
  std::vector<std::uint32_t> found;
  const auto is_product = [](const ptx::Mnemonic& m) { return m.text.starts_with(kProduct); };
  if (std::ranges::none_of(body.mnemonics, is_product)) return found;
  for (const ptx::BasicBlock& block : flow.blocks) {
    Values values(body);
    for (std::uint32_t i = block.first; i < block.last; ++i) {
      if (values.is_unfenced(body.instructions[i])) found.push_back(i);
    }
  }
  return found;
}

} // namespace gmt::executor
