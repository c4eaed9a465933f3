// SPDX-License-Identifier: Apache-2.0
// Where the record does not name a run's evaluator, runs and evaluators are matched from the
// innermost one on: the outer end of either may have been cut off. Runs for which no evaluator is
// left stand before the last one, or where the stack enters the interpreter.
#include "analyzer/symbols/python_merge.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "analyzer/base/starts_with.h"

namespace gmt {
namespace {

bool is_evaluator(const Frame& frame) {
  return !frame.inlined && frame.function.starts_with("_PyEval_EvalFrameDefault");
}

bool is_of_interpreter(const Frame& frame) {
  if (is_python_interpreter(frame.module)) return true;
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

struct Run {
  std::vector<Frame> frames;
  std::uint32_t evaluator = 0; // the number of the native frame that runs it, from 1; 0 not known
};

std::vector<Run> runs_of(std::span<const std::uint64_t> python, const PythonFrames& frames) {
  std::vector<Run> runs(1);
  for (const std::uint64_t address : python) {
    if (PythonFrames::is_entry(address)) {
      runs.back().evaluator = PythonFrames::evaluator_of(address);
      runs.emplace_back();
    } else {
      runs.back().frames.push_back(frame_of(frames.find(address)));
    }
  }
  if (runs.back().frames.empty()) runs.pop_back(); // behind the last entry
  return runs;
}

// Where each run stands: before this native frame. In stripped interpreters only the numbers that
// the record gives say which frame is an evaluator's.
std::vector<std::size_t> positions_of(const std::vector<Run>& runs, const NativeStack& native) {
  const auto find = [&](std::size_t from, auto&& matches) {
    const auto begin = native.frames.begin();
    const auto found =
      std::find_if(begin + static_cast<std::ptrdiff_t>(from), native.frames.end(), matches);
    return static_cast<std::size_t>(found - begin);
  };
  const std::size_t none = native.frames.size();
  std::vector<std::size_t> positions;
  std::size_t next = 0; // the first frame that may run the next one
  std::size_t last = find(0, is_of_interpreter);
  for (const Run& run : runs) {
    std::size_t at = none;
    if (run.evaluator != 0 && run.evaluator <= native.begins.size())
      at = native.begins[run.evaluator - 1];
    else at = find(next, is_evaluator);
    if (at >= next && at != none) {
      last = at;
      next = at + 1;
    }
    positions.push_back(last);
  }
  return positions;
}

} // namespace

std::vector<Frame> merge_python(NativeStack native, std::span<const std::uint64_t> python,
                                const PythonFrames& frames, bool keep_interpreter) {
  if (python.empty()) return std::move(native.frames);
  std::vector<Run> runs = runs_of(python, frames);
  const std::vector<std::size_t> positions = positions_of(runs, native);
  std::vector<Frame> merged;
  std::size_t run = 0;
  const auto put_runs = [&](std::size_t before) {
    for (; run < runs.size() && positions[run] <= before; ++run)
      std::ranges::move(runs[run].frames, std::back_inserter(merged));
  };
  for (std::size_t i = 0; i < native.frames.size(); ++i) {
    put_runs(i);
    if (keep_interpreter || !is_of_interpreter(native.frames[i]))
      merged.push_back(std::move(native.frames[i]));
  }
  put_runs(native.frames.size());
  return merged;
}

} // namespace gmt
