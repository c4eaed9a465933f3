// SPDX-License-Identifier: Apache-2.0
// Where the processes of a run leave word for the command.
#pragma once

#include <string>

namespace gmt {

// A file of this run's own that every process of the tree may append to; gone with the object. The
// command holds a lock on it: what a killed one has left is not locked, and goes with the next run.
class NotesFile {
public:
  explicit NotesFile(const std::string& trace_dir);
  ~NotesFile();
  NotesFile(const NotesFile&) = delete;
  NotesFile& operator=(const NotesFile&) = delete;
  const std::string& path() const { return path_; }

private:
  std::string path_;
  int file_ = -1; // locked
};

} // namespace gmt
