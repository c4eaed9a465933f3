// SPDX-License-Identifier: Apache-2.0
// What programs do with textures and surfaces: pictures turned and made smaller, levels, volumes,
// gathers, lookups, and pictures that a kernel writes and the next one samples.
#pragma once

#include "recorded.h"

namespace textured {

template <class T> cudaChannelFormatDesc channels() { return cudaCreateChannelDesc<T>(); }

// An array with its texture and surface.
template <class T> class Image {
public:
  Image(int w, int h, int d, bool interpolates, cudaTextureAddressMode mode, bool normalized,
        bool fractions = false) {
    const auto format = channels<T>();
    const cudaExtent extent = make_cudaExtent(w, h, d);
    OK(cudaMalloc3DArray(&array_, &format, extent, cudaArraySurfaceLoadStore));
    cudaResourceDesc from{};
    from.resType = cudaResourceTypeArray;
    from.res.array.array = array_;
    cudaTextureDesc as{};
    for (auto& each : as.addressMode) each = mode;
    as.filterMode = interpolates ? cudaFilterModeLinear : cudaFilterModePoint;
    as.readMode = fractions ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    as.normalizedCoords = normalized;
    OK(cudaCreateTextureObject(&texture, &from, &as, nullptr));
    OK(cudaCreateSurfaceObject(&surface, &from));
  }
  void fill(const std::vector<T>& values, int w, int h, int d) {
    cudaMemcpy3DParms copy{};
    copy.srcPtr = make_cudaPitchedPtr(const_cast<T*>(values.data()), w * sizeof(T), w, h);
    copy.dstArray = array_;
    copy.extent = make_cudaExtent(w, h, d > 0 ? d : 1);
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
  }
  ~Image() {
    cudaDestroyTextureObject(texture);
    cudaDestroySurfaceObject(surface);
    cudaFreeArray(array_);
  }
  cudaTextureObject_t texture = 0;
  cudaSurfaceObject_t surface = 0;

private:
  cudaArray_t array_ = nullptr;
};

__global__ void turn(cudaTextureObject_t in, float* out, int w, int h, float c, float s) {
  const int x = threadIdx.x, y = blockIdx.x;
  const float u = static_cast<float>(x) - static_cast<float>(w) / 2,
              v = static_cast<float>(y) - static_cast<float>(h) / 2;
  out[y * w + x] = tex2D<float>(in, (u * c - v * s) / static_cast<float>(w) + 0.5f,
                                (u * s + v * c) / static_cast<float>(h) + 0.5f);
}
__global__ void resize(cudaTextureObject_t in, float4* out, int w, float step) {
  out[blockIdx.x * w + threadIdx.x] =
    tex2D<float4>(in, (static_cast<float>(threadIdx.x) + 0.5f) * step,
                  (static_cast<float>(blockIdx.x) + 0.5f) * step);
}
__global__ void smaller(cudaTextureObject_t in, cudaSurfaceObject_t out) { // half of each side
  const uchar4 a = tex2D<uchar4>(in, 2.f * threadIdx.x, 2.f * blockIdx.x),
               b = tex2D<uchar4>(in, 2.f * threadIdx.x + 1, 2.f * blockIdx.x),
               c = tex2D<uchar4>(in, 2.f * threadIdx.x, 2.f * blockIdx.x + 1),
               d = tex2D<uchar4>(in, 2.f * threadIdx.x + 1, 2.f * blockIdx.x + 1);
  const auto mean = [](int p, int q, int r, int s) {
    return static_cast<u8>((p + q + r + s + 2) / 4);
  };
  surf2Dwrite(make_uchar4(mean(a.x, b.x, c.x, d.x), mean(a.y, b.y, c.y, d.y),
                          mean(a.z, b.z, c.z, d.z), mean(a.w, b.w, c.w, d.w)),
              out, threadIdx.x * 4, blockIdx.x);
}
__global__ void walk(cudaTextureObject_t volume, float* out, int w) { // rays through a volume
  float x = static_cast<float>(threadIdx.x), y = static_cast<float>(blockIdx.x), z = 0, light = 0,
        left = 1;
  for (int i = 0; i < 24; ++i, x += 0.125f, y -= 0.0625f, z += 0.5f) {
    const float density = tex3D<float>(volume, x, y, z) * 0.25f;
    light = fmaf(left, density * density, light);
    left *= 1 - fabsf(density);
  }
  out[blockIdx.x * w + threadIdx.x] = light + left;
}
__global__ void function(cudaTextureObject_t table, const float* in, float* out) { // by
                                                                                   // interpolation
                                                                                   // in a table
  out[global_index()] = tex2D<float>(table, in[global_index()] * 0.2f + 0.5f, 0.5f);
}
__global__ void convolve(cudaTextureObject_t in, cudaSurfaceObject_t out, bool rows) {
  float sum = 0;
  for (int i = -3; i <= 3; ++i)
    sum = fmaf(tex2D<float>(in, static_cast<float>(threadIdx.x + (rows ? i : 0)) + 0.5f,
                            static_cast<float>(blockIdx.x) + (rows ? 0 : i) + 0.5f),
               1.f / static_cast<float>(4 + abs(i)), sum);
  surf2Dwrite(sum, out, threadIdx.x * 4, blockIdx.x);
}
__global__ void read(cudaSurfaceObject_t in, float* out, int w) {
  out[blockIdx.x * w + threadIdx.x] =
    surf2Dread<float>(in, threadIdx.x * 4, blockIdx.x, cudaBoundaryModeZero);
}
__global__ void layers(cudaSurfaceObject_t out, int depth) {
  for (int z = 0; z < depth; ++z)
    surf3Dwrite(make_short2(threadIdx.x * z - 7, blockIdx.x + z), out, threadIdx.x * 4, blockIdx.x,
                z);
}
__global__ void columns(cudaTextureObject_t in, int* out, int depth, int w) {
  int sum = 0;
  for (int z = -1; z <= depth; ++z) {
    const short2 v = tex3D<short2>(in, threadIdx.x, blockIdx.x, z);
    sum = sum * 3 + v.x - v.y;
  }
  out[blockIdx.x * w + threadIdx.x] = sum;
}
__global__ void sample_linear(cudaTextureObject_t in, u32* out) { // of memory without an array
  out[global_index()] =
    tex1Dfetch<u32>(in, (global_index() * 37) % 500) ^ tex1Dfetch<u32>(in, global_index());
}

inline void test() {
  constexpr int kW = 64, kH = 40;
  torture::Array<float> out(kW * kH);
  for (const auto mode : {cudaAddressModeWrap, cudaAddressModeMirror, cudaAddressModeBorder}) {
    Image<float> image(kW, kH, 0, true, mode, true);
    image.fill(torture::operands<float>(kW * kH, 131), kW, kH, 0);
    turn<<<kH, kW>>>(image.texture, out, kW, kH, 0.8f, 0.6f);
    torture::compare("texture.turned " + std::to_string(mode), out);
  }
  Image<uchar4> bytes(kW, kH, 0, true, cudaAddressModeClamp, false, true),
    plain(kW, kH, 0, false, cudaAddressModeClamp, false),
    half(kW / 2, kH / 2, 0, true, cudaAddressModeClamp, false, true);
  std::vector<uchar4> texels(kW * kH);
  const auto words = torture::operands<u32>(kW * kH, 132);
  std::memcpy(texels.data(), words.data(), words.size() * 4);
  bytes.fill(texels, kW, kH, 0);
  plain.fill(texels, kW, kH, 0);
  torture::Array<float4> four(kW * kH);
  resize<<<kH, kW>>>(bytes.texture, four, kW, 0.7f);
  torture::compare("texture.larger", four);
  smaller<<<kH / 2, kW / 2>>>(plain.texture, half.surface);
  resize<<<kH, kW>>>(half.texture, four, kW, 0.45f);
  torture::compare("texture.smaller", four);
  Image<float> volume(24, 20, 12, true, cudaAddressModeClamp, false);
  volume.fill(torture::operands<float>(24 * 20 * 12, 133), 24, 20, 12);
  walk<<<kH, kW>>>(volume.texture, out, kW);
  torture::compare("texture.rays", out);
  Image<float> image(kW, kH, 0, true, cudaAddressModeClamp, false),
    second(kW, kH, 0, true, cudaAddressModeClamp, false);
  image.fill(torture::operands<float>(kW * kH, 134), kW, kH, 0);
  convolve<<<kH, kW>>>(image.texture, second.surface, true);
  convolve<<<kH, kW>>>(second.texture, image.surface, false);
  read<<<kH, kW>>>(image.surface, out, kW);
  torture::compare("texture.filtered in two steps", out);
  Image<short2> deep(32, 16, 9, false, cudaAddressModeBorder, false);
  layers<<<16, 32>>>(deep.surface, 9);
  torture::Array<int> sums(32 * 16);
  columns<<<16, 32>>>(deep.texture, sums, 9, 32);
  torture::compare("texture.columns", sums);
  Image<float> table(33, 1, 0, true, cudaAddressModeClamp, true);
  table.fill(torture::operands<float>(33, 135), 33, 1, 0);
  const torture::Array<float> in(torture::operands<float>(512, 136));
  torture::Array<float> values(512);
  function<<<4, 128>>>(table.texture, in, values);
  torture::compare("texture.function", values);
  const torture::Array<u32> memory(torture::operands<u32>(512, 137));
  cudaResourceDesc from{};
  from.resType = cudaResourceTypeLinear;
  from.res.linear = {memory.get(), channels<u32>(), 512 * 4};
  const cudaTextureDesc as{};
  cudaTextureObject_t linear = 0;
  OK(cudaCreateTextureObject(&linear, &from, &as, nullptr));
  torture::Array<u32> fetched(512);
  sample_linear<<<4, 128>>>(linear, fetched);
  torture::compare("texture.fetched", fetched);
  OK(cudaDestroyTextureObject(linear));
}

} // namespace textured
