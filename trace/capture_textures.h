// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects of a captured launch, and the arrays behind them
// (trace/capture_file.h). Descriptions are the structures of cuda.h byte by byte, which CUDA keeps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gmt::trace {

// What one level holds, row by row without gaps.
struct CapturedLevel {
  std::string before;
  bool has_after = false; // the launch ended, and this was read behind it
  std::string after;      // empty: as before
};

struct CapturedArray {
  std::string description; // CUDA_ARRAY3D_DESCRIPTOR
  bool is_mipmapped = false;
  std::vector<CapturedLevel> levels; // one if it is not mipmapped
};

struct CapturedTexture {
  std::uint64_t handle = 0;
  bool is_surface = false;
  std::uint64_t array = 0;                 // its number among the arrays, from 1; 0: linear memory
  std::string resource, description, view; // CUDA_RESOURCE_DESC, CUDA_TEXTURE_DESC,
                                           // CUDA_RESOURCE_VIEW_DESC; the last two of a texture
};

struct CapturedTextures {
  std::vector<CapturedTexture> textures;
  std::vector<CapturedArray> arrays;
  std::uint64_t left_out = 0; // objects that the limit left no room for, or of other formats
};

template <class Writer> void write_textures(const CapturedTextures& all, Writer& out) {
  out.word(all.left_out);
  out.word(all.arrays.size());
  for (const CapturedArray& array : all.arrays) {
    out.text(array.description);
    out.word(array.is_mipmapped ? 1 : 0);
    out.word(array.levels.size());
    for (const CapturedLevel& level : array.levels) {
      out.text(level.before);
      out.word(level.has_after ? 1 : 0);
      out.text(level.after);
    }
  }
  out.word(all.textures.size());
  for (const CapturedTexture& texture : all.textures) {
    out.word(texture.handle);
    out.word(texture.is_surface ? 1 : 0);
    out.word(texture.array);
    for (const std::string* text : {&texture.resource, &texture.description, &texture.view})
      out.text(*text);
  }
}

template <class Reader> void read_textures(Reader& in, CapturedTextures* all) {
  constexpr std::uint64_t kLeastArray = 24, kLeastLevel = 24, kLeastTexture = 48;
  all->left_out = in.word();
  all->arrays.resize(in.count(kLeastArray));
  for (CapturedArray& array : all->arrays) {
    array.description = in.text();
    array.is_mipmapped = in.word() != 0;
    array.levels.resize(in.count(kLeastLevel));
    for (CapturedLevel& level : array.levels) {
      level.before = in.text();
      level.has_after = in.word() != 0;
      level.after = in.text();
    }
  }
  all->textures.resize(in.count(kLeastTexture));
  for (CapturedTexture& texture : all->textures) {
    texture.handle = in.word();
    texture.is_surface = in.word() != 0;
    texture.array = in.word();
    for (std::string* text : {&texture.resource, &texture.description, &texture.view})
      *text = in.text();
  }
}

// Whether all of them can be; a replay looks at the descriptions.
inline bool are_whole(const CapturedTextures& all) {
  for (const CapturedArray& array : all.arrays) {
    if (array.levels.empty() || (!array.is_mipmapped && array.levels.size() != 1)) return false;
    for (const CapturedLevel& level : array.levels) {
      if (!level.after.empty() && level.after.size() != level.before.size()) return false;
    }
  }
  for (const CapturedTexture& texture : all.textures) {
    if (texture.array > all.arrays.size() || texture.handle == 0) return false;
  }
  return true;
}

} // namespace gmt::trace
