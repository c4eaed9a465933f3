// SPDX-License-Identifier: Apache-2.0
// Pictures that textures show: what their texels are, and the memory and object of one.
#pragma once

#include "random_words.h"
#include "torture.h"

#include <cuda_fp16.h>

#include <algorithm>
#include <string>

namespace {

enum Format { F32, F16, U8, S8, U16, S16, U32, S32 };
int bytes_of(Format f) {
  if (f == U8 || f == S8) return 1;
  return f == F16 || f == U16 || f == S16 ? 2 : 4;
}
cudaChannelFormatDesc channels_of(Format f, int n) {
  const int bits = bytes_of(f) * 8;
  const auto kind = f == F32 || f == F16              ? cudaChannelFormatKindFloat
                    : f == S8 || f == S16 || f == S32 ? cudaChannelFormatKindSigned
                                                      : cudaChannelFormatKindUnsigned;
  return cudaCreateChannelDesc(bits, n > 1 ? bits : 0, n > 2 ? bits : 0, n > 3 ? bits : 0, kind);
}

enum class Content { kRandom, kNumber, kBits, kLevel, kSmall };
void put(std::vector<unsigned char>& to, Format f, Content content, std::uint32_t number,
         int level) {
  std::uint32_t bits = random_word();
  float value = unit() * 2 - 1;
  if (content == Content::kNumber) value = static_cast<float>(bits = number);
  if (content == Content::kLevel) value = static_cast<float>(bits = level);
  if (content == Content::kSmall) value = static_cast<float>(int(random_word() % 17) - 8);
  if (f == F32 && content != Content::kBits) std::memcpy(&bits, &value, sizeof bits);
  if (f == F16 && content != Content::kBits) {
    const __half half = __float2half(value);
    std::uint16_t narrow = 0;
    std::memcpy(&narrow, &half, sizeof narrow);
    bits = narrow;
  }
  for (int i = 0; i < bytes_of(f); ++i) to.push_back(static_cast<unsigned char>(bits >> (8 * i)));
}

enum class Kind { kArray, kLayers, kCube, kLinear, kRows };

using Mode = cudaTextureAddressMode;
constexpr Mode kModes[] = {cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror,
                           cudaAddressModeBorder};
const std::string kModeNames[] = {"wrap", "clamp", "mirror", "border"};

struct Picture {
  Kind kind = Kind::kArray;
  int w = 16, h = 0, d = 0, levels = 1;
  Format format = F32;
  int channels = 1;
  Content content = Content::kRandom;
  Mode modes[3] = {cudaAddressModeClamp, cudaAddressModeClamp, cudaAddressModeClamp};
  bool interpolates = false, interpolates_levels = false, normalized = false, fractions = false;
  unsigned flags = 0;
  float bias = 0, least = 0, most = 20;

  void set_modes(Mode x, Mode y, Mode z) {
    modes[0] = x;
    modes[1] = y;
    modes[2] = z;
  }
  int texel() const { return bytes_of(format) * channels; }
  std::vector<unsigned char> bytes(int width, int height, int depth, int level) const {
    std::vector<unsigned char> all;
    const int count = width * std::max(height, 1) * std::max(depth, 1) * channels;
    for (int i = 0; i < count; ++i) put(all, format, content, i, level);
    return all;
  }
};

void upload(const Picture& p, cudaArray_t to, int w, int h, int d, int level) {
  auto bytes = p.bytes(w, h, d, level);
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(bytes.data(), std::size_t(w) * p.texel(), w, std::max(h, 1));
  copy.dstArray = to;
  copy.extent = make_cudaExtent(w, std::max(h, 1), std::max(d, 1));
  copy.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&copy));
}

// The memory of a picture, and the object that shows it.
class Shown {
public:
  explicit Shown(const Picture& p) {
    random_state = 0x123456789abcdefull;
    const auto channels = channels_of(p.format, p.channels);
    unsigned flags = p.flags;
    if (p.kind == Kind::kLayers) flags |= cudaArrayLayered;
    if (p.kind == Kind::kCube) flags |= cudaArrayCubemap | (p.d > 6 ? cudaArrayLayered : 0);
    const cudaExtent extent = make_cudaExtent(p.w, p.h, p.d);
    cudaResourceDesc from{};
    if (p.levels > 1) {
      OK(cudaMallocMipmappedArray(&levels_, &channels, extent, p.levels, flags));
      int w = p.w, h = p.h, d = p.d;
      for (int i = 0; i < p.levels; ++i) {
        cudaArray_t level = nullptr;
        OK(cudaGetMipmappedArrayLevel(&level, levels_, i));
        upload(p, level, w, h, d, i);
        w = std::max(w / 2, 1);
        if (h != 0) h = std::max(h / 2, 1);
        if (d != 0 && p.kind == Kind::kArray) d = std::max(d / 2, 1);
      }
      from.resType = cudaResourceTypeMipmappedArray;
      from.res.mipmap.mipmap = levels_;
    } else if (p.kind == Kind::kLinear || p.kind == Kind::kRows) {
      const auto bytes = p.bytes(p.w, p.h, 0, 0);
      const std::size_t row = std::size_t(p.w) * p.texel();
      if (p.kind == Kind::kLinear) {
        OK(cudaMalloc(&memory_, bytes.size()));
        OK(cudaMemcpy(memory_, bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
        from.resType = cudaResourceTypeLinear;
        from.res.linear = {memory_, channels, bytes.size()};
      } else {
        std::size_t pitch = 0;
        OK(cudaMallocPitch(&memory_, &pitch, row, p.h));
        OK(cudaMemcpy2D(memory_, pitch, bytes.data(), row, row, p.h, cudaMemcpyHostToDevice));
        from.resType = cudaResourceTypePitch2D;
        from.res.pitch2D = {memory_, channels, std::size_t(p.w), std::size_t(p.h), pitch};
      }
    } else {
      OK(cudaMalloc3DArray(&array_, &channels, extent, flags));
      upload(p, array_, p.w, p.h, p.d, 0);
      from.resType = cudaResourceTypeArray;
      from.res.array.array = array_;
    }
    cudaTextureDesc as{};
    std::copy(p.modes, p.modes + 3, as.addressMode);
    as.filterMode = p.interpolates ? cudaFilterModeLinear : cudaFilterModePoint;
    as.mipmapFilterMode = p.interpolates_levels ? cudaFilterModeLinear : cudaFilterModePoint;
    as.readMode = p.fractions ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    as.normalizedCoords = p.normalized;
    const float border[] = {0.25f, 0.5f, -0.75f, 2};
    std::copy(border, border + 4, as.borderColor);
    as.mipmapLevelBias = p.bias;
    as.minMipmapLevelClamp = p.least;
    as.maxMipmapLevelClamp = p.most;
    OK(cudaCreateTextureObject(&object_, &from, &as, nullptr));
  }
  ~Shown() {
    cudaDestroyTextureObject(object_);
    if (array_ != nullptr) cudaFreeArray(array_);
    if (levels_ != nullptr) cudaFreeMipmappedArray(levels_);
    if (memory_ != nullptr) cudaFree(memory_);
  }
  Shown(const Shown&) = delete;
  Shown& operator=(const Shown&) = delete;
  cudaTextureObject_t object() const { return object_; }

private:
  cudaArray_t array_ = nullptr;
  cudaMipmappedArray_t levels_ = nullptr;
  void* memory_ = nullptr;
  cudaTextureObject_t object_ = 0;
};

} // namespace
