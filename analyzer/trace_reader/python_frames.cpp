// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace_reader/python_frames.h"

#include <utility>

#include "analyzer/base/path.h"
#include "analyzer/base/starts_with.h"

namespace gmt {
namespace {

// Not "<string>" and the like, which are no files.
bool is_relative(const std::string& file) {
  return !file.empty() && file[0] != '/' && file[0] != '<';
}

} // namespace

bool is_python_interpreter(std::string_view path) {
  return starts_with_any(base_name(path), {"libpython", "python", "_ctypes.", "libffi."});
}

std::uint64_t PythonFrames::intern(const PythonCode& code, std::uint32_t line) {
  PythonCode absolute = code;
  if (!folder_.empty() && is_relative(code.file))
    absolute.file = folder_ + (folder_.ends_with('/') ? "" : "/") + code.file;
  const auto [at, is_new] =
    addresses_.try_emplace({std::move(absolute), line}, kFrames + frames_.size());
  if (is_new) frames_.push_back(&*at);
  return at->second;
}

PythonFrames::Frame PythonFrames::find(std::uint64_t address) const {
  const std::uint64_t index = address - kFrames;
  if (index >= frames_.size()) return {nullptr, 0};
  return {&frames_[index]->first.first, frames_[index]->first.second};
}

} // namespace gmt
