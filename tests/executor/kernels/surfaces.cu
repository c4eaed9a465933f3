// SPDX-License-Identifier: Apache-2.0
// What surfaces give at 128 points each, and what stores and reductions leave in them: in both
// modes for what lies outside. The words of each scene are joined to one number, which
// surfaces.h100 has as an H100 gave it.
#include "pictures.h"

#include <map>
#include <string>

namespace {

const std::map<std::string, std::uint64_t> kRecorded = {
#define RECORDED(name, hash) {name, hash##ull},
#include "surfaces.h100"
#undef RECORDED
};

void compare(const std::string& scene, const std::vector<uint4>& words) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const uint4& each : words) {
    for (const unsigned word : {each.x, each.y, each.z, each.w})
      hash = (hash ^ word) * 0x100000001b3ull;
  }
  const auto known = kRecorded.find(scene);
  torture::report(scene.c_str(), known != kRecorded.end() && known->second == hash);
}

enum class Op {
  kLoad1D,
  kLoad2D,
  kLoad3D,
  kLoadLayer1D,
  kLoadLayer2D,
  kLoadByte,
  kLoadBytes,
  kLoadHalves,
  kLoad64,
  kLoadWords,
  kStore,
  kStoreLayer,
  kStorePixel,
  kStoreChannel,
  kAdd,
  kMin,
  kMaxS32,
  kMaxU32,
  kAnd,
  kOr,
  kAdd64,
  kAddPixel
};

