// SPDX-License-Identifier: Apache-2.0
// Which functions of a module get checks: the chosen kernels and what they call, each beside its
// plain form; and functions whose address is taken, which exist once and are checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/syntax/ptx.h"
#include "rewriter/rewriter.h"

namespace gmt::rewriter {

enum class Form : std::uint8_t { kPlain, kBoth, kCheckedOnly };

struct Functions {
  std::vector<Form> forms;            // of Module::functions()
  std::vector<std::string> why_plain; // of a chosen kernel or what it calls; empty: no reason
};

Functions choose_functions(const ptx::Module& module, const Options& options);

// The function that has the code: an alias has none of its own.
std::uint32_t resolve_alias(const ptx::Module& module, std::uint32_t function);

// Whether a function that is called has its code elsewhere, and may write memory of the program.
bool writes_elsewhere(const ptx::Module& module, std::uint32_t function);

} // namespace gmt::rewriter
