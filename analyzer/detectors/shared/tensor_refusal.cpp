// SPDX-License-Identifier: Apache-2.0
// Source: PyTorch's notes on CUDA semantics, on the settings of its allocator.

#include "analyzer/detectors/shared/tensor_refusal.h"

#include <algorithm>

#include "analyzer/base/text_format.h"

namespace gmt {
namespace {

// " 2 segments are large enough, but ..."; empty where small tensors are not what breaks them up.
// The smallest value that PyTorch takes is 21.
std::string words_on(const TensorStock::Broken& broken) {
  constexpr std::uint64_t kMega = 1 << 20, kSmallest = 21;
  if (broken.segments == 0) return {};
  const std::uint64_t value = std::max(kSmallest, broken.largest_tensor / kMega + 1);
  if (value * kMega >= broken.bytes / broken.segments) return {};
  const bool is_one = broken.segments == 1;
  return cat({" ", format_plural(broken.segments, "segment"),
              is_one ? " is large enough, but has " : " are large enough, but have ",
              format_bytes(broken.held_bytes), " of small tensors in ", is_one ? "it" : "them",
              ": max_split_size_mb:", std::to_string(value), " keeps such tensors out."});
}

// " (248 of 32.0 MiB and more, 2 of 1.0 MiB and more)"; empty where all are of one size.
std::string size_words(const std::vector<TensorStock::Pieces>& by_size) {
  constexpr std::size_t kMostSizesNamed = 3;
  if (by_size.size() < 2) return {};
  std::string words;
  std::uint64_t others = 0;
  for (std::size_t i = 0; i < by_size.size(); ++i) {
    const TensorStock::Pieces& these = by_size[i];
    if (i >= kMostSizesNamed) others += these.pieces;
    else
      words += cat({words.empty() ? "" : ", ", format_count(these.pieces), " of ",
                    format_bytes(these.least), " and more"});
  }
  if (others != 0) words += cat({", ", format_plural(others, "other")});
  return cat({" (", words, ")"});
}

} // namespace

std::string refusal_message(const TensorStock& tensors) {
  std::string message = cat({"PyTorch found no ", format_bytes(tensors.stock.held.requested_bytes),
                             " for a tensor: ", format_bytes(tensors.bytes), " were in ",
                             format_plural(tensors.tensors, "tensor")});
  if (tensors.free_pieces != 0)
    message += cat({", and ", format_bytes(tensors.free_bytes), " of its cache were free in ",
                    format_plural(tensors.free_pieces, "piece"), " of at most ",
                    format_bytes(tensors.largest_piece), size_words(tensors.by_size)});
  return message;
}

Text idle_words(TensorStock& tensors, const ProcessFacts& facts) {
  std::vector<MemoryHolder>& holders = tensors.stock.holders;
  const TensorStock::Idle& idle = tensors.idle;
  const auto holder = std::ranges::find(holders, idle.stack, &MemoryHolder::stack);
  const double nanoseconds = facts.nanoseconds(idle.ticks);
  if (idle.ticks == 0 || nanoseconds <= 0 || holder == holders.end()) return {};
  std::rotate(holders.begin(), holder, holder + 1);
  return {"; idle longest is what was made ",
          TensorSite{},
          ": ",
          format_bytes(idle.bytes),
          " in ",
          format_plural(idle.tensors, "tensor"),
          idle.tensors == 1 ? " was given to no call for " : " were given to no call for ",
          format_duration(nanoseconds)};
}

// Of garbage_collection_threshold no piece can speak: before PyTorch refuses, it gives back each
// segment that is free as a whole.
std::string refusal_advice(const TensorStock& tensors) {
  const HeldMemory& held = tensors.stock.held;
  const std::uint64_t wanted = held.requested_bytes;
  if (held.total_bytes && wanted > *held.total_bytes)
    return cat({"Check how the size is computed: the device has ", format_bytes(*held.total_bytes),
                " in all."});
  constexpr std::string_view kSetting =
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lets PyTorch put them together";
  const std::uint64_t together = tensors.free_bytes + held.free_bytes.value_or(0);
  if (tensors.are_expandable && together >= wanted)
    return "As much was free together, but between tensors that stay where they are: make what "
           "lives long first, or drop tensors before this line.";
  if (tensors.free_bytes >= wanted)
    return cat({"As much was free in the cache, but not in one piece: ", kSetting, ".",
                words_on(tensors.broken)});
  if (held.free_bytes && together >= wanted)
    return cat({"The free pieces and the ", format_bytes(*held.free_bytes),
                " that the device had left are as much together: ", kSetting,
                ", and torch.cuda.empty_cache() before this call gives whole segments back.",
                words_on(tensors.broken)});
  const std::uint64_t untraced = held.untraced_bytes().value_or(0);
  if (untraced != 0 && untraced >= *held.total_bytes / 2)
    return "Look for other programs on this device (nvidia-smi): most of its memory is not this program's.";
  return "No setting of the cache helps: all that was free together is less. Drop tensors before "
         "this line, or ask for less; the largest holders are shown.";
}

} // namespace gmt
