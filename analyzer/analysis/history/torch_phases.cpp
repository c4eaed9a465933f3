// SPDX-License-Identifier: Apache-2.0
// Sources: torch/nn/modules/module.py (Module._call_impl), torch/optim/optimizer.py
// (Optimizer.profile_hook_step), torch/autograd/function.py (BackwardCFunction.apply) and
// torch/autograd/graph.py (_engine_run_backward) of PyTorch 2.4 to 2.15.

#include "analyzer/analysis/history/torch_phases.h"

#include <algorithm>

#include "analyzer/analysis/history/longest_ranges.h"
#include "analyzer/base/path.h"
#include "analyzer/base/starts_with.h"

namespace gmt {

void TorchPhases::follow(const Event& e, std::uint64_t now) {
  if (e.stack.value == 0) return;
  const Phase phase = phase_of(e.stack);
  if (phase == Phase::kAny) return;
  if (phase != now_) {
    end();
    now_ = phase;
    begin_ = now;
  }
  last_ = now;
}

TorchPhases::Phase TorchPhases::phase_of(StackId stack) {
  if (stack.value >= of_stacks_.size())
    of_stacks_.resize(stack.value + std::size_t{1}, Phase::kUnknown);
  Phase& phase = of_stacks_[stack.value];
  if (phase == Phase::kUnknown) phase = find(stack);
  return phase;
}

// Modules run again inside of backward() where their results were not kept, and a module's forward
// may train another one: what is farther out counts, but for the optimizer.
TorchPhases::Phase TorchPhases::find(StackId stack) {
  const std::vector<PythonLine> lines = facts_.python_lines(stack);
  if (lines.empty()) {
    const std::string_view module = base_name(facts_.caller(stack).module);
    const bool is_engine = has_torch_ && starts_with_any(module, {"libtorch", "libc10"});
    return is_engine ? Phase::kBackward : Phase::kAny;
  }
  Phase phase = Phase::kOther;
  for (const PythonLine& line : lines) {
    const std::string_view file = line.file;
    if (file.ends_with("/torch/optim/optimizer.py") &&
        line.function.starts_with("Optimizer.profile_hook_step."))
      phase = Phase::kOptimizer;
    else if (phase == Phase::kOptimizer) continue;
    else if ((file.ends_with("/torch/autograd/function.py") &&
              line.function.starts_with("BackwardCFunction.apply")) ||
             (file.ends_with("/torch/autograd/graph.py") &&
              line.function == "_engine_run_backward"))
      phase = Phase::kBackward;
    else if (phase != Phase::kBackward && file.ends_with("/torch/nn/modules/module.py") &&
             line.function == "Module._call_impl")
      phase = Phase::kForward;
  }
  has_torch_ = has_torch_ || phase != Phase::kOther;
  return phase;
}

void TorchPhases::end() {
  const char* const name = now_ == Phase::kForward    ? "forward"
                           : now_ == Phase::kBackward ? "backward"
                                                      : "optimizer";
  if (now_ == Phase::kOther) return;
  ended_.push_back({name, begin_, last_, kNoThread, 0});
  if (ended_.size() >= 4 * kMost) keep_longest_ranges(ended_, 2 * kMost);
}

std::vector<MemoryHistory::Range> TorchPhases::take() {
  end();
  now_ = Phase::kOther;
  keep_longest_ranges(ended_, kMost);
  std::ranges::sort(ended_, {}, &MemoryHistory::Range::begin);
  return std::move(ended_);
}

} // namespace gmt
