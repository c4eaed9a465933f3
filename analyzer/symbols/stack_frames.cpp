// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbols/stack_frames.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "analyzer/symbols/demangle.h"
#include "analyzer/symbols/python_merge.h"
#include "analyzer/trace_reader/python_frames.h"

namespace gmt {
namespace {

// Whether what the frame called is gone, so that other functions follow right above it: `inner`,
// innermost first. None there is the recorded call itself. The same function in another module is a
// copy that was called instead.
bool is_behind_tail_call(const Frame& frame, const std::vector<Frame>& inner) {
  if (!frame.callee) return false;
  if (inner.empty()) return true;
  const Frame& next = inner.back();
  if (next.module.empty() || next.function == frame.callee->function) return false;
  if (next.module != frame.module) {
    return unscoped_function(next.function) != unscoped_function(frame.callee->function);
  }
  const std::uint64_t at = next.module_offset; // behind the call: a function may end with it
  return std::ranges::none_of(frame.callee->code,
                              [at](const CodeRange& r) { return at >= r.begin && at <= r.end; });
}

Frame tail_call_in(std::string module) {
  Frame frame;
  frame.module = std::move(module);
  frame.tail_call = true;
  return frame;
}

// `begins`: where the frames of each address begin.
std::vector<Frame> native_frames(std::span<const std::uint64_t> addresses,
                                 std::span<const Module> modules, const AddressNames& names,
                                 std::vector<std::size_t>& begins) {
  std::vector<Frame> result;
  for (const std::uint64_t address : addresses) {
    const Module* module = find_module(modules, address);
    if (module == nullptr) {
      begins.push_back(result.size());
      result.emplace_back().address = address;
      continue; // no call site is known
    }
    std::vector<Frame> frames = names(*module, address);
    if (is_behind_tail_call(frames.back(), result))
      result.push_back(tail_call_in(frames.back().module));
    begins.push_back(result.size());
    std::ranges::move(frames, std::back_inserter(result));
  }
  return result;
}

} // namespace

std::vector<Frame> stack_frames(const StackTable& stacks, StackId stack,
                                std::span<const Module> modules, const AddressNames& names,
                                bool keep_interpreter) {
  const std::span<const std::uint64_t> all = stacks.frames(stack);
  const auto python = std::ranges::find_if(all, PythonFrames::is_python);
  std::vector<std::size_t> begins;
  std::vector<Frame> native = native_frames({all.begin(), python}, modules, names, begins);
  return merge_python({std::move(native), begins}, {python, all.end()}, stacks.python(),
                      keep_interpreter);
}

} // namespace gmt
