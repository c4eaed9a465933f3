// SPDX-License-Identifier: Apache-2.0
// Video instructions: vadd of whole registers and of parts of them, vadd4 and vadd2 of all parts.
#include "simulated_cuda/executor/program/decoder.h"
#include "simulated_cuda/executor/program/video_form.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace gmt::executor {
namespace {

struct Named {
  std::string_view name;
  Video operation;
  bool is_swapped = false;
};
constexpr Named kOperations[] = {{"vadd", Video::kAdd},
                                 {"vsub", Video::kSub},
                                 {"vavrg", Video::kAverage},
                                 {"vmin", Video::kLeast},
                                 {"vabsdiff", Video::kDifference},
                                 {"vmax", Video::kGreatest},
                                 {"vshl", Video::kLeft},
                                 {"vshr", Video::kRight},
                                 {"vmad", Video::kProduct}};
constexpr Named kComparisons[] = {{"eq", Video::kEqual},      {"ne", Video::kUnequal},
                                  {"lt", Video::kLess},       {"le", Video::kLessOrEqual},
                                  {"gt", Video::kLess, true}, {"ge", Video::kLessOrEqual, true}};

// ChosenParts of an operand: of how many bytes each, and which, the lowest first.
struct ChosenParts {
  std::uint32_t bytes = 4, count = 0;
  std::uint32_t numbers[4] = {};
};
// "b3210" as the parser leaves it, see Operands.
ChosenParts parts_of(const ptx::Operand& operand) {
  ChosenParts parts;
  if (operand.kind != ptx::OperandKind::kRegister || operand.bits == 0) return parts;
  parts.bytes = (operand.bits & 0xff) == 'b' ? 1 : 2;
  for (std::uint64_t rest = operand.bits >> 8; rest != 0; rest >>= 8) ++parts.count;
  for (std::uint32_t i = 0; i < parts.count; ++i)
    parts.numbers[i] = static_cast<std::uint32_t>(operand.bits >> (8 * (parts.count - i)) & 7);
  return parts;
}

} // namespace

