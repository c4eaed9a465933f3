// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects that a launch may use, with the arrays behind them. Objects are
// remembered as the program described them: a driver's own answer lacks the border's colour, for
// one.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/library/capture/capture.h"
#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/replacements.h"

namespace gmt::interposer::kernel_checks {

namespace {

struct Object {
  CUDA_RESOURCE_DESC resource{};
  bool is_surface = false, has_view = false;
  CUDA_TEXTURE_DESC description{};
  CUDA_RESOURCE_VIEW_DESC view{};
};

struct Objects {
  std::map<unsigned long long, Object> alive;          // by handle
  std::vector<std::pair<CUarray, std::size_t>> levels; // behind the arrays of the capture, with
                                                       // the number of the array
};
constinit Lasting<Objects> all_objects;

constinit DriverFunction<CUDA_ARRAY3D_DESCRIPTOR*, CUarray> array_description{
  "cuArray3DGetDescriptor_v2"};
constinit DriverFunction<CUarray*, CUmipmappedArray, unsigned> level_of{"cuMipmappedArrayGetLevel"};

void note_object(unsigned long long handle, const Object& object) noexcept {
  constexpr std::size_t kMost = 1 << 16;
  try {
    const Locked lock;
    if ((*all_objects).alive.size() < kMost) (*all_objects).alive[handle] = object;
  } catch (const std::exception&) { // of memory: the launch lacks the object then
    return;
  }
}

void forget_object(unsigned long long handle) noexcept {
  const Locked lock;
  (*all_objects).alive.erase(handle);
}

CUresult make_texture(CUtexObject* out, const CUDA_RESOURCE_DESC* resource,
                      const CUDA_TEXTURE_DESC* description,
                      const CUDA_RESOURCE_VIEW_DESC* view) noexcept {
  const int result =
    own<"cuTexObjectCreate", CUtexObject*, const CUDA_RESOURCE_DESC*, const CUDA_TEXTURE_DESC*,
        const CUDA_RESOURCE_VIEW_DESC*>(out, resource, description, view);
  if (result != CUDA_SUCCESS) return static_cast<CUresult>(result);
  Object made;
  made.resource = *resource;
  made.description = *description;
  made.has_view = view != nullptr;
  if (view != nullptr) made.view = *view;
  note_object(*out, made);
  return static_cast<CUresult>(result);
}
CUresult make_surface(CUsurfObject* out, const CUDA_RESOURCE_DESC* resource) noexcept {
  const int result =
    own<"cuSurfObjectCreate", CUsurfObject*, const CUDA_RESOURCE_DESC*>(out, resource);
  if (result != CUDA_SUCCESS) return static_cast<CUresult>(result);
  Object made;
  made.resource = *resource;
  made.is_surface = true;
  note_object(*out, made);
  return static_cast<CUresult>(result);
}
CUresult destroy_texture(CUtexObject handle) noexcept {
  forget_object(handle);
  return static_cast<CUresult>(own<"cuTexObjectDestroy", CUtexObject>(handle));
}
CUresult destroy_surface(CUsurfObject handle) noexcept {
  forget_object(handle);
  return static_cast<CUresult>(own<"cuSurfObjectDestroy", CUsurfObject>(handle));
}

// 0: of a format that is not captured.
std::size_t bytes_of_format(CUarray_format format) {
  switch (format) {
  case CU_AD_FORMAT_UNSIGNED_INT8:
  case CU_AD_FORMAT_SIGNED_INT8: return 1;
  case CU_AD_FORMAT_UNSIGNED_INT16:
  case CU_AD_FORMAT_SIGNED_INT16:
  case CU_AD_FORMAT_HALF: return 2;
  case CU_AD_FORMAT_UNSIGNED_INT32:
  case CU_AD_FORMAT_SIGNED_INT32:
  case CU_AD_FORMAT_FLOAT: return 4;
  default: return 0;
  }
}

// A copy of the whole level to `host`; `bytes` is what that takes, 0 if it cannot be.
CUDA_MEMCPY3D copy_of_level(CUarray level, std::size_t* bytes) {
  CUDA_MEMCPY3D copy{};
  CUDA_ARRAY3D_DESCRIPTOR is{};
  *bytes = 0;
  if (array_description(&is, level) != 0) return copy;
  const auto at_least_one = [](std::size_t n) { return std::max<std::size_t>(n, 1); };
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = level;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.WidthInBytes = is.Width * is.NumChannels * bytes_of_format(is.Format);
  copy.Height = at_least_one(is.Height);
  copy.Depth = at_least_one(is.Depth);
  copy.dstPitch = copy.WidthInBytes;
  copy.dstHeight = copy.Height;
  if ((is.Flags & CUDA_ARRAY3D_SPARSE) == 0) *bytes = copy.WidthInBytes * copy.Height * copy.Depth;
  return copy;
}

bool fetch_level(const OwnStream& stream, CUarray level, std::string* to) {
  std::size_t bytes = 0;
  CUDA_MEMCPY3D copy = copy_of_level(level, &bytes);
  if (bytes == 0 || bytes != to->size()) return false;
  copy.dstHost = to->data();
  return stream.fetch(copy);
}

template <class T> std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

class Collection {
public:
  Collection(std::uint64_t room, trace::CapturedTextures* to) : room_(room), to_(*to) {}

