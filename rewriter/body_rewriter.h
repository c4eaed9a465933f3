// SPDX-License-Identifier: Apache-2.0
// One body with checks: the code as it was, a branch before each group of accesses, and behind the
// end a copy of each segment in which every access is checked by itself. The branch is taken if
// something of the group is perhaps wrong.
#pragma once

#include <string>
#include <vector>

#include "ptx/syntax/ptx.h"
#include "rewriter/checks.h"
#include "rewriter/code.h"
#include "rewriter/rewriter.h"

namespace gmt::rewriter {

struct BodyContext {
  const ptx::Module& module;
  const ptx::Function& function;
  const Options& options;
  const ControlVariables& control;
  Names& names;
  LaunchName launch;
  std::vector<AccessWords>& words; // of the module
  bool knows_block = false;        // see DeclaredArrays
};

// Changes the body and appends its sites. Empty, or why it cannot be changed; then it is spoilt.
std::string add_checks(ptx::Body& body, const BodyContext& context, std::vector<Site>& sites);

} // namespace gmt::rewriter
