// SPDX-License-Identifier: Apache-2.0
// Options that say something about another one, which was not given: nothing would come of them,
// and the user may believe otherwise.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analyzer/command/options/options.h"

namespace gmt {

// A sentence for each. `given` answers whether an option was written; the values are read.
std::vector<std::string> idle_options(const std::function<bool(const std::string&)>& given,
                                      const Settings& settings);

} // namespace gmt