  void add(unsigned long long handle, const Object& object) {
    trace::CapturedTexture texture;
    texture.handle = handle;
    texture.is_surface = object.is_surface;
    if (describe(object, texture)) to_.textures.push_back(std::move(texture));
    else ++to_.left_out;
  }
  std::vector<std::pair<CUarray, std::size_t>> levels; // see Objects

private:
  bool describe(const Object& object, trace::CapturedTexture& texture) {
    const CUDA_RESOURCE_DESC& resource = object.resource;
    if (!object.is_surface) texture.description = bytes_of(object.description);
    if (object.has_view) texture.view = bytes_of(object.view);
    const bool is_array = resource.resType == CU_RESOURCE_TYPE_ARRAY,
               is_mipmapped = resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    if (is_array) texture.array = number_of(resource.res.array.hArray, false);
    if (is_mipmapped) texture.array = number_of(resource.res.mipmap.hMipmappedArray, true);
    texture.resource = bytes_of(resource);
    return (!is_array && !is_mipmapped) || texture.array != 0;
  }

  // From 1; 0: it cannot be captured.
  std::uint64_t number_of(const void* handle, bool is_mipmapped) {
    const auto [known, is_new] = numbers_.emplace(handle, 0);
    if (!is_new) return known->second;
    std::vector<CUarray> all;
    constexpr unsigned kMostLevels = 32;
    if (!is_mipmapped) all.push_back(static_cast<CUarray>(const_cast<void*>(handle))); // NOLINT
    for (unsigned i = 0; is_mipmapped && i < kMostLevels; ++i) {
      CUarray level = nullptr;
      const auto of = static_cast<CUmipmappedArray>(const_cast<void*>(handle)); // NOLINT
      if (level_of(&level, of, i) != 0) break;
      all.push_back(level);
    }
    trace::CapturedArray array;
    array.is_mipmapped = is_mipmapped;
    std::uint64_t sum = 0;
    for (const CUarray level : all) {
      std::size_t bytes = 0;
      copy_of_level(level, &bytes);
      sum += bytes;
      if (bytes == 0 || sum > room_) return 0;
      trace::CapturedLevel captured;
      captured.before.resize(bytes);
      if (!fetch_level(stream_, level, &captured.before)) return 0;
      array.levels.push_back(std::move(captured));
    }
    CUDA_ARRAY3D_DESCRIPTOR description{};
    if (all.empty() || array_description(&description, all.front()) != 0) return 0;
    array.description = bytes_of(description);
    room_ -= sum;
    to_.arrays.push_back(std::move(array));
    for (const CUarray level : all) levels.emplace_back(level, to_.arrays.size() - 1);
    return known->second = to_.arrays.size();
  }

  OwnStream stream_;
  std::uint64_t room_;
  trace::CapturedTextures& to_;
  std::map<const void*, std::uint64_t> numbers_;
};

} // namespace

void replace_objects() noexcept {
  replace("cuTexObjectCreate", reinterpret_cast<void*>(&make_texture));
  replace("cuSurfObjectCreate", reinterpret_cast<void*>(&make_surface));
  replace("cuTexObjectDestroy", reinterpret_cast<void*>(&destroy_texture));
  replace("cuSurfObjectDestroy", reinterpret_cast<void*>(&destroy_surface));
}

void abandon_objects() noexcept { all_objects.begin_anew(); }

void capture_textures(std::uint64_t limit, trace::Capture* capture) {
  const OwnCopies own_copies;
  std::map<unsigned long long, Object> alive;
  {
    const Locked lock;
    alive = (*all_objects).alive;
  }
  std::uint64_t used = 0;
  for (const trace::CapturedBlock& block : capture->blocks) used += block.before.size();
  Collection all(limit - std::min(limit, used), &capture->textures);
  for (const auto& [handle, object] : alive) all.add(handle, object);
  const Locked lock;
  (*all_objects).levels = std::move(all.levels);
}

void capture_arrays(trace::Capture* capture) {
  const OwnCopies own_copies;
  const OwnStream stream;
  std::vector<std::pair<CUarray, std::size_t>> levels;
  {
    const Locked lock;
    levels = (*all_objects).levels;
  }
  std::map<std::size_t, std::size_t> next; // of each array
  for (const auto& [handle, number] : levels) {
    trace::CapturedLevel& level = capture->textures.arrays[number].levels[next[number]++];
    std::string after(level.before.size(), '\0');
    level.has_after = fetch_level(stream, handle, &after);
    if (level.has_after && after != level.before) level.after = std::move(after);
  }
}

} // namespace gmt::interposer::kernel_checks
