// SPDX-License-Identifier: Apache-2.0
// What a process of the run waits for on the tool's account, such as kernels that are compiled with
// checks. It writes a note when that takes long, so that the command can say it at once: a program
// must not look as if it hung.
#pragma once

#include <cstdint>
#include <string>

namespace gmt {

class WaitNotices {
public:
  explicit WaitNotices(std::string notes_file) : path_(std::move(notes_file)) {}

  // The newest of those that were written since the last time; empty: none was.
  std::string newest();

private:
  std::string path_;
  std::uint64_t read_ = 0; // bytes of whole lines
};

} // namespace gmt
