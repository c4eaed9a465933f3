// SPDX-License-Identifier: Apache-2.0
// Which frames of a call stack are shown: all of the program's own, and of a library what the
// program called and what the library did in the end. The frames between are counted. Of a tensor
// the program's frames come first: how PyTorch allocates is the same for all.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analyzer/base/path.h"
#include "analyzer/report/fingerprint.h"
#include "analyzer/report/formats/text_layout.h"

namespace gmt::text {
namespace {

constexpr std::size_t kInnermost = 2; // frames that say what the library did
constexpr std::size_t kFewest = 3;    // fewer are shown rather than counted

// The package of a file such as ".../site-packages/torch/nn/modules/linear.py".
std::string python_package(const std::string& file) {
  constexpr std::string_view kFolder = "/site-packages/";
  const std::size_t at = file.find(kFolder);
  if (at == std::string::npos) return {};
  const std::string rest = file.substr(at + kFolder.size());
  const std::string package = rest.substr(0, rest.find('/'));
  return package == "torch" ? "PyTorch" : package;
}

struct Library {
  std::string_view name, file, function; // beginnings of a file's name and of a function's
};
constexpr Library kLibraries[] = {
  {"the autograd engine", {}, "torch::autograd::Engine::"},
  {"the autograd engine", {}, "torch::autograd::python::PythonEngine::"},
  {"PyTorch", "libtorch", "at::"},
  {"PyTorch", "libc10", "c10::"},
  {"PyTorch", "libtorch", "torch::"},
  {"CUB", "", "cub::"},
  {"Thrust", "", "thrust::"},
  {"Python", "libpython", "_Py"},
  {"the C++ library", "libstdc++", "std::"},
  {"the loader", "ld-linux", "_dl_"},
};

// Whose frame it is; empty if it is the program's, or it is not known.
std::string library_of(const Frame& frame) {
  if (is_users_frame(frame)) return {};
  if (frame.language == "python") return python_package(frame.file);
  const std::string_view file = base_name(frame.module);
  const std::string function = function_identity(frame.function);
  for (const Library& library : kLibraries) {
    if ((!library.file.empty() && file.starts_with(library.file)) ||
        function.starts_with(library.function))
      return std::string(library.name);
  }
  return std::string(known_library(frame));
}

// Whose these frames are, in words.
std::string owners_of(const std::vector<std::string>& libraries, const ShownFrames& frames) {
  std::vector<std::string> names;
  for (std::size_t i = frames.first; i < frames.first + frames.count; ++i) {
    const std::string& name = libraries[i];
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  std::string words;
  for (const std::string& name : names) words += (words.empty() ? "" : ", ") + name;
  return words;
}

// How many frames of PyTorch stand before the first of the program's, where its allocator is the
// innermost; else none.
std::size_t frames_of_tensor(const std::vector<Frame>& frames,
                             const std::vector<std::string>& libraries) {
  if (frames.empty() || !base_name(frames[0].module).starts_with("libc10_cuda")) return 0;
  const auto has_line = [](const Frame& frame) {
    return is_users_frame(frame) && !frame.file.empty();
  };
  const auto users = std::ranges::find_if(frames, has_line);
  const auto count = static_cast<std::size_t>(users - frames.begin());
  const bool is_shown = users != frames.end() && libraries[0] == "PyTorch";
  return is_shown ? count : 0;
}

} // namespace

std::vector<ShownFrames> shown_frames(const std::vector<Frame>& frames) {
  std::vector<ShownFrames> rows;
  std::vector<std::string> libraries;
  for (const Frame& frame : frames) libraries.push_back(library_of(frame));
  const std::size_t of_tensor = frames_of_tensor(frames, libraries);
  for (std::size_t i = of_tensor; i < frames.size();) {
    std::size_t end = i;
    // What left no frame belongs to its neighbours.
    while (end < frames.size() && (!libraries[end].empty() || (end > i && frames[end].tail_call)))
      ++end;
    const std::size_t first = i == 0 ? kInnermost : 1;
    const std::size_t last = end == frames.size() ? 0 : 1; // what the program called
    const std::size_t run = end - i;
    if (run < first + last + kFewest) {
      for (const std::size_t stop = std::max(end, i + 1); i < stop; ++i)
        rows.push_back({.first = i});
      continue;
    }
    for (std::size_t k = 0; k < first; ++k) rows.push_back({.first = i + k});
    ShownFrames folded{.first = i + first, .count = run - first - last};
    folded.of = owners_of(libraries, folded);
    rows.push_back(std::move(folded));
    if (last != 0) rows.push_back({.first = end - 1});
    i = end;
  }
  if (of_tensor != 0) {
    rows.push_back({.count = of_tensor, .is_innermost = true});
    rows.back().of = owners_of(libraries, rows.back());
  }
  return rows;
}

} // namespace gmt::text
