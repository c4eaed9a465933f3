// SPDX-License-Identifier: Apache-2.0
// The number of a launch on its way: the last parameter of a checked kernel, which hands it on to
// the checked functions that it calls. What calls by a pointer cannot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ptx/syntax/ptx.h"
#include "rewriter/checks.h"
#include "rewriter/code.h"
#include "rewriter/rewriter.h"

namespace gmt::rewriter {

// Where the function, which has a checked form beside its plain one, takes it.
LaunchParameter launch_parameter(const ptx::Function& function);
// Adds it to the declaration `head` of a function, whose name ends at `name_end`.
void add_launch_parameter(std::string& head, std::size_t name_end, const ptx::Function& function);
// The body's name for it.
std::uint32_t add_launch_name(ptx::Body& body);
// Adds it to the arguments of these calls; 0 where the body has no name for it.
void pass_launch(ptx::Body& body, LaunchName launch, const std::vector<std::uint32_t>& calls,
                 Names& names);

} // namespace gmt::rewriter
