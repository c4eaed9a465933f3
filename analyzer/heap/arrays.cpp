// SPDX-License-Identifier: Apache-2.0

#include "analyzer/heap/arrays.h"
#include "trace/object_class.h"

#include <algorithm>
#include <optional>

namespace gmt {
namespace {

// CUDA_ARRAY3D_LAYERED, CUDA_ARRAY3D_CUBEMAP of cuda.h
constexpr std::uint64_t kLayered = 0x1, kCubemap = 0x4;

// No array is larger; damaged records are, and their products would overflow.
constexpr std::uint64_t kMostArrayBytes = std::uint64_t{1} << 48;

std::uint64_t shrunk(std::uint64_t extent, std::uint64_t level) {
  return std::max<std::uint64_t>(level < 64 ? extent >> level : 0, 1);
}

// Sets the extents of one level; layers do not shrink.
void measure(ArrayPart& part, const BlockDetail& shape, std::uint64_t level) {
  const bool layered = (shape.flags & (kLayered | kCubemap)) != 0;
  part.width = shrunk(shape.width / shape.element, level) * shape.element;
  part.height = shrunk(shape.height, level);
  part.depth = shrunk(shape.depth, layered ? 0 : level);
}

bool is_sane(const BlockDetail& shape) {
  std::uint64_t bytes = shape.width;
  for (const std::uint64_t rows : {shape.height, shape.depth}) {
    if (__builtin_mul_overflow(bytes, std::max<std::uint64_t>(rows, 1), &bytes)) return false;
  }
  return shape.element != 0 && shape.width >= shape.element && bytes < kMostArrayBytes;
}

bool ends_past(std::uint64_t begin, std::uint64_t count, std::uint64_t end) {
  return begin > end || count > end - begin;
}

std::uint64_t inside(std::uint64_t begin, std::uint64_t count, std::uint64_t end) {
  return begin < end ? std::min(count, end - begin) : 0;
}

// Some calls name a run of bytes that goes on from row to row (cudaMemcpyToArray, cuMemcpyHtoA):
// whether those of one row do is not known of the runtime's own records, nor of calls that CUDA
// accepted.
bool is_past(const Event& copy, const Box& box, const ArrayPart& part) {
  const bool one_row = box.height == 1 && box.depth == 1 && part.height * part.depth > 1;
  const bool may_run_on = one_row && (copy.from_runtime || copy.succeeded());
  if (ends_past(box.y, box.height, part.height) || ends_past(box.z, box.depth, part.depth))
    return true;
  if (!may_run_on) return ends_past(box.x, box.width, part.width);
  const std::uint64_t rows_left = (part.depth - box.z) * part.height - box.y;
  return ends_past(box.x, box.width, rows_left * part.width);
}

} // namespace

void Arrays::on_life(const Event& e) {
  const event::Life& life = e.life();
  if (life.object != trace::ObjectClass::kArrayView || life.op != trace::LifeOp::kCreate) return;
  views_[life.handle] = {life.parent(), life.level(), life.has_value};
}

Arrays::Id Arrays::find(std::uint64_t handle) const {
  if (!store_.has_live(Space::kArray) && !store_.has_live(Space::kMipmappedArray))
    return BlockStore::kNone; // most programs have none
  const auto view = views_.find(handle);
  for (const std::uint64_t candidate :
       {handle, view != views_.end() ? view->second.array : handle}) {
    for (const Space space : {Space::kArray, Space::kMipmappedArray}) {
      if (const Id id = store_.find_exact(space, candidate); id != BlockStore::kNone) return id;
    }
  }
  return BlockStore::kNone;
}

const Block* Arrays::find_dead(std::uint64_t handle) const {
  const auto view = views_.find(handle);
  const std::uint64_t base = view != views_.end() ? view->second.array : handle;
  const Block* dead = store_.find_dead(Space::kArray, base);
  return dead != nullptr ? dead : store_.find_dead(Space::kMipmappedArray, base);
}

ArrayPart Arrays::part(std::uint64_t handle) const {
  const Id id = find(handle);
  if (id == BlockStore::kNone) return {};
  ArrayPart part{.block = &store_[id]};
  const BlockDetail& shape = part.block->shape();
  const bool mipmapped = part.block->memory_kind == trace::MemoryKind::kMipmappedArray;
  const auto view = views_.find(handle);
  const bool is_view = part.block->address != handle && view != views_.end();
  if (is_view) part.level = view->second.level;
  // A plane is not shaped like the array; a mipmapped array is copied by its levels alone.
  if (!is_sane(shape) || is_view != mipmapped || (is_view && !view->second.has_level)) return part;
  constexpr std::uint64_t kMostLevels = 32;
  for (std::uint64_t level = 0; level <= std::min(part.level, kMostLevels); ++level) {
    part.offset += level == 0 ? 0 : part.width * part.height * part.depth;
    measure(part, shape, level);
  }
  return part;
}

void Arrays::check_side(const Event& copy, Side side, CallVerdicts& verdicts) const {
  const std::uint64_t handle = address_of(copy, side), bytes = copy.copy().bytes;
  if (contexts_.is_dead(copy.context) || is_sticky(copy.result)) return;
  const std::optional<Box> box = box_of(copy, side);
  if (!box || (bytes == 0 && !copy.from_runtime)) return;
  const ArrayPart part = this->part(handle);
  if (part.width == 0 || !is_past(copy, *box, part)) return;
  const std::uint64_t fitting = inside(box->x, box->width, part.width) *
                                inside(box->y, box->height, part.height) *
                                inside(box->z, box->depth, part.depth);
  verdicts.add({.kind = Verdict::Kind::kOutOfBounds,
                .side = side,
                .block = part.block,
                .bytes_past = bytes > fitting ? bytes - fitting : 0,
                .range_begin = handle,
                .range_bytes = bytes});
}

bool Arrays::check_freed(const Event& e, std::uint64_t handle, std::uint64_t bytes, Side side,
                         CallVerdicts& verdicts) const {
  if (handle == 0 || e.succeeded() || contexts_.is_dead(e.context) || is_sticky(e.result))
    return false;
  const Block* dead = find_dead(handle);
  if (dead == nullptr) return false;
  verdicts.add({.kind = Verdict::Kind::kUseAfterFree,
                .side = side,
                .block = dead,
                .range_begin = handle,
                .range_bytes = bytes});
  return true;
}

} // namespace gmt
