// SPDX-License-Identifier: Apache-2.0
// pitch-misaligned: memory used as rows (2D and 3D copies and sets, textures) whose distance puts
// row starts off the 32-byte sectors or 128-byte lines that a GPU reads memory in. Device side
// only: the host's rows may lie anywhere. Uses are added up by allocation and call stack and
// reported at the end, refused textures at once.
//
// What a full-row read costs. A warp reads 128 bytes at a time (32 threads of 4 bytes; wider
// elements are split into such requests), and each request takes every sector that it accesses. A
// row of w bytes at address a thus takes, over its requests [a + 128k, min(a + 128k + 128, a + w)),
//     sectors(a, w) = sum of floor((end - 1) / 32) - floor(begin / 32) + 1
// and sectors(a, w) - sectors(0, w) are extra. This is what profilers count as sectors above the
// ideal. It depends on a mod 32 only, and the starts of rows repeat with a period of at most 128
// rows: it is exact.

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <unordered_map>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {
namespace {

using Side = Verdict::Side;

constexpr std::uint64_t kSector = 32, kLine = 128;
constexpr std::uint64_t kRequest = 128; // bytes that a warp reads at a time

// A row inside one sector is no row worth aligning: at worst it takes two sectors, and padding it
// to a pitch would waste more than that.
constexpr std::uint64_t kSmallestRow = kSector;

struct Cost {
  std::uint64_t rows = 0;
  std::uint64_t off_sector = 0, off_line = 0;   // rows that start there
  std::uint64_t extra_sectors = 0, sectors = 0; // the latter if all rows were aligned

  Cost& operator+=(const Cost& other) {
    rows += other.rows;
    off_sector += other.off_sector;
    off_line += other.off_line;
    extra_sectors += other.extra_sectors;
    sectors += other.sectors;
    return *this;
  }
  Cost times(std::uint64_t n) const {
    return {rows * n, off_sector * n, off_line * n, extra_sectors * n, sectors * n};
  }
};

constexpr std::uint64_t sectors_between(std::uint64_t begin, std::uint64_t end) {
  return begin == end ? 0 : (end - 1) / kSector - begin / kSector + 1;
}

Cost cost_of_row(std::uint64_t start, std::uint64_t width) {
  const std::uint64_t requests = width / kRequest, tail = width % kRequest, off = start % kSector;
  Cost cost{.rows = 1, .off_sector = off != 0, .off_line = start % kLine != 0};
  cost.sectors = requests * (kRequest / kSector) + sectors_between(0, tail);
  cost.extra_sectors =
    requests * (off != 0 ? 1 : 0) + sectors_between(off, off + tail) - sectors_between(0, tail);
  return cost;
}

// The sum over n starts, `step` apart, of what one costs. The starts repeat modulo a line.
template <class CostAt>
Cost sum(std::uint64_t start, std::uint64_t step, std::uint64_t n, const CostAt& cost_at) {
  const std::uint64_t period = kLine / std::gcd(step % kLine, kLine);
  Cost once, rest;
  for (std::uint64_t i = 0; i < std::min(period, n); ++i) {
    const Cost cost = cost_at((start + i * step) % kLine);
    once += cost;
    if (i < n % period) rest += cost;
  }
  if (n < period) return once;
  Cost all = once.times(n / period);
  return all += rest;
}

Cost cost_of(const Rows& rows) {
  return sum(rows.address % kLine, rows.slice * rows.pitch, rows.depth, [&](std::uint64_t slice) {
    return sum(slice, rows.pitch, rows.height,
               [&](std::uint64_t row) { return cost_of_row(row, rows.width); });
  });
}

// Memory that the program could have asked for with a pitch.
bool is_on_device(trace::MemoryKind memory_kind) {
  return is_device_kind(memory_kind) || memory_kind == trace::MemoryKind::kVmmMapping;
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  char text[16];
  std::snprintf(text, sizeof text, "%.0f %%",
                whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

class PitchMisaligned : public Detector {
public:
  explicit PitchMisaligned(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap,
                Findings& findings) override {
    if (!is_shaped(e) || e.is_nested) return;
    if (e.kind == EventKind::kUse) {
      check_texture(e, heap, findings);
    } else if (e.succeeded() && !e.from_runtime) {
      check_rows(e, Side::kDestination, heap);
      if (e.kind == EventKind::kCopy) check_rows(e, Side::kSource, heap);
    }
  }

  void finish(const EndOfTrace&, const Heap&, Findings& findings) override {
    for (Finding& finding : uses_) findings.add(std::move(finding));
  }

private:
  void check_rows(const Event& e, Side side, const Heap& heap) {
    if (e.kind == EventKind::kCopy && declared_side(e, side) == trace::Side::kArray) return;
    const Rows rows = rows_of(e, side);
    const bool odd_element = rows.element > 1 && rows.pitch % rows.element != 0;
    if (rows.pitch % kLine == 0 && !odd_element) return;
    if (rows.count() < 2 || (rows.width < kSmallestRow && !odd_element)) return;
    const Block* block = heap.find_live(rows.address);
    if (block == nullptr || !is_on_device(block->memory_kind)) return;
    const std::uint64_t own_pitch = block->shape().pitch;
    if (own_pitch != 0 && own_pitch != rows.pitch) return; // pitch-mismatch
    const Cost cost = cost_of(rows);
    const std::uint64_t wasted = cost.extra_sectors * kSector;
    const std::array<std::uint64_t, 4> key{block->allocated.value, e.stack.value,
                                           std::uint64_t{block->api} << 32 | e.api,
                                           static_cast<std::uint64_t>(side)};
    std::string name(reinterpret_cast<const char*>(key.data()), sizeof key);
    const auto [at, is_new] = by_stacks_.try_emplace(std::move(name), uses_.size());
    if (is_new) {
      uses_.push_back(finding(e, side, rows, *block, cost, heap));
    } else {
      Finding& use = uses_[at->second];
      ++use.count;
      use.bytes += wasted;
      if (wasted != 0) use.severity = Severity::kWarning;
    }
  }

  Finding finding(const Event& e, Side side, const Rows& rows, const Block& block, const Cost& cost,
                  const Heap& heap) const {
    const std::string_view call = facts_.call_name(e);
    Finding f = begin_finding(rows, block, call, heap);
    f.message = {CallName{call},
                 verb_of(e, side),
                 describe_rows(rows),
                 " in ",
                 describe_block(block, facts_),
                 ": "};
    if (rows.element > 1 && rows.pitch % rows.element != 0) {
      f.message +=
        cat({"elements of ", format_exact_bytes(rows.element), " do not divide the pitch, and "});
    }
    f.message +=
      cat({format_count(cost.off_line), " of ", format_plural(cost.rows, "row"), " (",
           percent(cost.off_line, cost.rows), ") start off a 128-byte line, ",
           cost.off_sector == 0 ? "all on a 32-byte sector"
                                : cat({format_count(cost.off_sector), " inside a 32-byte sector"}),
           ", so that reading each row in full costs ",
           cost.extra_sectors == 0 ? "no extra sector"
                                   : cat({format_plural(cost.extra_sectors, "extra sector"), " (",
                                          format_exact_bytes(cost.extra_sectors * kSector), ", ",
                                          percent(cost.extra_sectors, cost.sectors), " more)"})});
    if (cost.extra_sectors == 0 && rows.pitch % kSector == 0) f.severity = Severity::kNote;
    f.bytes = cost.extra_sectors * kSector;
    f.group = side == Side::kSource ? "source" : "destination";
    const StackRole role = e.kind == EventKind::kSet ? StackRole::kSet : StackRole::kCopied;
    f.stacks.push_back(stack_as(role, e.stack, call));
    f.stacks.push_back(allocation_stack(block, facts_));
    return f;
  }

  static std::string_view verb_of(const Event& e, Side side) {
    if (e.kind == EventKind::kSet) return " sets ";
    return side == Side::kSource ? " reads " : " writes ";
  }

  // A texture over rows of linear memory: CUDA wants base and pitch on the device's alignments, and
  // refuses to make the texture otherwise (CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT,
  // _TEXTURE_PITCH_ALIGNMENT).
  void check_texture(const Event& e, const Heap& heap, Findings& findings) const {
    if (e.use().use != trace::UseClass::kTexture || e.succeeded() || e.in_flight()) return;
    const Rows rows = rows_of(e, Side::kNone);
    const Block* block = heap.find_live(rows.address);
    if (block == nullptr || rows.pitch == 0) return;
    const DeviceFacts* device = facts_.device(heap.device_of(*block));
    if (device == nullptr) return;
    const std::uint64_t pitch = device->texture_pitch_alignment, base = device->texture_alignment;
    const bool pitch_is_off = pitch != 0 && rows.pitch % pitch != 0;
    const bool base_is_off = base != 0 && rows.address % base != 0;
    if (!pitch_is_off && !base_is_off) return;
    const std::string_view call = facts_.call_name(e);
    Finding f = begin_finding(rows, *block, call, heap);
    f.message = {CallName{call}, " failed: a texture over ",     describe_rows(rows),
                 " in ",         describe_block(*block, facts_), " needs "};
    if (pitch_is_off) {
      f.message +=
        cat({"a pitch that is a multiple of ", format_exact_bytes(pitch), " on this device, and ",
             format_count(rows.pitch), " is ", format_count(rows.pitch % pitch), " off"});
    }
    if (base_is_off) {
      f.message +=
        cat({pitch_is_off ? ", and " : "", "a base that is a multiple of ",
             format_exact_bytes(base), pitch_is_off ? "" : " on this device", ", and ",
             format_address(rows.address), " is ", format_count(rows.address % base), " off"});
      if (!pitch_is_off)
        f.advice = "Give the texture the base that cudaMalloc or cudaMallocPitch returned, and add "
                   "what lies before the part that is read to the coordinates of each fetch.";
    }
    f.group = "texture";
    f.stacks.push_back(stack_as(StackRole::kFailed, e.stack, call));
    f.stacks.push_back(allocation_stack(*block, facts_));
    findings.add(std::move(f));
    findings.claim_refusal();
  }

  Finding begin_finding(const Rows& rows, const Block& block, std::string_view call,
                        const Heap& heap) const {
    Finding f;
    f.kind = "pitch-misaligned";
    f.severity = Severity::kWarning;
    f.advice = advice(rows, facts_.device(heap.device_of(block)));
    f.address = rows.address;
    f.api = call;
    return f;
  }

  // "64 rows of 400 bytes at a pitch of 400 bytes"
  static std::string describe_rows(const Rows& rows) {
    return cat({format_plural(rows.count(), "row"), " of ", format_exact_bytes(rows.width),
                " at a pitch of ", format_exact_bytes(rows.pitch)});
  }

  // The call that aligns the rows, and the pitch it would return. CUDA rounds a pitch up to the
  // texture alignment: 512 on an H200, where 1..512 gave 512, 513 gave 1,024 and 4,000 gave 4,096.
  static std::string advice(const Rows& rows, const DeviceFacts* device) {
    // A part of each row was used if what follows it is more than padding.
    const std::uint64_t width = rows.pitch - rows.width < kSector ? rows.width : rows.pitch;
    const std::string bytes = std::to_string(width);
    const std::string call =
      rows.depth == 1
        ? cat({"cudaMallocPitch(&p, &pitch, ", bytes, ", ", std::to_string(rows.height), ")"})
        : cat({"cudaMalloc3D(&p, make_cudaExtent(", bytes, ", ", std::to_string(rows.slice), ", ",
               std::to_string(rows.depth), "))"});
    const std::uint64_t step = device != nullptr ? device->texture_alignment : 0;
    const std::string pitch =
      step == 0 ? ", which aligns every row"
                : cat({", which returns a pitch of ",
                       std::to_string((width + step - 1) / step * step), " on this device"});
    return cat({"Allocate with ", call, pitch,
                ", and use its pitch in every row address, copy and kernel."});
  }

  const ProcessFacts& facts_;
  std::vector<Finding> uses_;
  std::unordered_map<std::string, std::size_t> by_stacks_;
};

const DetectorRegistration kPitchMisaligned{{
  .id = "pitch-misaligned",
  .severity = Severity::kWarning,
  .title = "rows that start off the GPU's memory sectors",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<PitchMisaligned>(facts);
  },
  .wants = wants(EventKind::kCopy) | wants(EventKind::kSet) | wants(EventKind::kUse),
}};

} // namespace
} // namespace gmt
