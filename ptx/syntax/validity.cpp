// SPDX-License-Identifier: Apache-2.0
#include "ptx/syntax/validity.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "ptx/syntax/ptx.h"
#include "ptx/syntax/tokens/lexer.h"

namespace gmt::ptx {
namespace {

// All of PTX ISA 9.0; a newer text may have more.
constexpr std::uint32_t kKnownVersion = 90;
constexpr std::string_view kOpcodes[] = {
  "abs",          "activemask",    "add",       "addc",       "alloca",
  "and",          "applypriority", "atom",      "bar",        "barrier",
  "bfe",          "bfi",           "bfind",     "bmsk",       "bra",
  "brev",         "brkpt",         "brx",       "call",       "clusterlaunchcontrol",
  "clz",          "cnot",          "copysign",  "cos",        "cp",
  "createpolicy", "cvt",           "cvta",      "discard",    "div",
  "dp2a",         "dp4a",          "elect",     "ex2",        "exit",
  "fence",        "fma",           "fns",       "getctarank", "griddepcontrol",
  "isspacep",     "istypep",       "ld",        "ldmatrix",   "ldu",
  "lg2",          "lop3",          "mad",       "mad24",      "madc",
  "mapa",         "match",         "max",       "mbarrier",   "membar",
  "min",          "mma",           "mov",       "movmatrix",  "mul",
  "mul24",        "multimem",      "nanosleep", "neg",        "not",
  "or",           "pmevent",       "popc",      "prefetch",   "prefetchu",
  "prmt",         "rcp",           "red",       "redux",      "rem",
  "ret",          "rsqrt",         "sad",       "selp",       "set",
  "setmaxnreg",   "setp",          "shf",       "shfl",       "shl",
  "shr",          "sin",           "slct",      "sqrt",       "st",
  "stackrestore", "stacksave",     "stmatrix",  "sub",        "subc",
  "suld",         "suq",           "sured",     "sust",       "szext",
  "tanh",         "tcgen05",       "tensormap", "testp",      "tex",
  "tld4",         "trap",          "txq",       "vabsdiff",   "vabsdiff2",
  "vabsdiff4",    "vadd",          "vadd2",     "vadd4",      "vavrg2",
  "vavrg4",       "vmad",          "vmax",      "vmax2",      "vmax4",
  "vmin",         "vmin2",         "vmin4",     "vote",       "vset",
  "vset2",        "vset4",         "vshl",      "vshr",       "vsub",
  "vsub2",        "vsub4",         "wgmma",     "wmma",       "xor"};

void check_opcodes(const Module& module, const Body& body) {
  for (const Mnemonic& mnemonic : body.mnemonics) {
    if (std::ranges::find(kOpcodes, mnemonic.opcode) != std::end(kOpcodes)) continue;
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
