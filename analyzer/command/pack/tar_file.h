// SPDX-License-Identifier: Apache-2.0
// Tar archives packed by zstd, as `tar --zstd` makes and reads them (POSIX ustar): regular files,
// each in one folder. An archive may come from anybody: sizes and names are looked at before they
// are believed, and links are refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "analyzer/base/folder_files.h"

namespace gmt {

class TarWriter {
public:
  static constexpr std::size_t kLongestFolder = 155, kLongestName = 100; // bytes of their names

  explicit TarWriter(std::ostream& out);
  ~TarWriter();
  TarWriter(const TarWriter&) = delete;
  TarWriter& operator=(const TarWriter&) = delete;

  // The file under the name FOLDER/NAME. One that shrinks meanwhile is filled up with zeros.
  void add(std::string_view folder, std::string_view name, const Descriptor& file);
  void finish();

private:
  struct Stream;
  void write(std::span<const char> bytes);

  std::ostream& out_;
  std::unique_ptr<Stream> stream_;
};

// Whether a file begins as what zstd has packed.
bool is_packed_file(const std::filesystem::path& file);

struct TarEntry {
  std::string folder, name;
  std::uint64_t bytes = 0;
};

// Calls begin(entry) for each regular file, then data(bytes) until it has all of them. Returns why
// the archive cannot be read to its end; empty if it was. begin() may answer such a reason itself.
std::string read_tar(const std::filesystem::path& file,
                     const std::function<std::string(const TarEntry&)>& begin,
                     const std::function<std::string(std::span<const char>)>& data);

} // namespace gmt
