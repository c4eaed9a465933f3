// SPDX-License-Identifier: Apache-2.0
// What happened, in one sentence: who did what, where, and which memory that is.
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/faults/fault_words.h"
#include "analyzer/detectors/shared/faults/race_words.h"
#include "analyzer/detectors/shared/faults/recorded_facts.h"
#include "analyzer/symbols/demangle.h"

namespace gmt {
namespace {

using trace::FaultKind;

std::string verb(const RecordedFacts& f) {
  return access_verb(access_word(f.record.access), f.record.bytes, space_word(f.record.space));
}

std::string at_line(const RecordedFacts& f) {
  const std::string source = source_words(f.lines, {});
  return source.empty() ? std::string() : cat({" at ", source});
}

// What the device knows better: a variable, shared memory, a block of the device heap.
std::string neighbour(const RecordedFacts& f) {
  const std::string_view name = f.names.text(f.record.neighbour_name);
  const std::uint64_t begin = f.record.neighbour, bytes = f.record.neighbour_bytes;
  const std::uint64_t address = f.record.address;
  const std::string_view space = space_word(f.record.neighbour_space);
  const std::string memory = space.empty() ? "the device heap" : cat({space, " memory"});
  const std::string what =
    name.empty() ? cat({format_bytes(bytes), " of ", memory})
                 : cat({"the variable ", demangle(name), " (", format_bytes(bytes), ")"});
  if (f.record.is_neighbour_freed && address - begin < bytes) {
    const std::string at =
      address == begin ? "at the beginning of" : format_exact_bytes(address - begin) + " into";
    return cat({at, " memory that was already freed: ", what});
  }
  if (address < begin)
    return cat({format_exact_bytes(begin - address), " before the beginning of ", what});
  if (address - begin == bytes) return cat({"right behind the end of ", what});
  if (address - begin > bytes)
    return cat({format_exact_bytes(address - begin - bytes), " past the end of ", what});
  return cat({format_exact_bytes(address - begin), " into ", what});
}

// "at 0x7f..., 76 bytes past the end of ..."; of shared memory "at offset 4,096, ..."
Text where(const RecordedFacts& f) {
  Text text;
  if (f.record.has_address) {
    text += is_global_space(f.record.space) ? cat({" at ", format_address(f.record.address)})
                                            : cat({" at offset ", format_count(f.record.address)});
  }
  if (f.record.fault == FaultKind::kMisaligned) {
    text += cat({", which is no multiple of ", std::to_string(f.record.bytes)});
    if (f.around.block == nullptr && f.record.neighbour_bytes == 0) return text;
  }
  if (f.around.block != nullptr) {
    text += {", ", describe(f.around, f.names)};
    if (f.is_out_of_reach()) text += out_of_reach(f.device, f.owner);
  } else if (f.record.neighbour_bytes != 0 && !is_in_local_window(f.event)) {
    text += cat({", ", neighbour(f)});
  } else if (is_empty_array(f.event)) {
    text += cat({", in the array ", demangle(f.names.text(f.record.neighbour_name)),
                 ", for which the launch gave 0 bytes"});
  } else if (f.record.fault == FaultKind::kGlobalRace) {
    text += ", in memory that no call allocated, such as a variable of the kernel's module";
  } else if (f.record.has_address && is_global_space(f.record.space)) {
    text += describe(f.stray, f.record.address, f.names);
  }
  return text;
}

Text parameter_words(const RecordedFacts& f) {
  if (!f.parameter) return {};
  return cat({"; parameter ", std::to_string(f.parameter->parameter() + 1), " of its launch, ",
              format_address(f.parameter->address()), ", is none itself"});
}

std::string polled_memory(const RecordedFacts& f) {
  const std::string_view space = space_word(f.record.space);
  return is_global_space(f.record.space) || space.empty() ? "memory" : cat({space, " memory"});
}

std::string at_other_side(const RecordedFacts& f) {
  const std::string there = source_words(parse_lines(f.names.text(f.record.other_lines)), {});
  return there.empty() ? std::string() : cat({" at ", there});
}

// Two barriers, by their lines; on one line by their instructions.
std::string both_sides(const RecordedFacts& f) {
  const std::string here = at_line(f), there = at_other_side(f);
  if (there.empty()) return here;
  if (here != there) return cat({here, ", others", there});
  const std::string_view one = f.names.text(f.record.instruction);
  const std::string_view other = f.names.text(f.record.other_instruction);
  if (one == other) return cat({here, ", others at another barrier of that line"});
  return cat({here, " (", one, "), others there as well (", other, ")"});
}

Text race(const RecordedFacts& f) {
  const std::string other = source_words(parse_lines(f.names.text(f.record.other_lines)), {});
  Text text{f.kernel, " ", verb(f), where(f)};
  if (const auto earlier = earlier_launch_said(f.record, f.said()))
    text += earlier_launch_words(f.record, *earlier, other);
  else if (f.record.fault == FaultKind::kGlobalRace)
    text += global_race_words(f.record, f.said(), other);
  else text += shared_race_words(access_word(f.record.other_access), other, f.said());
  if (const auto order = other_order(f.event, f.said())) text += cat({", seen ", in_words(*order)});
  if (f.is_volatile()) text += ": both are volatile, which is no race, but orders nothing either";
  return text;
}

} // namespace

std::string_view access_word(trace::FaultAccess access) {
  constexpr std::array<std::string_view, 6> kWords{"",       "load",      "store",
                                                   "atomic", "reduction", "copy"};
  const auto i = static_cast<std::size_t>(access);
  return i < kWords.size() ? kWords[i] : std::string_view();
}

Text message_of(const RecordedFacts& f) {
  std::string_view said = f.said();
  while (said.ends_with('.') || said.ends_with('\n')) said.remove_suffix(1);
  switch (f.record.fault) {
  case FaultKind::kOutOfBounds:
  case FaultKind::kUseAfterFree:
    if (const std::string of_cluster = cluster_words(f.event, said); !of_cluster.empty())
      return {f.kernel, " ", verb(f), at_line(f), of_cluster};
    // Of textures and surfaces, whose coordinates are no address
    if (!f.record.has_address && !said.empty())
      return {f.kernel, " ", verb(f), at_line(f), ": ", said};
    return {f.kernel, " ", verb(f), where(f)};
  case FaultKind::kMisaligned: return {f.kernel, " ", verb(f), where(f), parameter_words(f)};
  case FaultKind::kUninitializedRead:
    if (is_of_no_lane(f.event, said))
      return {f.kernel, " uses the result of a shuffle", at_line(f),
              " from a lane that has ended or that the mask does not name"};
    if (f.record.bytes == 0) return {f.kernel, " uses a value that nothing wrote", at_line(f)};
    return {f.kernel, " ", verb(f), " that nothing wrote", where(f)};
  case FaultKind::kSharedRace:
  case FaultKind::kGlobalRace:
    if (const auto order = other_order(f.event, said); order && order->is_result)
      return {f.kernel, " leaves another value", where(f), ", ", in_words(*order)};
    return race(f);
  case FaultKind::kBarrierDivergence:
    if (f.is_of_rest())
      return {"Threads of a block of ",
              f.kernel,
              " go on at a barrier",
              at_line(f),
              " without others, which ended before",
              at_other_side(f),
              ": PTX allows it, and CUDA C++ wants all threads of the block there"};
    if (f.is_apart())
      return {"Warps of a block of ", f.kernel, " meet at two barriers: one waits", both_sides(f),
              ", and PTX counts both as one"};
    return {"Threads of a block of ",   f.kernel,
            " wait at a barrier",       at_line(f),
            " that others never reach", said.empty() ? "" : cat({": ", said})};
  case FaultKind::kDeadlock:
    if (!f.record.has_other)
      return {f.kernel, " never ends: all threads of a block wait", at_line(f),
              ", at a barrier for more threads than there are"};
    return {"No thread of a block of ", f.kernel, " can go on: some wait", both_sides(f)};
  case FaultKind::kHang:
    if (is_without_room(f.event, said))
      return {
        f.kernel,
        " never ends: blocks wait for others that cannot start, since no more than those have "
        "room on the device at a time; one of them waits",
        at_line(f)};
    if (!said.empty()) return {f.kernel, " never ends: ", said, at_line(f)};
    if (!f.record.has_address)
      return {f.kernel, " never ends: its threads go round", at_line(f),
              ", and nothing changes any more"};
    return {f.kernel, " never ends: it polls ", polled_memory(f), where(f),
            ", which nothing changes any more"};
  case FaultKind::kAssert:
    // CUDA's text has the line.
    return {"An assert in ", f.kernel, said.empty() ? at_line(f) : "", " failed",
            said.empty() ? "" : cat({": ", said})};
  case FaultKind::kTrap: return {f.kernel, " stopped", at_line(f), " by a trap"};
  case FaultKind::kIllegalInstruction:
    if (const std::string_view mask = wrong_mask_words(f.event, said); !mask.empty())
      return {f.kernel, " calls a shuffle, a vote or their like", at_line(f), " with ",
              mask,     ", which CUDA leaves undefined"};
    if (is_unfenced_product(f.event, said))
      return {
        f.kernel, " multiplies by wgmma", at_line(f),
        said == "unfenced" ? " before its warp has executed any wgmma.fence"
                           : " what it has put into registers since its last wgmma.fence",
        ": PTX leaves open what the product finds in its registers, though ptxas puts a fence "
        "there"};
    if (is_wait_alone(f.event, said))
      return {f.kernel, " waits at a barrier of the cluster", at_line(f),
              ", at which the thread has not arrived: PTX leaves open what happens, and nothing is "
              "ordered"};
    if (const std::string_view format = unknown_format(f.event, said); !format.empty())
      return {
        f.kernel,
        " prints",
        at_line(f),
        " by ",
        format,
        ", which CUDA's printf does not have: a GPU prints other values from there on, and may "
        "stop with error 700"};
    return {f.kernel, " met an illegal instruction", at_line(f),
            said.empty() ? "" : cat({": ", said})};
  case FaultKind::kStackOverflow: return {f.kernel, " needs more stack than there is", at_line(f)};
  case FaultKind::kInvalidAddressSpace:
    return {f.kernel, " ", verb(f), where(f), ", by an instruction for another kind of memory"};
  case FaultKind::kInvalidJump: return {f.kernel, " calls what is no function", at_line(f)};
  default: break;
  }
  return {f.kernel, " met a fault", at_line(f), said.empty() ? "" : cat({": ", said})};
}

} // namespace gmt
