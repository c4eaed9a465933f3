// SPDX-License-Identifier: Apache-2.0
// Where findings lie in the program's sources, for files that leave the machine: paths relative to
// the folder of the sources, and none that is absolute.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/report/report.h"

namespace gmt {

struct FilePosition {
  std::string file;             // relative, with '/'
  std::uint32_t line = 1;       // 1 where it is not known
  const Frame* frame = nullptr; // nullptr: no frame lies in the sources
  explicit operator bool() const { return frame != nullptr; }
};

class SourcePaths {
public:
  // Without a root, or where no frame of the report lies below it, the folder of the file of
  // main() is the root.
  SourcePaths(const Report& report, std::string_view root);

  // Relative to the root; empty if the frame has no file below it.
  std::string relative(const Frame& frame) const;
  // The first frame below the root.
  FilePosition line_of(const CallStack& stack) const;
  // Of the first stack that has one. Else the name of the program's executable, without a frame.
  FilePosition line_of(const ReportedFinding& finding) const;

private:
  const Report& report_;
  std::string root_; // with a '/' at its end; empty if there is none
};

// Absolute paths in a sentence become their last components.
std::string without_folders(std::string_view text);

// A relative path as a URI: what is no letter, digit or one of "-._~/" is percent-encoded.
std::string uri_of(std::string_view path);

} // namespace gmt
