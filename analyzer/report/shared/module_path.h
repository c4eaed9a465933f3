// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "analyzer/model/finding.h"
#include "analyzer/report/source_text.h"

namespace gmt {

// Where in a PyTorch model a call was made, as state_dict() names modules: "layer4.*.conv3". From
// the frames of nn.Module and the lines that call them: "self.conv3(" is conv3, and what
// nn.Sequential calls is "*". Where a line is not here, or calls several modules, the module's
// class stands for its name. Empty outside of a model's parts.
std::string module_path(const CallStack& stack, SourceFiles& sources);

} // namespace gmt
