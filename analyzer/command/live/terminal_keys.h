// SPDX-License-Identifier: Apache-2.0
// A terminal that shows one picture at a time and gives each key as it is pressed. What was there
// before comes back at the end, also at a signal that ends the command.
#pragma once

#include <chrono>
#include <cstddef>

namespace gmt {

class TerminalKeys {
public:
  // Changes nothing where the output or the input is no terminal.
  TerminalKeys();
  ~TerminalKeys();
  TerminalKeys(const TerminalKeys&) = delete;
  TerminalKeys& operator=(const TerminalKeys&) = delete;

  bool is_on() const { return is_on_; }
  // The next key, '\0' if none is pressed for so long, or the window has changed its size.
  char wait(std::chrono::milliseconds most) const;

private:
  bool is_on_ = false;
};

std::size_t window_rows(); // of the terminal of standard output; 0 if it is not known

} // namespace gmt
