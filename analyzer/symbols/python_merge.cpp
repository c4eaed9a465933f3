// SPDX-License-Identifier: Apache-2.0
// See python_merge.h. Runs and evaluators are matched from the innermost one on: the outer end of
// either may have been cut off. Where no evaluator can be recognised, all runs stand where the
// stack enters the interpreter.
#include "analyzer/symbols/python_merge.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

#include "analyzer/base/path.h"
#include "analyzer/base/starts_with.h"

namespace gmt {
namespace {

bool is_evaluator(const Frame& frame) {
  return !frame.inlined && frame.function.starts_with("_PyEval_EvalFrameDefault");
}

bool is_of_interpreter(const Frame& frame) {
  // ctypes calls C through libffi
  const std::string_view module = base_name(frame.module);
  if (starts_with_any(module, {"libpython", "python", "_ctypes.", "libffi."})) return true;
  // A program that has the interpreter in its own file has functions of its own there, too.
  return is_evaluator(frame) || starts_with_any(frame.function, {"Py", "_Py"});
}

Frame frame_of(const PythonFrames::Frame& from) {
  Frame frame;
  frame.language = "python";
  frame.line = from.line;
  if (from.code == nullptr) return frame;
  frame.function = from.code->function;
  frame.file = from.code->file;
  return frame;
}

// The runs one after another.
class Runs {
public:
  Runs(std::span<const std::uint64_t> python, const PythonFrames& frames)
      : rest_(python), frames_(frames) {}

  void take_one(std::vector<Frame>& out) {
    while (!rest_.empty()) {
      const std::uint64_t address = rest_.front();
      rest_ = rest_.subspan(1);
      if (address == PythonFrames::kEntry) return;
      out.push_back(frame_of(frames_.find(address)));
    }
  }
  void take_all(std::vector<Frame>& out) {
    while (!rest_.empty()) take_one(out);
  }

private:
  std::span<const std::uint64_t> rest_;
  const PythonFrames& frames_;
};

} // namespace

std::vector<Frame> merge_python(std::vector<Frame> native, std::span<const std::uint64_t> python,
                                const PythonFrames& frames, bool keep_interpreter) {
  if (python.empty()) return native;
  const auto last = std::find_if(native.rbegin(), native.rend(), is_evaluator).base();
  const auto entry = std::ranges::find_if(native, is_of_interpreter);
  Runs runs(python, frames);
  std::vector<Frame> merged;
  for (auto at = native.begin(); at != native.end(); ++at) {
    if (is_evaluator(*at)) runs.take_one(merged);
    if (at + 1 == last || (last == native.begin() && at == entry)) runs.take_all(merged);
    if (keep_interpreter || !is_of_interpreter(*at)) merged.push_back(std::move(*at));
  }
  runs.take_all(merged);
  return merged;
}

} // namespace gmt
