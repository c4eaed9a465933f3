// SPDX-License-Identifier: Apache-2.0
// What textures and surfaces give at some hundred points each: in all modes, formats and shapes.
// The words of each scene are joined to one number, which textures.h100 has as an H100 gave it.
// It is one file because it is one list of scenes.
#include "pictures.h"
#include "points.h"

#include <map>
#include <string>

namespace {

const std::map<std::string, std::uint64_t> kRecorded = {
#define RECORDED(name, hash) {name, hash##ull},
#include "textures.h100"
#undef RECORDED
};

void compare(const std::string& scene, const std::vector<uint4>& words) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const uint4& each : words) {
    for (const unsigned word : {each.x, each.y, each.z, each.w})
      hash = (hash ^ word) * 0x100000001b3ull;
  }
  const auto known = kRecorded.find(scene);
  const bool is_equal = known != kRecorded.end() && known->second == hash;
  if (!is_equal) std::printf("%s gives %016llx\n", scene.c_str(), (unsigned long long)hash);
  torture::report(scene.c_str(), is_equal);
}

enum class Op { k1D, k1DLevel, kFetch, k2D, k2DLevel, k2DInt, k2DOffset, k1DOffset, k3D, k3DLevel };
enum class Other { kLayers1D, kLayers2D, kLayers2DLevel, kCube, kCubeLevel, kCubes, kGather };

__device__ uint4 words_of(float4 value) {
  return make_uint4(__float_as_uint(value.x), __float_as_uint(value.y), __float_as_uint(value.z),
                    __float_as_uint(value.w));
}

#define RESULT "=f"(r.x), "=f"(r.y), "=f"(r.z), "=f"(r.w)
__device__ float4 sample(Op op, cudaTextureObject_t t, const Point& p) {
  const float x = p.at[0], y = p.at[1], z = p.at[2];
  const int i = static_cast<int>(x), j = static_cast<int>(y);
  float4 r = make_float4(0, 0, 0, 0);
  switch (op) {
  case Op::k1D: return tex1D<float4>(t, x);
  case Op::k1DLevel: return tex1DLod<float4>(t, x, p.dx[0]);
  case Op::kFetch: return tex1Dfetch<float4>(t, i);
  case Op::k2D: return tex2D<float4>(t, x, y);
  case Op::k2DLevel: return tex2DLod<float4>(t, x, y, p.dx[0]);
  case Op::k3D: return tex3D<float4>(t, x, y, z);
  case Op::k3DLevel: return tex3DLod<float4>(t, x, y, z, p.dx[0]);
  case Op::k2DInt:
    asm volatile("tex.2d.v4.f32.s32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
                 : RESULT
                 : "l"(t), "r"(i), "r"(j));
    return r;
  case Op::k2DOffset:
    asm volatile("tex.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}], {2, -3};"
                 : RESULT
                 : "l"(t), "f"(x), "f"(y));
    return r;
  case Op::k1DOffset:
    asm volatile("tex.1d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5}], {-3};" : RESULT : "l"(t), "f"(x));
    return r;
  }
  return r;
}

__device__ float4 sample(Other op, cudaTextureObject_t t, const Point& p) {
  const float x = p.at[0], y = p.at[1], z = p.at[2];
  const int layer = static_cast<int>(p.at[3]);
  switch (op) {
  case Other::kLayers1D: return tex1DLayered<float4>(t, x, layer);
  case Other::kLayers2D: return tex2DLayered<float4>(t, x, y, layer);
  case Other::kLayers2DLevel: return tex2DLayeredLod<float4>(t, x, y, layer, p.dx[0]);
  case Other::kCube: return texCubemap<float4>(t, x, y, z);
  case Other::kCubeLevel: return texCubemapLod<float4>(t, x, y, z, p.dx[0]);
  case Other::kCubes: return texCubemapLayered<float4>(t, x, y, z, layer);
  case Other::kGather: return tex2Dgather<float4>(t, x, y, static_cast<int>(p.dy[3]));
  }
  return make_float4(0, 0, 0, 0);
}

template <class T> __global__ void sample_all(T op, cudaTextureObject_t t, const Point* points,
                                              uint4* out, int n) {
  const int i = global_index();
  if (i < n) out[i] = words_of(sample(op, t, points[i]));
}

template <class T> void scene(const std::string& name, const Picture& p, T op,
                              const Points& points) {
  const Shown shown(p);
  const torture::Array<Point> in(points);
  const torture::Array<uint4> out(points.size());
  const int n = static_cast<int>(points.size());
  sample_all<<<(n + 63) / 64, 64>>>(op, shown.object(), in.get(), out.get(), n);
  compare(name, out.host());
}

