// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/textures/surfaces.h"

#include "simulated_cuda/executor/machine/report_sink.h"
#include "simulated_cuda/executor/machine/textures/texels.h"
#include "simulated_cuda/executor/machine/workers/worker.h"
#include "simulated_cuda/executor/program/texture_form.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

namespace gmt::executor {
namespace {

using namespace texture_form;

constexpr std::uint32_t kOutside = 700;

void report(Warp& w, const Instruction* in, std::uint32_t lane, std::uint32_t bytes, Access access,
            const std::string& what) {
  AccessFacts facts = facts_of(w, in, lane);
  facts.bytes = bytes;
  facts.access = access;
  w.worker->checks->outside_texture(facts, kOutside, what);
}

std::string outside_in_words(std::size_t d, std::int64_t at, std::int64_t size) {
  static constexpr const char* kWords[] = {"the byte ", "row ", "slice "};
  static constexpr const char* kOf[] = {" of a row of ", " of a surface of ", " of a surface of "};
  static constexpr const char* kUnits[] = {" bytes", " rows", " slices or layers"};
  return kWords[d] + std::to_string(at) + kOf[d] + std::to_string(size) + kUnits[d];
}

std::uint32_t half_of(std::uint32_t bits) {
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  const float value = std::fabs(as_float(bits));
  if (std::isnan(value)) return 0x7fff;
  if (std::isinf(value)) return sign | 0x7c00u;
  if (value >= 65504) return sign | 0x7bffu;
  if (value < 0x1p-14f) return sign | static_cast<std::uint32_t>(std::trunc(value * 0x1p24f));
  return sign | (((bits & 0x7fffffffu) - (112u << 23)) >> 13);
}

std::uint32_t narrowed(const Texture& t, std::uint32_t value) {
  if (t.channel_bytes == 4) return value;
  if (t.kind == TexelKind::kFloat) return half_of(value);
  const std::uint32_t wide = 8u * t.channel_bytes;
  if (t.kind == TexelKind::kUnsigned) return std::min(value, (1u << wide) - 1);
  const std::int32_t most = (1 << (wide - 1)) - 1;
  return static_cast<std::uint32_t>(std::clamp(static_cast<std::int32_t>(value), -most - 1, most));
}

template <class T, class F>
void update(std::byte* at, T value, F next) {
  auto* const to = reinterpret_cast<T*>(at);
  T old = __atomic_load_n(to, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(to, &old, next(old, value), true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
}

template <class T>
void reduce(std::byte* at, std::string_view operation, T value) {
  if (operation == "add") update(at, value, [](T a, T b) { return static_cast<T>(a + b); });
  else if (operation == "min") update(at, value, [](T a, T b) { return std::min(a, b); });
  else if (operation == "max") update(at, value, [](T a, T b) { return std::max(a, b); });
  else if (operation == "and") update(at, value, [](T a, T b) { return static_cast<T>(a & b); });
  else update(at, value, [](T a, T b) { return static_cast<T>(a | b); });
}

} // namespace

std::byte* surface_bytes(Warp& w, const Instruction* in, std::uint32_t lane, const Texture& t,
                         const SurfacePoint& point, std::uint32_t bytes, Access access) {
  const auto form = static_cast<std::uint32_t>(in->immediate);
  const TexelRows& rows = t.levels.front();
  std::int64_t at[3] = {point.at[0], point.at[1], point.at[2]};
  if ((form & kFormatted) != 0) at[0] *= t.texel_bytes();
  const std::int64_t sizes[] = {std::int64_t{rows.width} * t.texel_bytes(), rows.height,
                                rows.depth};
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t last = sizes[d] - (d == 0 ? std::int64_t{bytes} : 1);
    if (at[d] >= 0 && at[d] <= last) continue;
    if (mode(form) == kClamp && last >= 0) {
      const bool is_layer = d == 2 && (t.is_layered || t.is_cube); // of them the last is meant
      at[d] = is_layer ? last : std::clamp<std::int64_t>(at[d], 0, last);
      continue;
    }
    if (mode(form) == kTrap)
      report(w, in, lane, bytes, access, outside_in_words(d, at[d], sizes[d]));
    return nullptr;
  }
  return rows.host + at[0] + at[1] * static_cast<std::int64_t>(rows.pitch) +
         at[2] * static_cast<std::int64_t>(rows.slice);
}

// Integers are cut to what the channel holds; floats lose bits toward 0.
void store_formatted(const Texture& t, std::byte* to, const std::uint32_t* values,
                     std::uint32_t count) {
  for (std::uint32_t c = 0; c < t.channels; ++c) {
    const std::uint32_t value = narrowed(t, c < count ? values[c] : 0);
    std::memcpy(to + std::size_t{c} * t.channel_bytes, &value, t.channel_bytes);
  }
}

void reduce_surface(std::byte* at, std::uint32_t operation, std::uint64_t value) {
  const std::string_view all = kOperations[operation];
  const std::string_view name = all.substr(0, all.find('.')), type = all.substr(all.find('.') + 1);
  if (type == "u64") return reduce(at, name, value);
  if (type == "s64") return reduce(at, name, static_cast<std::int64_t>(value));
  if (type == "s32") return reduce(at, name, static_cast<std::int32_t>(value));
  reduce(at, name, static_cast<std::uint32_t>(value));
}

} // namespace gmt::executor
