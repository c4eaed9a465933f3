// SPDX-License-Identifier: Apache-2.0
// The registry of output formats. Formats register themselves before main(); the commands ask for
// the list. Invariant: the list's head is constant-initialised, so that the order of static
// constructors does not matter.
#include "analyzer/report/output_format.h"

#include <algorithm>

namespace gmt {
namespace {

constinit const OutputRegistration* first_output = nullptr;

} // namespace

OutputRegistration::OutputRegistration(const OutputInfo& i) : info(i), next(first_output) {
  first_output = this;
}

std::vector<const OutputInfo*> outputs() {
  std::vector<const OutputInfo*> all;
  for (const OutputRegistration* r = first_output; r != nullptr; r = r->next)
    all.push_back(&r->info);
  std::sort(all.begin(), all.end(),
            [](const OutputInfo* a, const OutputInfo* b) { return a->id < b->id; });
  return all;
}

} // namespace gmt
