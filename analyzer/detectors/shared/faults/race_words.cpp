// SPDX-License-Identifier: Apache-2.0
#include "analyzer/detectors/shared/faults/race_words.h"

#include <charconv>
#include <system_error>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/faults/fault_words.h"

namespace gmt {
namespace {

constexpr std::string_view kSameValue = "same value", kPoll = "poll", kFlag = "flag",
                           kRelaxed = "relaxed";

// Threads that are known, and of two blocks, or of one of which it is not known.
bool is_of_two_blocks(const event::Fault& fault) {
  const bool known = fault.has_thread && fault.other_has_thread;
  return !known || fault.block_index.x != fault.other_block_index.x ||
         fault.block_index.y != fault.other_block_index.y ||
         fault.block_index.z != fault.other_block_index.z;
}

std::string_view verb(trace::FaultAccess access) {
  switch (access) {
  case trace::FaultAccess::kLoad: return "reads";
  case trace::FaultAccess::kStore: return "writes";
  case trace::FaultAccess::kAtomic:
  case trace::FaultAccess::kReduction: return "atomically updates";
  default: return "uses";
  }
}

} // namespace

std::string shared_race_words(std::string_view access, std::string_view other_source,
                              std::string_view message) {
  const std::string there = other_source.empty() ? "" : cat({" at ", other_source});
  if (message == kNotWaitedFor)
    return cat({", although the asynchronous copy", there, " has not been waited for"});
  if (message == kNoProxyFence)
    return cat({" by an asynchronous copy, without fence.proxy.async behind the write", there});
  if (message == kNoProxyFenceOfProduct)
    return cat({" by wgmma, without fence.proxy.async behind the write", there});
  if (message == kOfCluster)
    return cat({" without a barrier of the cluster behind a ", access.empty() ? "use" : access,
                " by another of its blocks", there});
  std::string text = cat({" without a barrier behind a ", access.empty() ? "use" : access,
                          " by another thread of the block"});
  return text + there;
}

bool is_race_by_habit(const event::Fault& fault, std::string_view message) {
  return fault.fault == trace::FaultKind::kGlobalRace &&
         (message == kSameValue || message == kPoll || message == kFlag || message == kRelaxed);
}

std::optional<EarlierLaunchSaid> earlier_launch_said(const event::Fault& fault,
                                                     std::string_view device) {
  using Which = EarlierLaunchSaid::Which;
  if (fault.fault != trace::FaultKind::kGlobalRace) return std::nullopt;
  EarlierLaunchSaid said;
  if (device.starts_with("primary ")) said.which = Which::kPrimary;
  else if (device.starts_with("further ")) said.which = Which::kFurther;
  else if (device.starts_with("parent ")) said.which = Which::kParent;
  else if (device.starts_with("sibling ")) said.which = Which::kSibling;
  else return std::nullopt;
  device.remove_prefix(device.find(' ') + 1);
  const auto [end, error] =
    std::from_chars(device.data(), device.data() + device.size(), said.call);
  const auto digits = static_cast<std::size_t>(end - device.data());
  if (error != std::errc() || digits == device.size() || *end != ' ') return std::nullopt;
  said.kernel = device.substr(digits + 1);
  return said;
}

std::string earlier_launch_words(const event::Fault& fault, const EarlierLaunchSaid& earlier,
                                 std::string_view other_source) {
  using Which = EarlierLaunchSaid::Which;
  std::string_view whose = ", the launch in front of it, ";
  std::string_view why = "; nothing orders the two: that launch lets this one begin before it has "
                         "ended (cudaTriggerProgrammaticLaunchCompletion), and this block has not "
                         "waited for it";
  if (earlier.which == Which::kFurther) {
    whose = ", a launch further in front of it, ";
    why = "; nothing orders the two: each launch from that one on lets the next begin before it "
          "has ended, no block in between had waited by then, and this block has not waited either";
  }
  if (earlier.which == Which::kParent) {
    whose = ", whose threads launched it, ";
    why = "; nothing orders the two: a kernel does not wait for what it launches, and what it does "
          "is over for that only where the thread that launches knows of it";
  }
  if (earlier.which == Which::kSibling) {
    whose = ", launched by a kernel as well, ";
    why = "; nothing orders the two: kernels that different blocks launch, or one block into "
          "different streams, run side by side";
  }
  std::string text =
    cat({", and ", kernel_words(earlier.kernel), whose, verb(fault.other_access), " them"});
  if (!other_source.empty()) text += cat({" at ", other_source});
  return text.append(why);
}

std::string earlier_launch_advice(const EarlierLaunchSaid& earlier) {
  using Which = EarlierLaunchSaid::Which;
  if (earlier.which == Which::kParent)
    return "What other threads did must be over when the kernel is launched: put __syncthreads() "
           "in front of the launch, and let the last block launch it where other blocks take part. "
           "What comes behind the launched kernel belongs into another "
           "one, launched into cudaStreamTailLaunch or into the same stream by the same block.";
  if (earlier.which == Which::kSibling)
    return "Launch both from one block into the same stream, the later one into "
           "cudaStreamTailLaunch, or give each memory of its own.";
  return "Call cudaGridDependencySynchronize() (griddepcontrol.wait) in front of the access, or "
         "launch without cudaLaunchAttributeProgrammaticStreamSerialization. What the kernel in "
         "front writes before a __threadfence() and its "
         "cudaTriggerProgrammaticLaunchCompletion() is there without.";
}

std::string global_race_words(const event::Fault& fault, std::string_view message,
                              std::string_view other_source) {
  const bool known = fault.has_thread && fault.other_has_thread;
  std::string_view who = "another thread";
  if (known)
    who = is_of_two_blocks(fault) ? "a thread of another block" : "another thread of the block";
  std::string text = cat({", and ", who, " ", verb(fault.other_access), " them"});
  if (!other_source.empty()) text += cat({" at ", other_source});
  text += "; nothing orders the two";
  if (message == kSameValue)
    text += ": both write the same value, but the memory model gives plain stores that race no "
            "meaning, whatever they write";
  if (message == kPoll)
    text += ": at least one of the two is a plain access, which the memory model gives no value "
            "here. Programs that look at the value again, as a compare-and-swap loop or a polled "
            "flag does, get away with it, unless the compiler keeps what it has read once";
  if (message == kFlag)
    text += ": the value that is read is only compared, as one asks a flag. Programs to which it "
            "makes no difference whether they see the write get away with it, but the memory model "
            "gives plain accesses that race no meaning, and a compiler may keep what it has read "
            "once";
  if (message == kRelaxed)
    text +=
      ": a flag of relaxed or volatile accesses lies between. The block that reads has met at "
      "a barrier before it stores the flag, so programs get away with it, but the memory "
      "model lets no such flag order other accesses";
  return text;
}

std::string global_race_advice(const event::Fault& fault, std::string_view message,
                               bool is_one_line) {
  if (message == kSameValue)
    return "Let one thread write it, or write it with a relaxed atomic store "
           "(cuda::atomic_ref::store).";
  if (message == kPoll)
    return "Make the plain access an atomic one as well (cuda::atomic_ref::load or store with "
           "memory_order_relaxed), or a volatile one.";
  if (message == kFlag)
    return "Make both accesses atomic ones (cuda::atomic_ref::load and store with "
           "memory_order_relaxed), or volatile ones. Such a flag hands no other memory over.";
  if (message == kRelaxed)
    return "Store the flag with memory_order_release and load it with memory_order_acquire "
           "(cuda::atomic_ref), or put __threadfence() before its store and behind its load.";
  const std::string update =
    is_one_line ? "If several threads update one element there, let them use an atomic function "
                  "such as atomicAdd. Otherwise: "
                : "";
  if (!is_of_two_blocks(fault))
    return update + "Put __syncthreads() between the two accesses, where all threads of the block "
                    "reach it, or give each thread memory of its own.";
  return update + "Give each block memory of its own, or do the later access in a second launch. "
                  "Within one launch a flag orders the two: __threadfence() and then an atomic "
                  "store by the one, an atomic load of it before the access of the other.";
}

} // namespace gmt
