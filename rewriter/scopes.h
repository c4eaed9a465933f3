// SPDX-License-Identifier: Apache-2.0
// Code of inner scopes may only be copied if its names mean the same elsewhere: registers of inner
// scopes get names of their own in the whole body, and scopes that declare nothing else vanish.
#pragma once

#include <string>

#include "ptx/syntax/ptx.h"
#include "rewriter/code.h"

namespace gmt::rewriter {

// Empty, or why the body cannot be changed so; then it is spoilt.
std::string flatten_scopes(ptx::Body& body, Names& names);

} // namespace gmt::rewriter
