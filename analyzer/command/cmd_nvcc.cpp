// SPDX-License-Identifier: Apache-2.0
// `nvcc`: compiles with the header that logs the malloc and free of kernels (device_hooks),
// whatever the words are; none of them is read here. The process becomes the compiler, so status
// and output are the compiler's own. The headers lie in include/ beside the command's folder, in
// the install and in the build tree.

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "analyzer/command/command.h"
#include "analyzer/command/run/child_process.h"

namespace gmt {

namespace {

namespace fs = std::filesystem;

std::string include_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path folder = (self.parent_path() / ".." / "include").lexically_normal();
  if (fs::exists(folder / "gpumemtrace" / "device.h", error)) return folder.string();
  throw UserError("gpumemtrace/device.h is not in " + folder.string() +
                    ", where it was installed; reinstall gpumemtrace",
                  kCannotStart);
}

// As compiler launchers are called, with the compiler as first word: its name begins with nvcc or
// clang.
bool names_compiler(const std::string& word) {
  const std::string name = fs::path(word).filename().string();
  return (name.starts_with("nvcc") || name.starts_with("clang")) &&
         fs::path(name).extension() != ".cu";
}

} // namespace

int command_nvcc(const Settings& settings) {
  const std::string include = include_folder();
  std::vector<std::string> words = settings.words;
  if (words.empty() || !names_compiler(words.front())) words.insert(words.begin(), "nvcc");
  const std::vector<std::string> forced = {"-I", include, "-include",
                                           include + "/gpumemtrace/device.h"};
  words.insert(words.begin() + 1, forced.begin(), forced.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execvp(pointers[0], pointers.data());
  const int failure = errno;
  throw UserError("cannot start " + words.front() + ": " + std::strerror(failure) +
                    "; put the CUDA toolkit's bin folder into PATH, or write 'gpumemtrace nvcc "
                    "/path/to/nvcc ...'",
                  ExitStatus{failure == ENOENT ? 127 : 126});
}

} // namespace gmt
