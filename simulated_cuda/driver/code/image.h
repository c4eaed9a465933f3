// SPDX-License-Identifier: Apache-2.0
// What a code image declares: its kernels with their parameter layout, its variables with sizes and
// first values, and the PTX that can be executed. Reads fat binaries, cubins (ELF), PTX text and
// what cuLinkComplete made. Invariants: if `ptx` is not empty, the executor has read it and `why`
// is empty; otherwise `why` is half a sentence that says why no kernel of it runs. An image whose
// declarations cannot be read is `opaque`: every kernel name is taken as existing, and variables
// exist as far as the simulated runtime declares them.
#pragma once

#include "simulated_cuda/executor/executor.h"

#include <cuda.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gmt::sim {

using executor::Parameter;

struct Variable {
  std::size_t size = 0;
  bool managed = false;
  std::vector<std::byte> first_value; // empty: zeros, or as the executor's module says
};

struct Image {
  bool opaque = false;
  bool uses_device_heap = false; // in-kernel malloc or new
  std::map<std::string, std::vector<Parameter>> kernels;
  std::map<std::string, Variable> variables;

  std::vector<std::string> ptx;                // linked as one module
  std::unique_ptr<executor::Module> first_use; // read already, for the first context
  std::string why;
};

// Reads the image at `code`, which carries no size: a fat binary, its wrapper, an ELF file, PTX
// text or linked code. Of several architectures the one that fits `capability`, such as 90, best.
// CUDA_ERROR_INVALID_IMAGE if it is no code at all, check_ptx() of a text: then `image->why` is
// what its compiler says.
CUresult read_image(const void* code, unsigned capability, Image* image);

// CUDA_SUCCESS, or the answer of a GPU's driver to a text that it cannot translate: then `errors`
// is what its compiler says.
CUresult check_ptx(std::string_view text, std::string* errors);

// The highest architecture for which a fat binary or its wrapper holds PTX, or 90 if one of them
// is; 0: none.
unsigned highest_ptx(const void* code);

// The executor's module of an image's PTX, for a context; null where there is none.
std::unique_ptr<executor::Module> load_ptx(Image& image);

} // namespace gmt::sim
