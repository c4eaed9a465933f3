// SPDX-License-Identifier: Apache-2.0
// The outermost of CUDA's own frames is what the program wrote: below it lie the runtime's other
// functions, as in cudaMallocHost, an inline wrapper that calls cudaHostAlloc.
#include "analyzer/symbols/runtime_names.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/symbols/demangle.h"
#include "analyzer/symbols/frame_trim.h"

namespace gmt {
namespace {

bool is_runtime_function(std::string_view name) {
  return name.size() > 4 && name.starts_with("cuda") &&
         std::isupper(static_cast<unsigned char>(name[4])) != 0;
}

bool is_driver_name(std::string_view name) {
  return name.size() > 2 && name.starts_with("cu") &&
         std::isupper(static_cast<unsigned char>(name[2])) != 0;
}

// Empty where no runtime function stands on the stack. `inlined`: only those that CUDA's header
// defines.
std::string runtime_call(const std::vector<Frame>& frames, bool inlined) {
  std::string found;
  for (auto frame = frames.begin(); frame != frames.end() && is_cuda_frame(*frame); ++frame) {
    const std::string_view name = bare_function(frame->function);
    if (!is_runtime_function(name) || (inlined && frame->file.empty())) continue;
    found = name.substr(0, name.find('<')); // cudaMalloc<float> is the header's wrapper
  }
  return found;
}

} // namespace

// A shared runtime's own name may be that of a function below the one that the program wrote.
void name_runtime_call(CallStack& stack) {
  const bool driver = is_driver_name(stack.api);
  if (stack.api.starts_with("__cuda"))
    stack.api.erase(0, 2); // nvcc makes __cudaLaunchKernel of <<<>>>
  if (!driver && !is_runtime_function(stack.api)) return;
  std::string runtime = runtime_call(stack.frames, !driver);
  if (!runtime.empty()) stack.api = std::move(runtime);
}

std::string_view CallNames::of(std::string_view recorded) const {
  const auto known = std::ranges::find(renamed, recorded, &Renamed::recorded);
  return known != renamed.end() ? std::string_view(known->written) : recorded;
}

CallNames name_runtime_calls(Finding& finding) {
  CallNames names;
  for (FindingStack& stack : finding.stacks) {
    std::string recorded = stack.api;
    name_runtime_call(stack);
    if (stack.api == recorded) continue;
    names.is_runtime |= is_driver_name(recorded);
    names.renamed.push_back({std::move(recorded), stack.api});
  }
  finding.api = names.of(finding.api);
  return names;
}

} // namespace gmt
