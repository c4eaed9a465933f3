// SPDX-License-Identifier: Apache-2.0
// Cuts from a stack what the reader of a report did not write and cannot change: the interposer and
// CUDA's own libraries at the inner end, the C library's start-up code at the outer end. Works on
// frames that are resolved.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/model/finding.h"
#include "analyzer/trace_reader/object_files.h"

namespace gmt {

// A frame of CUDA's runtime or driver, or of the interposer.
bool is_cuda_frame(const Frame& frame);

// A stack of nothing else stays whole: some frame is better than none.
void trim_frames(std::vector<Frame>& frames);

// The module that called CUDA: of the first frame of a stack that is neither CUDA's runtime, its
// driver nor the interposer. nullptr if there is none. Addresses innermost first.
const Module* calling_module(std::span<const Module> modules,
                             std::span<const std::uint64_t> addresses);

} // namespace gmt
