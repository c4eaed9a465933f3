// SPDX-License-Identifier: Apache-2.0
// PTX for tests: the head that every module has, and kernels around some statements.
#pragma once

#include <string>

#include "ptx/syntax/ptx.h"

namespace gmt::ptx::test {

inline std::string module_text(const std::string& declarations) {
  return ".version 8.3\n.target sm_90\n.address_size 64\n" + declarations;
}

inline std::string kernel_text(const std::string& statements, const std::string& before = "") {
  return module_text(before + "\n.visible .entry k(.param .u64 p, .param .u32 n)\n{\n" +
                     statements + "\n}\n");
}

// A kernel named k with its code.
struct Kernel {
  explicit Kernel(const std::string& statements, const std::string& before = "")
      : module(parse_module(kernel_text(statements, before))),
        body(parse_body(module, *module.find_function("k"))) {}

  const Operand& operand(std::size_t instruction, std::size_t index) const {
    return body.operand(body.instructions[instruction], index);
  }
  std::string_view mnemonic(std::size_t instruction) const {
    return body.mnemonic(body.instructions[instruction]).text;
  }

  Module module;
  Body body;
};

// What parse_module() or parse_body() says of a text; empty if it is good.
inline std::string error_of(const std::string& text) {
  try {
    const Module module = parse_module(text);
    for (const Function& function : module.functions()) {
      if (function.has_body) parse_body(module, function);
    }
  } catch (const ParseError& error) {
    return error.what();
  }
  return "";
}

} // namespace gmt::ptx::test
