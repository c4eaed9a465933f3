// SPDX-License-Identifier: Apache-2.0
// Areas of parameters for functions whose registers are tracked: each parameter has its shadow
// behind the area as it was before.
#include "simulated_cuda/executor/program/tracking.h"

namespace gmt::executor {

// Calls copy the shadows of arguments and results as if these were arguments and results.
void double_parameters(const Program& program, Code& code) {
  const auto add = [](std::vector<std::uint32_t>& offsets, std::vector<std::uint32_t>& sizes,
                      std::uint32_t by) {
    std::vector<std::uint32_t> both_offsets, both_sizes;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      both_offsets.insert(both_offsets.end(), {offsets[i], offsets[i] + by});
      both_sizes.insert(both_sizes.end(), {sizes[i], sizes[i]});
    }
    offsets = both_offsets;
    sizes = both_sizes;
  };
  const std::uint32_t by = code.parameter_bytes;
  const bool is_kernel = program.linked->functions()[code.linked].function->is_entry;
  if (!is_kernel) {
    add(code.parameter_offsets, code.parameter_sizes, by);
    add(code.return_offsets, code.return_sizes, by);
  }
  for (CallSite& site : code.calls) {
    if (!site.built_in.empty()) continue;
    add(site.argument_offsets, site.argument_sizes, by);
    add(site.return_offsets, site.return_sizes, by);
  }
  code.parameter_bytes = 2 * by;
}

} // namespace gmt::executor