void modes_of_rows(int mode, bool normalized) {
  for (const int w : {16, 13}) {
    Picture p;
    p.w = w;
    p.format = U32;
    p.content = Content::kNumber;
    p.normalized = normalized;
    p.set_modes(kModes[mode], kModes[mode], kModes[mode]);
    const std::string end =
      "." + kModeNames[mode] + (normalized ? ".normalized." : ".") + std::to_string(w);
    scene("1d.point" + end, p, Op::k1D, line(w, normalized));
    p.format = F32;
    p.content = Content::kSmall;
    p.interpolates = true;
    scene("1d.linear" + end, p, Op::k1D, line(w, normalized));
  }
}

void modes(int mode, bool normalized) {
  const std::string end = "." + kModeNames[mode] + (normalized ? ".normalized" : "");
  const Mode x = kModes[mode], y = kModes[(mode + 1) % 4], z = kModes[(mode + 2) % 4];
  Picture numbers;
  numbers.h = 11;
  numbers.format = U32;
  numbers.content = Content::kNumber;
  numbers.normalized = normalized;
  numbers.set_modes(x, y, cudaAddressModeClamp);
  scene("2d.point" + end, numbers, Op::k2D, plane(16, 11, normalized));
  scene("2d.gather" + end, numbers, Other::kGather, plane(16, 11, normalized));
  Picture floats = numbers;
  floats.format = F32;
  floats.content = Content::kSmall;
  floats.channels = 4;
  floats.interpolates = true;
  scene("2d.linear" + end, floats, Op::k2D, plane(16, 11, normalized));
  scene("2d.offset.linear" + end, floats, Op::k2DOffset, plane(16, 11, normalized));
  Picture rows = floats;
  rows.kind = Kind::kRows;
  scene("pitch.linear" + end, rows, Op::k2D, plane(16, 11, normalized));
  Picture bytes = floats;
  bytes.format = U8;
  bytes.content = Content::kBits;
  bytes.fractions = true;
  scene("2d.linear.u8" + end, bytes, Op::k2D, plane(16, 11, normalized));
  Picture volume = floats;
  volume.h = 6;
  volume.d = 5;
  volume.set_modes(x, y, z);
  scene("3d.linear" + end, volume, Op::k3D, space(16, 6, 5, normalized));
  volume.interpolates = false;
  volume.channels = 1;
  volume.format = U32;
  volume.content = Content::kNumber;
  scene("3d.point" + end, volume, Op::k3D, space(16, 6, 5, normalized));
  volume.d = 0;
  volume.h = 11;
  scene("2d.int" + end, volume, Op::k2DInt, plane(16, 11, false));
  volume.kind = Kind::kRows;
  scene("pitch.point" + end, volume, Op::k2D, plane(16, 11, normalized));
  volume.kind = Kind::kArray;
  volume.h = 0;
  scene("1d.offset" + end, volume, Op::k1DOffset, line(16, normalized));
}

// How texels are joined, and how far coordinates are kept.
void filters() {
  Picture large;
  large.w = 1000;
  large.h = 700;
  large.format = U32;
  large.content = Content::kNumber;
  large.normalized = true;
  scene("2d.point.large", large, Op::k2D, inside(1000, 700, 0, 2048, false, true));
  Picture ramp;
  ramp.content = Content::kNumber;
  ramp.normalized = ramp.interpolates = true;
  ramp.w = 3000;
  scene("1d.ramp.normalized.3000", ramp, Op::k1D, inside(3000, 0, 0, 2048, false, true));
  const std::string names[] = {"f32", "f16", "u8", "s8", "u16", "s16"};
  for (const Format f : {F32, F16, U8, S8, U16, S16}) {
    for (const bool exact : {false, true}) {
      Picture p;
      p.w = 64;
      p.format = f;
      p.channels = 4;
      p.content = f == F32 || f == F16 ? Content::kRandom : Content::kBits;
      p.fractions = f != F32 && f != F16;
      p.interpolates = true;
      const std::string end = "." + names[f] + (exact ? ".exact" : "");
      scene("1d.filter" + end, p, Op::k1D, inside(64, 0, 0, 1024, exact));
      p.h = 32;
      scene("2d.filter" + end, p, Op::k2D, inside(64, 32, 0, 1024, exact));
      p.w = 16;
      p.d = 8;
      scene("3d.filter" + end, p, Op::k3D, inside(16, 32, 8, 1024, exact));
    }
  }
}

