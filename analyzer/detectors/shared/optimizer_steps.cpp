// SPDX-License-Identifier: Apache-2.0
// Source: torch/optim/optimizer.py, Optimizer.profile_hook_step, in PyTorch 2.4 to 2.15.

#include "analyzer/detectors/shared/optimizer_steps.h"

#include <algorithm>
#include <string_view>

#include "analyzer/base/path.h"
#include "analyzer/base/text_format.h"

namespace gmt {
namespace {

constexpr std::string_view kFile = "optim/optimizer.py";

bool is_step(const PythonLine& line) {
  return line.file.ends_with("/torch/optim/optimizer.py") &&
         line.function.starts_with("Optimizer.profile_hook_step.");
}

} // namespace

std::uint32_t OptimizerSteps::find_begin(std::uint32_t thread, StackId stack) {
  const std::uint32_t number = number_of(stack);
  const auto [now, is_first] = now_.try_emplace(thread, kNone);
  const bool goes_on = !is_first && now->second == number;
  now->second = number;
  return goes_on ? kNone : number;
}

std::uint32_t OptimizerSteps::number_of(StackId stack) {
  if (stack.value >= of_stacks_.size()) of_stacks_.resize(stack.value + std::size_t{1}, kUnknown);
  std::uint32_t& number = of_stacks_[stack.value];
  if (number == kUnknown) number = find(stack);
  return number;
}

std::uint32_t OptimizerSteps::find(StackId stack) {
  const std::vector<PythonLine> lines = facts_.python_lines(stack);
  const auto step = std::ranges::find_if(lines, is_step);
  if (step == lines.end()) return kNone;
  // Behind it stand those of schedulers and gradient scalers, and then the program's
  const std::string_view torch = step->file.substr(0, step->file.size() - kFile.size());
  const auto caller = std::find_if_not(
    step, lines.end(), [torch](const PythonLine& line) { return line.file.starts_with(torch); });
  if (caller == lines.end()) return kNone;
  const auto [at, is_new] = numbers_.try_emplace({std::string(caller->file), caller->line},
                                                 static_cast<std::uint32_t>(names_.size()));
  if (is_new)
    names_.push_back(
      cat({"optimizer.step at ", base_name(caller->file), ":", std::to_string(caller->line)}));
  return at->second;
}

} // namespace gmt
