// SPDX-License-Identifier: Apache-2.0
// See counted.h. Several threads may execute a program at once.
#include "simulated_cuda/executor/machine/counted.h"

#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/report.h"

#include <algorithm>

namespace gmt::executor {
namespace {

const Instruction* count_and_go(Warp& w, const Instruction* in) {
  const Code& code = *w.frame->code;
  const Counted& counted = code.counted[static_cast<std::size_t>(in - code.instructions.data())];
  const auto lanes = static_cast<std::uint64_t>(__builtin_popcount(w.mask));
  const Feature& feature = w.grid->program->features[counted.feature];
  __atomic_fetch_add(&feature.executed, lanes, __ATOMIC_RELAXED);
  return counted.handler(w, in);
}

} // namespace

std::uint32_t feature_of(Program& program, std::string_view name) {
  const auto known = std::ranges::find(program.features, name, &Feature::name);
  const auto index = static_cast<std::uint32_t>(known - program.features.begin());
  if (known == program.features.end()) program.features.push_back({.name = std::string(name)});
  return index;
}

Handler counting(Program& program, Code& code, const Instruction& in, std::string_view feature,
                 Handler handler) {
  code.counted.resize(code.instructions.size());
  const std::uint32_t index = feature_of(program, feature);
  program.features[index].is_counted = true;
  code.counted[static_cast<std::size_t>(&in - code.instructions.data())] = {handler, index};
  return count_and_go;
}

void forget_counts(const Program& program) {
  for (const Feature& feature : program.features) feature.executed = 0;
}

std::vector<Inexact> inexact_features(const Program& program) {
  std::vector<Inexact> all;
  for (const Feature& feature : program.features) {
    if (!feature.is_counted || feature.executed != 0)
      all.push_back({feature.name, feature.executed});
  }
  return all;
}

} // namespace gmt::executor
