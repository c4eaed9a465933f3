// SPDX-License-Identifier: Apache-2.0
// What a code image declares: its kernels with their parameter layout, and its variables with sizes
// and first values. Reads fat binaries, cubins (ELF) and PTX text. Invariant: an image whose code
// is compressed is `opaque`: every kernel name is taken as existing, and variables exist as far as
// the simulated runtime declares them (it knows names and sizes from the program's registration).
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace gmt::sim {

struct Parameter {
  size_t offset = 0;
  size_t size = 0;
};

struct Variable {
  size_t size = 0;
  bool managed = false;
  std::vector<std::byte> first_value; // empty: zeros
};

struct Image {
  bool opaque = false;
  bool uses_device_heap = false; // in-kernel malloc or new
  std::map<std::string, std::vector<Parameter>> kernels;
  std::map<std::string, Variable> variables;
};

// Reads the image at `code`, which carries no size: a fat binary, its wrapper, an ELF file or PTX
// text. False if none.
bool read_image(const void* code, Image* image);

} // namespace gmt::sim
