// SPDX-License-Identifier: Apache-2.0
// Widths of operands, and the flow of bits where the types of an instruction decide it.
#include "simulated_cuda/executor/program/shape.h"

#include <algorithm>
#include <iterator>

namespace gmt::executor {
namespace {

using ptx::BitFlow;
using ptx::Type;

bool is_signed(Type type) {
  return type == Type::kS8 || type == Type::kS16 || type == Type::kS32 || type == Type::kS64;
}

bool is_integer(Type type) {
  switch (type) {
  case Type::kB8:
  case Type::kB16:
  case Type::kB32:
  case Type::kB64:
  case Type::kB128:
  case Type::kU8:
  case Type::kU16:
  case Type::kU32:
  case Type::kU64: return true;
  default: return is_signed(type);
  }
}

} // namespace

TrackedWidth width_of_bits(std::uint32_t bits) {
  switch (bits) {
  case 1: return TrackedWidth::kPredicate;
  case 8: return TrackedWidth::k1;
  case 16: return TrackedWidth::k2;
  case 32: return TrackedWidth::k4;
  case 64: return TrackedWidth::k8;
  default: return TrackedWidth::k16;
  }
}

std::uint32_t bits_of(TrackedWidth width) {
  static constexpr std::uint32_t kBits[] = {0, 1, 8, 16, 32, 64, 128};
  return kBits[static_cast<std::size_t>(width)];
}

Shape& Shape::result(std::size_t at, std::uint32_t bits) {
  operands[at] = {Role::kResult, width_of_bits(bits)};
  return *this;
}

Shape& Shape::source(std::size_t at, std::uint32_t bits) {
  operands[at] = {Role::kSource, width_of_bits(bits)};
  return *this;
}

Shape& Shape::decides(std::size_t at, std::uint32_t bits) {
  operands[at] = {Role::kDecides, width_of_bits(bits)};
  return *this;
}

Shape Shape::moved(std::uint32_t bits) {
  Shape shape;
  shape.result(0, bits).source(1, bits).flow = BitFlow::kMove;
  return shape;
}

std::size_t Shape::count_of(Role role) const {
  const auto found = std::count_if(std::begin(operands), std::end(operands),
                                   [=](const Operand& each) { return each.role == role; });
  return static_cast<std::size_t>(found);
}

BitFlow flow_of(BitFlow flow, const std::vector<Type>& types, const ptx::Mnemonic& mnemonic) {
  const bool is_of_integers = !types.empty() && std::ranges::all_of(types, is_integer);
  const bool is_cut = !is_of_integers || mnemonic.has("sat");
  switch (flow) {
  case BitFlow::kSum: {
    const bool has_upper_half = mnemonic.has("hi") || mnemonic.has("wide");
    return is_cut || has_upper_half ? BitFlow::kAny : flow;
  }
  case BitFlow::kTop: return is_cut || is_signed(types.front()) ? BitFlow::kAny : flow;
  case BitFlow::kConvert: return is_cut || types.size() != 2 ? BitFlow::kAny : BitFlow::kSame1;
  default: return flow;
  }
}

} // namespace gmt::executor