// x, y, z and the layer
#define TO "memory"
#define IN_2D "l"(s), "r"(c.x), "r"(c.y)
#define ALL(mode)                                                                                  \
  switch (op) {                                                                                    \
  case Op::kLoad1D:                                                                                \
    asm volatile("suld.b.1d.b32." mode " %0, [%1, {%2}];" : "=r"(r.x) : "l"(s), "r"(c.x) : TO);    \
    break;                                                                                         \
  case Op::kLoad2D:                                                                                \
    asm volatile("suld.b.2d.b32." mode " %0, [%1, {%2, %3}];" : "=r"(r.x) : IN_2D : TO);           \
    break;                                                                                         \
  case Op::kLoad3D:                                                                                \
    asm volatile("suld.b.3d.b32." mode " %0, [%1, {%2, %3, %4, %4}];"                              \
                 : "=r"(r.x)                                                                       \
                 : IN_2D, "r"(c.z)                                                                 \
                 : TO);                                                                            \
    break;                                                                                         \
  case Op::kLoadLayer1D:                                                                           \
    asm volatile("suld.b.a1d.b32." mode " %0, [%1, {%3, %2}];"                                     \
                 : "=r"(r.x)                                                                       \
                 : "l"(s), "r"(c.x), "r"(c.w)                                                      \
                 : TO);                                                                            \
    break;                                                                                         \
  case Op::kLoadLayer2D:                                                                           \
    asm volatile("suld.b.a2d.b32." mode " %0, [%1, {%4, %2, %3, %3}];"                             \
                 : "=r"(r.x)                                                                       \
                 : IN_2D, "r"(c.w)                                                                 \
                 : TO);                                                                            \
    break;                                                                                         \
  case Op::kLoadByte:                                                                              \
    asm volatile("suld.b.2d.b8." mode " %0, [%1, {%2, %3}];" : "=h"(h[0]) : IN_2D : TO);           \
    r.x = h[0];                                                                                    \
    break;                                                                                         \
  case Op::kLoadBytes:                                                                             \
    asm volatile("suld.b.2d.v4.b8." mode " {%0, %1, %2, %3}, [%4, {%5, %6}];"                      \
                 : "=h"(h[0]), "=h"(h[1]), "=h"(h[2]), "=h"(h[3])                                  \
                 : IN_2D                                                                           \
                 : TO);                                                                            \
    r = make_uint4(h[0], h[1], h[2], h[3]);                                                        \
    break;                                                                                         \
  case Op::kLoadHalves:                                                                            \
    asm volatile("suld.b.2d.v2.b16." mode " {%0, %1}, [%2, {%3, %4}];"                             \
                 : "=h"(h[0]), "=h"(h[1])                                                          \
                 : IN_2D                                                                           \
                 : TO);                                                                            \
    r.x = h[0];                                                                                    \
    r.y = h[1];                                                                                    \
    break;                                                                                         \
  case Op::kLoad64:                                                                                \
    asm volatile("suld.b.2d.b64." mode " %0, [%1, {%2, %3}];" : "=l"(wide) : IN_2D : TO);          \
    r.x = static_cast<unsigned>(wide);                                                             \
    r.y = static_cast<unsigned>(wide >> 32);                                                       \
    break;                                                                                         \
  case Op::kLoadWords:                                                                             \
    asm volatile("suld.b.2d.v4.b32." mode " {%0, %1, %2, %3}, [%4, {%5, %6}];"                     \
                 : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w)                                      \
                 : IN_2D                                                                           \
                 : TO);                                                                            \
    break;                                                                                         \
  case Op::kStore:                                                                                 \
    asm volatile("sust.b.2d.b32." mode " [%0, {%1, %2}], %3;" ::IN_2D, "r"(i + 1000) : TO);        \
    break;                                                                                         \
  case Op::kStoreLayer:                                                                            \
    asm volatile("sust.b.a1d.b32." mode " [%0, {%3, %1}], %2;" ::"l"(s), "r"(c.x), "r"(i + 1000),  \
                 "r"(c.w)                                                                          \
                 : TO);                                                                            \
    break;                                                                                         \
  case Op::kStorePixel:                                                                            \
    asm volatile("sust.p.2d.v4.b32." mode " [%0, {%1, %2}], {%3, %4, %5, %6};" ::IN_2D,            \
                 "r"(i * 1234567), "r"(__float_as_uint(i * 0.031f - 1)), "r"(i),                   \
                 "r"(__float_as_uint(i * 0.01f))                                                   \
                 : TO);                                                                            \
    break;                                                                                         \
  case Op::kStoreChannel:                                                                          \
    asm volatile("sust.p.2d.b32." mode " [%0, {%1, %2}], %3;" ::IN_2D,                             \
                 "r"(__float_as_uint(i * 0.017f - 1))                                              \
                 : TO);                                                                            \
    break;                                                                                         \
  case Op::kAdd: REDUCE("b.2d.add.u32." mode, "r"(i + 1000)); break;                               \
  case Op::kAddPixel: REDUCE("p.2d.add.b32." mode, "r"(i + 1000)); break;                          \
  case Op::kMin: REDUCE("b.2d.min.s32." mode, "r"(i * 12345678)); break;                           \
  case Op::kMaxS32: REDUCE("b.2d.max.s32." mode, "r"(i * 12345678)); break;                        \
  case Op::kMaxU32: REDUCE("b.2d.max.u32." mode, "r"(i * 12345678)); break;                        \
  case Op::kAnd: REDUCE("b.2d.and.b32." mode, "r"(~(1 << (i % 32)))); break;                       \
  case Op::kOr: REDUCE("b.2d.or.b32." mode, "r"(1 << (i % 32))); break;                            \
  case Op::kAdd64:                                                                                 \
    REDUCE("b.2d.add.u64." mode, "l"(static_cast<unsigned long long>(i) << 30));                   \
    break;                                                                                         \
  }
#define REDUCE(form, value) asm volatile("sured." form " [%0, {%1, %2}], %3;" ::IN_2D, value : TO)

__global__ void use_all(Op op, bool clamps, unsigned long long s, const int4* points, uint4* out,
                        int n) {
  const int i = global_index();
  if (i >= n) return;
  const int4 c = points[i];
  uint4 r = make_uint4(0xaaaaaaaa, 0, 0, 0);
  unsigned short h[4];
  unsigned long long wide;
  if (clamps) {
    ALL("clamp")
  } else {
    ALL("zero")
  }
  out[i] = r;
}

