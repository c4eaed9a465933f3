// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects of a captured launch, made anew with the handles that they had, and
// the arrays behind them.
#pragma once

#include "trace/capture_file.h"

#include <cuda.h>

#include <string>
#include <vector>

namespace gmt::replay {

class Textures {
public:
  // With a current context, behind allocate_memory(). What is wrong in half a sentence; empty: all
  // are there.
  std::string make(const trace::CapturedTextures& captured);
  // What a level of an array holds now; false: it cannot be read.
  bool read(std::size_t array, std::size_t level, std::string* bytes) const;
  void destroy();

private:
  struct Array {
    CUarray array = nullptr; // or a mipmapped one
    CUmipmappedArray mipmapped = nullptr;
    std::vector<CUarray> levels;
  };
  std::string make_array(const trace::CapturedArray& captured);
  std::string make_object(const trace::CapturedTexture& captured);

  std::vector<Array> arrays_;
  std::vector<CUtexObject> textures_;
  std::vector<CUsurfObject> surfaces_;
};

} // namespace gmt::replay