void formats() {
  for (const int n : {1, 2, 4}) {
    for (const Format f : {F32, F16, U8, S8, U16, S16, U32, S32}) {
      for (const bool fractions : {false, true}) {
        if (fractions && (f < U8 || f > S16)) continue;
        Picture p;
        p.kind = Kind::kLinear;
        p.w = 64;
        p.format = f;
        p.channels = n;
        p.content = Content::kBits;
        p.fractions = fractions;
        Points points;
        for (int i = -4; i < 70; ++i) points.push_back({{float(i)}, {}, {}});
        const std::string end =
          "." + std::to_string(n) + "." + std::to_string(f) + (fractions ? ".float" : "");
        scene("fetch" + end, p, Op::kFetch, points);
        p.kind = Kind::kArray;
        p.h = 4;
        scene("2d.channels" + end, p, Op::k2D, inside(64, 4, 0, 32, false));
        if (n != 2) continue;
        p.set_modes(cudaAddressModeBorder, cudaAddressModeBorder, cudaAddressModeBorder);
        for (Point& each : points) each.at[1] = 1;
        scene("2d.border" + end, p, Op::k2D, points);
      }
    }
  }
}

void layers_and_cubes() {
  Picture p;
  p.kind = Kind::kLayers;
  p.d = 4;
  p.format = U32;
  p.content = Content::kNumber;
  scene("a1d", p, Other::kLayers1D, with_layers(line(16, false)));
  p.h = 8;
  scene("a2d", p, Other::kLayers2D, with_layers(plane(16, 8, false)));
  p.format = F32;
  p.content = Content::kRandom;
  p.interpolates = true;
  scene("a2d.linear", p, Other::kLayers2D, with_layers(plane(16, 8, false)));
  for (const int size : {256, 8}) {
    Picture cube;
    cube.kind = Kind::kCube;
    cube.w = cube.h = size;
    cube.d = 6;
    cube.format = U32;
    cube.content = Content::kNumber;
    cube.normalized = true;
    const std::string end = "." + std::to_string(size);
    scene("cube.point" + end, cube, Other::kCube, directions(2048));
    cube.format = F32;
    cube.d = 18;
    scene("acube.point" + end, cube, Other::kCubes, directions(512));
    if (size != 8) continue;
    cube.interpolates = true;
    scene("acube.linear" + end, cube, Other::kCubes, directions(512));
    cube.d = 6;
    scene("cube.linear" + end, cube, Other::kCube, directions(2048));
  }
}

void levels() {
  const Points points = of_levels();
  for (const bool between : {false, true}) {
    for (const bool interpolates : {false, true}) {
      const std::string end =
        std::string(between ? ".miplinear" : ".mippoint") + (interpolates ? ".linear" : ".point");
      Picture p;
      p.w = 32;
      p.h = 16;
      p.levels = 6;
      p.content = Content::kLevel;
      p.normalized = true;
      p.interpolates_levels = between;
      p.interpolates = interpolates;
      scene("level.2d" + end, p, Op::k2DLevel, points);
      Picture other = p;
      other.bias = 1.3f;
      scene("level.2d.bias" + end, other, Op::k2DLevel, points);
      scene("level.2d.bias.none" + end, other, Op::k2D, points);
      other.bias = 0;
      other.least = 0.7f;
      other.most = 3.2f;
      scene("level.2d.clamp" + end, other, Op::k2DLevel, points);
      scene("level.2d.clamp.none" + end, other, Op::k2D, points);
      p.content = Content::kRandom;
      scene("level.2d.random" + end, p, Op::k2DLevel, points);
      Picture row = p;
      row.h = 0;
      scene("level.1d.random" + end, row, Op::k1DLevel, points);
      Picture volume = p;
      volume.d = 8;
      if (!between || !interpolates) scene("level.3d.random" + end, volume, Op::k3DLevel, points);
      Picture layers = p;
      layers.kind = Kind::kLayers;
      layers.d = 3;
      scene("level.a2d.random" + end, layers, Other::kLayers2DLevel, points);
      Picture cube = p;
      cube.kind = Kind::kCube;
      cube.h = 32;
      cube.d = 6;
      scene("level.cube.random" + end, cube, Other::kCubeLevel, points);
      Picture bytes = p;
      bytes.format = U8;
      bytes.channels = 4;
      bytes.content = Content::kBits;
      bytes.fractions = true;
      scene("level.2d.u8" + end, bytes, Op::k2DLevel, points);
    }
  }
}

