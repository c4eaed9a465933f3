// SPDX-License-Identifier: Apache-2.0
// The buffers in which a program wants to read what the compiler of a GPU says of its code, as
// CUjit_options give them. The buffers and the options' values belong to the program.
#pragma once

#include <cuda.h>

#include <string_view>

namespace gmt::sim {

class JitLog {
public:
  JitLog() = default;
  JitLog(unsigned count, const CUjit_option* options, void** values);
  // Fills both buffers, and sets their sizes to what is used.
  void write(std::string_view errors, std::string_view remarks) const;

private:
  struct Buffer {
    char* bytes = nullptr;
    void** size = nullptr; // the option's value: room before, used behind
    unsigned room = 0;
  };
  static void fill(const Buffer& buffer, std::string_view text);

  Buffer errors_, remarks_;
};

} // namespace gmt::sim
