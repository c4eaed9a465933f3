// SPDX-License-Identifier: Apache-2.0
// A file's bytes without reading it whole: only the pages that are looked at cost anything.
#pragma once

#include <filesystem>
#include <span>

#include "analyzer/base/folder_files.h"

namespace gmt {

class MappedFile {
public:
  // Without bytes if it cannot be opened, is empty or no regular file: a pipe must not block us.
  explicit MappedFile(const std::filesystem::path& path) : MappedFile(open_regular(path)) {}
  explicit MappedFile(const Descriptor& file);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const char> bytes() const { return bytes_; }

private:
  std::span<const char> bytes_;
};

} // namespace gmt
