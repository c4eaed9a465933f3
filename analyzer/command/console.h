// SPDX-License-Identifier: Apache-2.0
// Writing to descriptors and files with every error seen: a report on a full disk must fail loudly,
// and one piped into `head` must end quietly.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

namespace gmt {

// Writes all of it, through interruptions and short writes. No error or the first one.
std::error_code write_all(int descriptor, std::string_view text);

// Writes to an open stream named `name`. False if the reader has gone (EPIPE): then the caller
// stops and nothing is said. Any other failure is a UserError.
bool write_output(int descriptor, std::string_view name, std::string_view text);

// Columns of a text that is written there: the terminal's, COLUMNS where it is set, 100 in a file.
// At least 40 and at most 200.
std::size_t text_width(int descriptor);
// Whether it is a terminal that shows links (OSC 8).
bool shows_links(int descriptor);

// The file of --output. Opened before the program starts, so that a wrong path costs no run;
// emptied only when there is something to put in, and taken away again if it was made for nothing.
// An empty path is the stream given instead.
class OutputFile {
public:
  OutputFile(const std::string& path, int otherwise);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  bool is_file() const { return own_; }
  int descriptor() const { return descriptor_; }
  // Throws UserError (usage) if a terminal would be flooded with what no person reads there.
  void refuse_on_terminal(std::string_view format) const;
  void write(std::string_view text); // throws UserError unless everything is written

private:
  std::string name_;
  int descriptor_;
  bool own_;
  bool is_new_ = false;
};

} // namespace gmt