void FunctionDecoder::decode_video() {
  VideoForm form;
  const std::string_view opcode = mnemonic().opcode;
  const bool has_parts = opcode.back() == '4' || opcode.back() == '2';
  const std::uint32_t parts = has_parts ? static_cast<std::uint32_t>(opcode.back() - '0') : 1;
  const std::uint32_t each = 4 / parts; // bytes
  form.parts = parts & 7;
  const std::string_view name = has_parts ? opcode.substr(0, opcode.size() - 1) : opcode;
  const auto words = mnemonic().modifiers;
  std::size_t known = 0;
  const auto takes = [&](std::string_view word) {
    const bool does = has(word);
    known += does ? 1 : 0;
    return does;
  };

  bool is_swapped = false;
  if (name == "vset") {
    const auto* const found =
      std::ranges::find_if(kComparisons, [&](const Named& one) { return takes(one.name); });
    if (found == std::end(kComparisons)) decode_not_executed();
    form.operation = static_cast<std::uint8_t>(found->operation) & 15;
    is_swapped = found->is_swapped;
  } else {
    const auto* const found = std::ranges::find(kOperations, name, &Named::name);
    if (found == std::end(kOperations)) decode_not_executed();
    form.operation = static_cast<std::uint8_t>(found->operation) & 15;
  }
  const bool is_shift = name == "vshl" || name == "vshr", is_product = name == "vmad";
  if (is_shift) {
    form.wraps = takes("wrap") ? 1 : 0;
    if (!form.wraps && !takes("clamp")) decode_not_executed();
  }
  // Of whole registers: where results saturate, are scaled, put into a part of a register or
  // compared with a third operand, an H100 gives other results than PTX's words say.
  form.saturates = has_parts && name != "vset" && takes("sat") ? 1 : 0;
  if (is_product) form.plus_one = takes("po") ? 1 : 0;
  else form.adds = takes("add") ? 1 : 0;

  const std::vector<ptx::Type> found = types();
  const auto is_word = [](ptx::Type type) {
    return type == ptx::Type::kU32 || type == ptx::Type::kS32;
  };
  const std::size_t sources = name == "vset" ? 0 : 1; // behind the result's type
  if (found.size() != sources + 2 || !std::ranges::all_of(found, is_word) ||
      known + found.size() != words.size())
    decode_not_executed();
  const auto is_signed = [&](std::size_t at) { return found[at] == ptx::Type::kS32; };
  form.is_result_signed = sources != 0 && is_signed(0);
  form.is_first_signed = is_signed(sources);
  form.is_second_signed = is_signed(sources + 1);
  if (is_shift && form.is_second_signed) decode_not_executed();

  const Operand &to = operand(0), &first = operand(1), &second = operand(2);
  const ChosenParts slots = parts_of(to), first_parts = parts_of(first),
                    second_parts = parts_of(second);
  if (!has_parts && slots.count != 0) decode_not_executed();
  const std::size_t operands = has_parts || is_product || form.adds ? 4 : 3;
  if (instruction_->operand_count != operands) fail("too few or too many operands");
  if (is_product) {
    form.negates_product = first.negated != second.negated ? 1 : 0;
    form.negates_third = operand(3).negated ? 1 : 0;
    form.is_result_signed =
      form.is_first_signed | form.is_second_signed | form.negates_product | form.negates_third;
  }
  // Those of one register, or the highest of both for all parts.
  const auto choose = [&](const ChosenParts& given, bool is_second) {
    const std::uint32_t bytes = has_parts ? each : given.bytes;
    const std::uint32_t begin = is_second ? 4 / bytes : 0;
    if (given.count != 0 && (given.count != parts || given.bytes != bytes))
      fail("other parts of a register than the instruction takes");
    std::uint64_t list = 0;
    for (std::uint32_t i = 0; i < parts; ++i) {
      std::uint32_t number = given.count == 0 ? i : given.numbers[i];
      if (given.count == 0 || !has_parts) number += begin;
      if (number >= 8 / bytes || (!has_parts && number >= begin + 4 / bytes))
        fail("a part that the register does not have");
      list |= std::uint64_t{number} << (3 * i);
    }
    return list;
  };
  const auto bytes_of = [&](const ChosenParts& given) { return has_parts ? each : given.bytes; };
  form.first_bytes = bytes_of(first_parts) & 7;
  form.second_bytes = bytes_of(second_parts) & 7;
  form.first = choose(first_parts, false) & 0xfff;
  form.second = choose(second_parts, true) & 0xfff;
  form.result_bytes = bytes_of(slots) & 7;
  std::uint32_t mask = (1u << parts) - 1;
  if (slots.count != 0) {
    if (slots.bytes != form.result_bytes)
      fail("other parts of a register than the instruction writes");
    mask = 0;
    for (std::uint32_t i = 0; i < slots.count; ++i) {
      if (slots.numbers[i] >= 4 / slots.bytes) fail("a part that the register does not have");
      mask |= 1u << slots.numbers[i];
    }
  }
  form.mask = mask & 15;
  if (is_swapped) {
    const VideoForm given = form;
    form.first = given.second;
    form.first_bytes = given.second_bytes;
    form.is_first_signed = given.is_second_signed;
    form.second = given.first;
    form.second_bytes = given.first_bytes;
    form.is_second_signed = given.is_first_signed;
  }

  const Result whole = result(to, ptx::Type::kB32);
  Shape shape;
  shape.result(0, 32).source(1, 32).source(2, 32).source(3, 32);
  shape.flow = flow_of(opcode_->flow, found, mnemonic());
  const auto read = [&](Operand given) {
    given.negated = given.negated && !is_product; // the form says so
    return source(given, ptx::Type::kB32);
  };
  const std::uint32_t r[] = {whole.offset, read(first), read(second),
                             operands == 4 ? read(operand(3)) : builder_.constant(0, 4)};
  Instruction& in = emit("video", shape);
  std::ranges::copy(r, in.r);
  in.immediate = std::bit_cast<std::int64_t>(form);
  write_back(whole);
}

} // namespace gmt::executor
