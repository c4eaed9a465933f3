// SPDX-License-Identifier: Apache-2.0
// Libraries that keep memory until the process ends, on purpose: caching allocators, workspaces. A
// leak whose allocation stack passes through one of them is a note, and so are churn, unused memory
// and objects that are kept: the user can mend none of them. So are accesses of memory in a
// library's own kernels; faults of such kernels stay what they are, and name the library. Frames
// must be resolved. The list is shipped and closed: a user's own library is no owner.
#pragma once

#include <span>
#include <string_view>

#include "analyzer/model/finding.h"
#include "analyzer/trace_reader/object_files.h"

namespace gmt {

struct OwnerRule {
  std::string_view owner; // "PyTorch's caching allocator"
  // Globs over the whole path of a frame's object file, or of its source if it is one of Python;
  // and over its demangled function. "*": any, of the frame alone that called CUDA.
  std::string_view module, function;
  std::string_view why; // what it keeps, half a sentence
};

std::span<const OwnerRule> owner_rules();

// What an owner cuts out of its blocks for the program without a word to anybody, and what makes
// each part a block of CUDA's. Nothing where there is no such thing.
struct UnseenParts {
  std::string_view what;   // "arrays of CuPy"
  std::string_view remedy; // "cupy.cuda.set_allocator(None)"
};
UnseenParts unseen_parts_of(std::string_view owner);

// The library that the file of this path is; empty if it is none that is known by its file alone.
std::string_view owner_of_module(std::string_view path);

// Names the owner and makes the finding a note, if its kind has an excuse for owners and a rule
// matches a frame of its allocation stack; likewise a finding about memory accesses if the kernel
// is a known library's. A finding about a fault names the library that launched the kernel.
void apply_owner_rules(Finding& finding);

// Of a stack that the table of stacks cut off, or that has no native frame since libunwind could
// not be loaded, the frame that would name an owner may be missing. So findings with an excuse for
// owners are notes, if one of these libraries is loaded, and say it.
void excuse_cut_stacks(std::span<Finding> findings, std::span<const Module> modules);

} // namespace gmt
