// SPDX-License-Identifier: Apache-2.0
#include "ptx/opcodes/validity.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "ptx/opcodes/opcodes.h"
#include "ptx/syntax/ptx.h"
#include "ptx/syntax/tokens/lexer.h"

namespace gmt::ptx {
namespace {

// The table has all of PTX ISA 9.0; a newer text may have more.
constexpr std::uint32_t kKnownVersion = 90;

void check_opcodes(const Module& module, const Body& body) {
  for (const Mnemonic& mnemonic : body.mnemonics) {
    if (is_opcode(mnemonic.opcode)) continue;
    const auto index = static_cast<std::uint32_t>(&mnemonic - body.mnemonics.data());
    const auto at = std::ranges::find(body.instructions, index, &Instruction::mnemonic);
    const std::uint32_t line =
      at == body.instructions.end() ? 1 : module.text_line(at->text_offset);
    throw ParseError(line, "there is no instruction " + quoted(mnemonic.opcode));
  }
}

} // namespace

std::optional<ParseError> why_invalid(std::string text) {
  try {
    const Module module = parse_module(std::move(text));
    for (const Function& function : module.functions()) {
      if (!function.has_body) continue;
      const Body body = parse_body(module, function);
      if (module.version() <= kKnownVersion) check_opcodes(module, body);
    }
    return std::nullopt;
  } catch (const ParseError& wrong) {
    return wrong;
  }
}

} // namespace gmt::ptx
