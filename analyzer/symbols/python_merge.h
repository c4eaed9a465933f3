// SPDX-License-Identifier: Apache-2.0
// Puts a stack's Python frames where the interpreter ran them: each run of them belongs to one
// frame of its evaluator. The interpreter's own frames say nothing to most readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/model/finding.h"
#include "analyzer/trace_reader/python_frames.h"

namespace gmt {

// Innermost first.
struct NativeStack {
  std::vector<Frame> frames;
  std::vector<std::size_t> begins; // of each return address: its first frame, inlined ones included
};

// `python` innermost first. Without Python frames the stack stays as it is.
std::vector<Frame> merge_python(NativeStack native, std::span<const std::uint64_t> python,
                                const PythonFrames& frames, bool keep_interpreter);

} // namespace gmt