// 128 points, of which some lie outside. A step is what coordinates count by: bytes of a texel, or
// texels.
std::vector<int4> some(int step, int w, int h, int d, int layers) {
  std::vector<int4> points;
  random_state = 31;
  const auto around = [](int size, int more, int less) {
    return static_cast<int>(random_word() % static_cast<unsigned>(size + more)) - less;
  };
  for (int i = 0; i < 128; ++i) {
    int4 c{};
    c.x = around(w, 8, 4) * step;
    if (h != 0) c.y = around(h, 6, 3);
    if (d != 0) c.z = around(d, 6, 3);
    if (layers != 0) c.w = around(layers, 4, 2);
    points.push_back(c);
  }
  points[5].x = 2000000000;
  points[6].x = -2000000000;
  points[7].y = 2000000000;
  return points;
}
std::vector<int4> each_once(int step, int w, int h) {
  std::vector<int4> points;
  for (int y = 0; y < h; ++y) {
    for (int x = 0; x < w; ++x) points.push_back(make_int4(x * step, y, 0, 0));
  }
  return points;
}

class Surface {
public:
  explicit Surface(const Picture& p) : picture_(p), bytes_(p.bytes(p.w, p.h, p.d, 0)) {
    const auto channels = channels_of(p.format, p.channels);
    unsigned flags = cudaArraySurfaceLoadStore;
    if (p.kind == Kind::kLayers) flags |= cudaArrayLayered;
    if (p.kind == Kind::kCube) flags |= cudaArrayCubemap;
    OK(cudaMalloc3DArray(&array_, &channels, make_cudaExtent(p.w, p.h, p.d), flags));
    cudaMemcpy3DParms copy = between();
    std::swap(copy.srcArray, copy.dstArray);
    std::swap(copy.srcPtr, copy.dstPtr);
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    cudaResourceDesc from{};
    from.resType = cudaResourceTypeArray;
    from.res.array.array = array_;
    OK(cudaCreateSurfaceObject(&object_, &from));
  }
  ~Surface() {
    cudaDestroySurfaceObject(object_);
    cudaFreeArray(array_);
  }
  Surface(const Surface&) = delete;
  Surface& operator=(const Surface&) = delete;
  cudaSurfaceObject_t object() const { return object_; }
  std::vector<uint4> texels() {
    const cudaMemcpy3DParms copy = between();
    OK(cudaMemcpy3D(&copy));
    std::vector<uint4> words((bytes_.size() + 15) / 16);
    std::memcpy(words.data(), bytes_.data(), bytes_.size());
    return words;
  }

private:
  cudaMemcpy3DParms between() { // to the host
    const Picture& p = picture_;
    const int h = std::max(p.h, 1);
    cudaMemcpy3DParms copy{};
    copy.srcArray = array_;
    copy.dstPtr = make_cudaPitchedPtr(bytes_.data(), std::size_t(p.w) * p.texel(), p.w, h);
    copy.extent = make_cudaExtent(p.w, h, std::max(p.d, 1));
    copy.kind = cudaMemcpyDeviceToHost;
    return copy;
  }

  const Picture picture_;
  std::vector<unsigned char> bytes_;
  cudaArray_t array_ = nullptr;
  cudaSurfaceObject_t object_ = 0;
};

void scene(const std::string& name, const Picture& p, Op op, bool clamps,
           const std::vector<int4>& points) {
  random_state = 0x123456789abcdefull;
  Surface surface(p);
  const torture::Array<int4> in(points);
  const torture::Array<uint4> out(points.size());
  const int n = static_cast<int>(points.size());
  use_all<<<(n + 63) / 64, 64>>>(op, clamps, surface.object(), in.get(), out.get(), n);
  const std::vector<uint4> words = out.host();
  compare(name + (clamps ? ".clamp" : ".zero"), op < Op::kStore ? words : surface.texels());
}

Picture of(Kind kind, int w, int h, int d, Format format = U32, int channels = 1,
           Content content = Content::kNumber) {
  Picture p;
  p.kind = kind;
  p.w = w;
  p.h = h;
  p.d = d;
  p.format = format;
  p.channels = channels;
  p.content = content;
  return p;
}

