// SPDX-License-Identifier: Apache-2.0
// What textures and surfaces give at some hundred points each: in all modes, formats and shapes.
// The words of each scene are joined to one number, which textures.h100 has as an H100 gave it.
#include "torture.h"

#include <cuda_fp16.h>

#include <algorithm>
#include <functional>
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

// Where a thread samples: coordinates, of which the last is a layer; the level or two gradients.
struct Point {
  float at[4], dx[4], dy[4];
};
using Points = std::vector<Point>;

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

std::uint64_t random_state = 1;
std::uint32_t random_word() {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return static_cast<std::uint32_t>((random_state * 0x2545f4914f6cdd1dull) >> 32);
}
float unit() { return static_cast<float>(random_word() >> 8) * 0x1p-24f; }

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

template <class T> void scene(const std::string& name, const Picture& p, T op,
                              const Points& points) {
  const Shown shown(p);
  const torture::Array<Point> in(points);
  const torture::Array<uint4> out(points.size());
  const int n = static_cast<int>(points.size());
  sample_all<<<(n + 63) / 64, 64>>>(op, shown.object(), in.get(), out.get(), n);
  compare(name, out.host());
}

// Coordinates around the texels of an axis of n: centres, edges, a little beside, far away.
std::vector<float> along(int n, bool normalized) {
  const float size = static_cast<float>(n);
  std::vector<float> all{0,
                         -0.0f,
                         0.25f,
                         0.5f,
                         0.75f,
                         1,
                         1.5f,
                         2,
                         size - 1,
                         size - 0.5f,
                         size,
                         size + 0.5f,
                         size + 1,
                         2.f * n,
                         2.f * n - 0.5f,
                         2.f * n + 0.25f,
                         3.f * n + 1.25f,
                         -0.25f,
                         -0.5f,
                         -1,
                         -1.5f,
                         -size,
                         -size - 0.5f,
                         -2.f * n - 0.75f,
                         1000.3f,
                         -1000.3f,
                         65536.5f,
                         -65536.5f,
                         1e6f,
                         -1e6f,
                         1.5e7f,
                         -1.5e7f,
                         3e9f,
                         -3e9f,
                         1e20f,
                         -1e20f,
                         INFINITY,
                         -INFINITY,
                         NAN,
                         1e-30f,
                         -1e-30f};
  for (int i = 0; i <= n; i += std::max(1, n / 8)) {
    for (int k = 2; k <= 24; ++k) {
      for (const int sign : {-1, 1}) all.push_back(i + sign * std::ldexp(1.f, -k));
    }
  }
  random_state = 77;
  for (int i = 0; i < 64; ++i) all.push_back((unit() * 3 - 1) * n);
  if (normalized) {
    for (float& each : all) each = each / n;
  }
  return all;
}
Points line(int n, bool normalized) {
  Points all;
  for (const float x : along(n, normalized)) all.push_back({{x, 0, 0, 0}, {}, {}});
  return all;
}
Points plane(int w, int h, bool normalized) {
  Points all = line(w, normalized);
  const auto y = along(h, normalized);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].at[1] = y[(i * 7 + 3) % y.size()];
  return all;
}
Points space(int w, int h, int d, bool normalized) {
  Points all = plane(w, h, normalized);
  const auto z = along(d, normalized);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].at[2] = z[(i * 5 + 1) % z.size()];
  return all;
}
Points with_layers(Points points) {
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i].at[3] = static_cast<float>(static_cast<int>(i % 8) - 2);
  return points;
}
// Inside, at multiples of 1/256 or anywhere.
Points inside(int w, int h, int d, int count, bool exact, bool normalized = false) {
  Points all;
  random_state = 4242;
  const int sizes[] = {w, h, d};
  for (int i = 0; i < count; ++i) {
    Point point{};
    for (int k = 0; k < 3; ++k) {
      if (sizes[k] == 0) continue;
      const float at = exact ? float(random_word() % (sizes[k] * 256)) / 256.f : unit() * sizes[k];
      point.at[k] = at * (normalized ? 1.f / sizes[k] : 1);
    }
    all.push_back(point);
  }
  return all;
}
Points directions(int count) {
  Points all;
  random_state = 99;
  for (int i = 0; i < count; ++i) {
    Point point{};
    float(&at)[4] = point.at;
    for (int k = 0; k < 3; ++k) at[k] = unit() * 2 - 1;
    if (i % 16 == 0) at[i / 16 % 3] = 0;
    if (i % 16 == 1) at[0] = at[1];
    if (i % 16 == 2) at[1] = -at[2];
    if (i % 16 == 3) at[0] = at[1] = at[2] = (i & 16) != 0 ? 1.f : -1.f;
    at[3] = static_cast<float>(i % 5) - 1;
    all.push_back(point);
  }
  return all;
}
Points of_levels() {
  Points all;
  random_state = 5;
  for (int i = 0; i < 512; ++i) {
    Point point{};
    for (int k = 0; k < 3; ++k) point.at[k] = unit();
    float level = i < 256 ? i / 32.f - 2 : unit() * 8 - 2;
    if (i % 16 == 5) level = std::round(level * 256) / 256 + 1 / 512.f;
    if (i == 500) level = NAN;
    if (i == 501) level = INFINITY;
    if (i == 502) level = -INFINITY;
    point.dx[0] = level;
    point.at[3] = static_cast<float>(i % 3);
    all.push_back(point);
  }
  return all;
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
  levels();
  return torture::finish();
}
