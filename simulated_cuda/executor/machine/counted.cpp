// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/counted.h"

#include "simulated_cuda/executor/machine/workers/worker.h"
#include "simulated_cuda/executor/report.h"

#include <algorithm>

namespace gmt::executor {
namespace {

const Instruction* count_and_go(Warp& w, const Instruction* in) {
  const Code& code = *w.frame->code;
  const Counted& counted = code.counted[static_cast<std::size_t>(in - code.instructions.data())];
  const auto lanes = static_cast<std::uint64_t>(__builtin_popcount(w.mask));
  w.worker->executed[counted.feature] += lanes;
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

std::vector<Inexact> inexact_features(const Program& program,
                                      const std::vector<std::uint64_t>& executed) {
  std::vector<Inexact> all;
  for (std::size_t i = 0; i < program.features.size(); ++i) {
    const Feature& feature = program.features[i];
    if (!feature.is_counted || executed[i] != 0) all.push_back({feature.name, executed[i]});
  }
  return all;
}

} // namespace gmt::executor