// Of float4, any numbers of 16 bits.
void cube(const std::string& name, int size, bool has_seams, const Points& directions) {
  std::vector<float4> texels(6 * size * size);
  unsigned state = 1;
  const auto next = [&] {
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(state >> 16);
  };
  for (float4& texel : texels) {
    texel.x = next();
    texel.y = next();
    texel.z = next();
    texel.w = next();
  }
  const cudaExtent extent = make_cudaExtent(size, size, 6);
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float4>();
  cudaResourceDesc from{};
  from.resType = cudaResourceTypeArray;
  OK(cudaMalloc3DArray(&from.res.array.array, &format, extent, cudaArrayCubemap));
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(texels.data(), size * sizeof(float4), size, size);
  copy.dstArray = from.res.array.array;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&copy));
  cudaTextureDesc how{};
  for (cudaTextureAddressMode& mode : how.addressMode) mode = cudaAddressModeClamp;
  how.filterMode = cudaFilterModeLinear;
  how.normalizedCoords = 1;
  how.seamlessCubemap = has_seams ? 0 : 1;
  cudaTextureObject_t t = 0;
  OK(cudaCreateTextureObject(&t, &from, &how, nullptr));
  const torture::Array<Point> in(directions);
  const torture::Array<uint4> out(directions.size());
  const int n = static_cast<int>(directions.size());
  sample_all<<<(n + 63) / 64, 64>>>(Other::kCube, t, in.get(), out.get(), n);
  compare(name, out.host());
  OK(cudaDestroyTextureObject(t));
  OK(cudaFreeArray(from.res.array.array));
}

// Around the edges and corners of all faces, and in directions that are none, or too long.
void cubes_without_seams() {
  for (const int size : {4, 2, 1}) {
    const std::string end = "." + std::to_string(size);
    cube("cube.seamless" + end, size, false, over_faces());
    cube("cube.seamless.strange" + end, size, false, strange_directions());
    cube("cube.strange" + end, size, true, strange_directions());
  }
}

// At texels, or at 256 steps between each two of them.
__global__ void along_row(cudaTextureObject_t t, int steps, uint4* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float part = static_cast<float>(i % steps) / static_cast<float>(steps);
  out[i] = words_of(tex2D<float4>(t, static_cast<float>(i / steps) + 0.5f + part, 0.5f));
}

// A row of colours in the encoding of sRGB.
void srgb(const std::string& name, bool interpolates) {
  std::vector<uchar4> colors(interpolates ? 64 : 256);
  for (std::size_t i = 0; i < colors.size(); ++i) {
    const auto k = static_cast<unsigned char>(interpolates ? (i * 167 + 3) % 256 : i);
    colors[i] = make_uchar4(k, static_cast<unsigned char>(k * 7 + 1), 255 - k, k);
  }
  const std::size_t bytes = colors.size() * sizeof(uchar4);
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
  cudaResourceDesc from{};
  from.resType = cudaResourceTypeArray;
  OK(cudaMallocArray(&from.res.array.array, &format, colors.size(), 1));
  OK(cudaMemcpy2DToArray(from.res.array.array, 0, 0, colors.data(), bytes, bytes, 1,
                         cudaMemcpyHostToDevice));
  cudaTextureDesc how{};
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
  how.readMode = cudaReadModeNormalizedFloat;
  how.filterMode = interpolates ? cudaFilterModeLinear : cudaFilterModePoint;
  how.sRGB = 1;
  cudaTextureObject_t t = 0;
  OK(cudaCreateTextureObject(&t, &from, &how, nullptr));
  const int steps = interpolates ? 256 : 1;
  const int count = static_cast<int>(interpolates ? colors.size() - 1 : colors.size()) * steps;
  torture::Array<uint4> out(count);
  along_row<<<count / 64, 64>>>(t, steps, out);
  compare(name, out.host());
  OK(cudaDestroyTextureObject(t));
  OK(cudaFreeArray(from.res.array.array));
}

} // namespace

int main() {
  for (const bool normalized : {false, true}) {
    for (int mode = 0; mode < 4; ++mode) {
      modes_of_rows(mode, normalized);
      modes(mode, normalized);
    }
  }
  filters();
  formats();
  layers_and_cubes();
  cubes_without_seams();
  levels();
  srgb("srgb.point", false);
  srgb("srgb.linear", true);
  return torture::finish();
}