void loads(bool clamps) {
  const Kind plain = Kind::kArray;
  scene("1d", of(plain, 16, 0, 0), Op::kLoad1D, clamps, some(4, 16, 0, 0, 0));
  scene("2d", of(plain, 16, 11, 0), Op::kLoad2D, clamps, some(4, 16, 11, 0, 0));
  scene("3d", of(plain, 16, 6, 5), Op::kLoad3D, clamps, some(4, 16, 6, 5, 0));
  scene("a1d", of(Kind::kLayers, 16, 0, 4), Op::kLoadLayer1D, clamps, some(4, 16, 0, 0, 4));
  scene("a2d", of(Kind::kLayers, 16, 11, 4), Op::kLoadLayer2D, clamps, some(4, 16, 11, 0, 4));
  scene("cube", of(Kind::kCube, 8, 8, 6), Op::kLoadLayer2D, clamps, some(4, 8, 8, 0, 6));
  const Content bits = Content::kBits;
  scene("2d.u8x4", of(plain, 16, 11, 0, U8, 4, bits), Op::kLoadBytes, clamps,
        some(4, 16, 11, 0, 0));
  scene("2d.u8", of(plain, 16, 11, 0, U8, 1, bits), Op::kLoadByte, clamps, some(1, 16, 11, 0, 0));
  scene("2d.u16x2", of(plain, 16, 11, 0, U16, 2, bits), Op::kLoadHalves, clamps,
        some(4, 16, 11, 0, 0));
  scene("2d.b64", of(plain, 16, 11, 0, U32, 2), Op::kLoad64, clamps, some(8, 16, 11, 0, 0));
  scene("2d.v4", of(plain, 16, 11, 0, F32, 4), Op::kLoadWords, clamps, some(16, 16, 11, 0, 0));
  scene("2d.of-wider", of(plain, 16, 11, 0, F32, 4), Op::kLoad2D, clamps, some(4, 64, 11, 0, 0));
  scene("2d.of-narrower", of(plain, 16, 11, 0, U8, 1, bits), Op::kLoad2D, clamps,
        some(4, 4, 11, 0, 0));
}

void changes(bool clamps) {
  const Kind plain = Kind::kArray;
  const Picture numbers = of(plain, 16, 11, 0);
  // Each point once: else it would get the value of any of its threads
  if (clamps) scene("store.2d", numbers, Op::kStore, clamps, each_once(4, 16, 11));
  scene("store.a1d", of(Kind::kLayers, 16, 0, 4), Op::kStoreLayer, clamps, each_once(4, 16, 1));
  scene("add", numbers, Op::kAdd, clamps, some(4, 16, 11, 0, 0));
  const struct {
    const char* name;
    Op op;
    Format format;
  } kinds[] = {{"min", Op::kMin, S32},
               {"max.s32", Op::kMaxS32, S32},
               {"max.u32", Op::kMaxU32, U32},
               {"and", Op::kAnd, U32},
               {"or", Op::kOr, U32}};
  for (const auto& kind : kinds)
    scene(kind.name, of(plain, 16, 11, 0, kind.format, 1, Content::kBits), kind.op, clamps,
          some(4, 16, 11, 0, 0));
  scene("add.u64", of(plain, 16, 11, 0, U32, 2), Op::kAdd64, clamps, some(8, 16, 11, 0, 0));
  scene("add.p", numbers, Op::kAddPixel, clamps, some(1, 16, 11, 0, 0));
  for (const Format f : {F32, F16, U8, S8, U16, S16, U32, S32}) {
    for (const int n : {1, 4})
      scene("storep." + std::to_string(n) + "." + std::to_string(f), of(plain, 16, 11, 0, f, n),
            n == 4 ? Op::kStorePixel : Op::kStoreChannel, clamps, each_once(1, 16, 11));
  }
}

} // namespace

int main() {
  for (const bool clamps : {false, true}) {
    loads(clamps);
    changes(clamps);
  }
  return torture::finish();
}
