// SPDX-License-Identifier: Apache-2.0
// The file is made and locked, and what killed commands have left goes.

#include "analyzer/command/run/notes_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "analyzer/command/command.h"

namespace gmt {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNotesName = "gpumemtrace-notes.";

// Of commands that were killed. A folder of many files is not read to its end.
void remove_left_notes(const std::string& folder) {
  constexpr unsigned kMostEntries = 10'000;
  std::error_code error;
  fs::directory_iterator at(folder, error);
  for (unsigned i = 0; !error && at != fs::directory_iterator() && i < kMostEntries; ++i) {
    const std::string path = at->path().string();
    const bool is_named = at->path().filename().string().starts_with(kNotesName);
    at.increment(error);
    if (!is_named) continue;
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) continue;
    struct stat status{};
    const bool is_ours =
      ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
    if (is_ours && ::flock(file, LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
    ::close(file);
  }
}

// Between the file's making and its lock it may look left: then another one is made.
int make_locked(std::string& name) {
  const std::string pattern = name;
  for (int tries = 0; tries < 8; ++tries) {
    name = pattern;
    const int file = ::mkostemp(name.data(), O_CLOEXEC);
    if (file < 0) return -1;
    struct stat status{};
    ::flock(file, LOCK_EX | LOCK_NB);
    if (::fstat(file, &status) != 0 || status.st_nlink != 0) return file;
    ::close(file);
  }
  return -1;
}

} // namespace

NotesFile::NotesFile(const std::string& trace_dir) {
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  for (const std::string& folder :
       {error ? trace_dir : fs::absolute(temporary).string(), trace_dir}) {
    remove_left_notes(folder);
    std::string name = folder + "/" + std::string(kNotesName) + "XXXXXX";
    file_ = make_locked(name);
    if (file_ < 0) continue;
    path_ = name;
    return;
  }
  say(std::string("cannot make a temporary file (") + std::strerror(errno) +
      "): a process that escapes the checker will not be named");
}

NotesFile::~NotesFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
  if (file_ >= 0) ::close(file_);
}

} // namespace gmt
