// SPDX-License-Identifier: Apache-2.0
// What `--version --verbose` says of this build, a line for each fact.
#pragma once

#include <string>

namespace gmt {

std::string build_facts();

} // namespace gmt
