// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces: what a lane's registers say. machine/textures/ does the rest.
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/device_bytes.h"
#include "simulated_cuda/executor/machine/handlers/groups.h"
#include "simulated_cuda/executor/machine/handlers/lanes.h"
#include "simulated_cuda/executor/machine/textures/objects.h"
#include "simulated_cuda/executor/machine/textures/sampling.h"
#include "simulated_cuda/executor/machine/textures/surfaces.h"
#include "simulated_cuda/executor/program/texture_form.h"

namespace gmt::executor {
namespace {

using namespace texture_form;

// The words of one lane, slot after slot.
class Slots {
public:
  Slots(Warp& w, u32 first, u32 lane) : w_(w), next_(first), lane_(lane) {}
  u32 take() {
    const u32 value = at<const u32>(w_, next_)[lane_];
    next_ += kSlotBytes;
    return value;
  }
  float take_float() { return as_float(take()); }
  s32 take_integer() { return static_cast<s32>(take()); }

private:
  Warp& w_;
  u32 next_, lane_;
};

SamplePoint point_of(Slots slots, u32 form) {
  SamplePoint point;
  const u32 count = dimensions(form);
  point.dimensions = count;
  point.is_cube = (form & kCube) != 0;
  point.is_texel = (form & kIntegers) != 0;
  point.gathers = (form & kGather) != 0;
  point.component = form >> kComponentShift & 3;
  if ((form & kLayered) != 0) point.layer = slots.take();
  for (u32 d = 0; d < count; ++d) {
    if (point.is_texel) point.texel[d] = slots.take_integer();
    else point.at[d] = slots.take_float();
  }
  point.has_level = (form & kLevel) != 0;
  point.has_gradient = (form & kGradient) != 0;
  if (point.has_level)
    point.level = point.is_texel ? static_cast<float>(slots.take_integer()) : slots.take_float();
  for (u32 d = 0; d < count && point.has_gradient; ++d) point.dx[d] = slots.take_float();
  for (u32 d = 0; d < count && point.has_gradient; ++d) point.dy[d] = slots.take_float();
  for (u32 d = 0; d < count && (form & kOffsets) != 0; ++d) point.offset[d] = slots.take_integer();
  // That of the only row follows
  if (count == 1) point.offset[1] = point.offset[0];
  return point;
}

// Operands: four results, the object, the first of the coordinates.
Next texture(Warp& w, Next in) {
  const auto form = static_cast<u32>(in->immediate);
  const u64* objects = at<const u64>(w, in->r[4]);
  u32 values[4][kLanes]; // a coordinate's register may be a result's
  for_lanes(w.mask, [&](u32 l) {
    const Texture* found = find_texture(w, in, l, objects[l]);
    const Texel texel =
      found == nullptr ? Texel() : sample(w, in, l, *found, point_of({w, in->r[5], l}, form));
    for (u32 i = 0; i < 4; ++i) values[i][l] = texel.word[i];
  });
  for (u32 i = 0; i < 4; ++i)
    for_lanes(w.mask, [&](u32 l) { at<u32>(w, in->r[i])[l] = values[i][l]; });
  return in + 1;
}

SurfacePoint surface_point(Slots slots, u32 form) {
  SurfacePoint point;
  const bool layered = (form & kLayered) != 0;
  if (layered) point.at[2] = slots.take_integer();
  for (u32 d = 0; d < dimensions(form); ++d) point.at[d] = slots.take_integer();
  return point;
}

// Calls access(lane, the surface, its bytes or null) of each lane. Operands: four values, the
// object, the first of the coordinates.
template <class F>
Next each_surface(Warp& w, Next in, Access access, const F& use) {
  const auto form = static_cast<u32>(in->immediate);
  const u64* objects = at<const u64>(w, in->r[4]);
  const u32 bytes = form >> kBytesShift & 0xf, count = form >> kCountShift & 7;
  for_lanes(w.mask, [&](u32 l) {
    const Texture* found = find_surface(w, in, l, objects[l]);
    const bool is_texel = found != nullptr && (form & kFormatted) != 0 && access == Access::kStore;
    const u32 whole = is_texel ? found->texel_bytes() : bytes * count;
    std::byte* host =
      found == nullptr
        ? nullptr
        : surface_bytes(w, in, l, *found, surface_point({w, in->r[5], l}, form), whole, access);
    use(l, found, host, bytes, count);
  });
  return in + 1;
}

Next surface_load(Warp& w, Next in) {
  return each_surface(w, in, Access::kLoad,
                      [&](u32 l, const Texture*, const std::byte* host, u32 bytes, u32 count) {
                        for (u32 i = 0; i < count; ++i) {
                          std::byte value[8] = {};
                          if (host != nullptr) load_device(value, host + i * bytes, bytes);
                          std::memcpy(at<std::byte>(w, in->r[i]) + l * bytes, value, bytes);
                        }
                      });
}

Next surface_store(Warp& w, Next in) {
  return each_surface(
    w, in, Access::kStore, [&](u32 l, const Texture* found, std::byte* host, u32 bytes, u32 count) {
      if (host == nullptr) return;
      std::byte values[4][8] = {};
      for (u32 i = 0; i < count; ++i)
        std::memcpy(values[i], at<const std::byte>(w, in->r[i]) + l * bytes, bytes);
      if ((static_cast<u32>(in->immediate) & kFormatted) != 0) {
        u32 words[4] = {};
        for (u32 i = 0; i < count; ++i) std::memcpy(&words[i], values[i], sizeof words[i]);
        return store_formatted(*found, host, words, count);
      }
      for (u32 i = 0; i < count; ++i) store_device(host + i * bytes, values[i], bytes);
    });
}

Next surface_reduce(Warp& w, Next in) {
  const u32 operation = static_cast<u32>(in->immediate) >> kOperationShift & 0x1f;
  return each_surface(w, in, Access::kReduction,
                      [&](u32 l, const Texture*, std::byte* host, u32 bytes, u32) {
                        u64 value = 0;
                        std::memcpy(&value, at<const std::byte>(w, in->r[0]) + l * bytes, bytes);
                        if (host != nullptr) reduce_surface(host, operation, value);
                      });
}

} // namespace

void GMT_GROUP(textures)(FormTable& table) {
  table.add("tex", texture);
  table.add("suld", surface_load);
  table.add("sust", surface_store);
  table.add("sured", surface_reduce);
}

} // namespace gmt::executor
