// SPDX-License-Identifier: Apache-2.0
// copy-staged: copies between two devices of which neither may reach the other's memory. They work,
// but by way of host memory (CUDA C++ programming guide, peer-to-peer memory copy). Added up by
// call stack and pair of devices. Which device reaches what memory: cuCtxEnablePeerAccess decides
// it for ordinary device memory, cuMemPoolSetAccess for a pool's, cuMemSetAccess for a mapping
// (cuda.h).

#include <array>
#include <climits>
#include <map>
#include <unordered_map>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "trace/object_class.h"

namespace gmt {
namespace {

using trace::MemoryKind;

bool is_plain_device_memory(MemoryKind memory_kind) {
  return memory_kind == MemoryKind::kDevice || memory_kind == MemoryKind::kPitched ||
         memory_kind == MemoryKind::kStreamOrdered || memory_kind == MemoryKind::kVmmMapping;
}

constexpr Wants kOneDevice =
  wants(EventKind::kContext) | wants(EventKind::kLife) | wants(EventKind::kUse);
constexpr Wants kSeveralDevices = kOneDevice | wants(EventKind::kCopy);

class CopyStaged : public Detector {
public:
  explicit CopyStaged(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap, Findings&) override {
    if (e.is_nested) return;
    // Copies matter from the second device on.
    if (heap.cuda().peers.has_several_devices()) watch(kSeveralDevices);
    if (!e.succeeded()) return;
    switch (e.kind) {
    case EventKind::kContext: break;
    case EventKind::kLife: note_pool(e); break;
    case EventKind::kUse: note_use(e, heap); break;
    default: check_copy(e, heap); break;
    }
  }

  void finish(const EndOfTrace&, const Heap&, Findings& findings) override {
    for (Finding& finding : copies_) {
      const std::string amount = format_bytes(finding.bytes);
      finding.message +=
        cat({" (", amount, " in ",
             finding.count == 1 ? "1 copy" : cat({format_count(finding.count), " copies"}), ")"});
      findings.add(std::move(finding));
    }
  }

private:
  void note_pool(const Event& e) {
    const event::Life& life = e.life();
    if (life.object != trace::ObjectClass::kPool || life.op != trace::LifeOp::kCreate) return;
    pools_.erase(pools_.lower_bound({life.handle, INT_MIN}),
                 pools_.upper_bound({life.handle, INT_MAX}));
  }

  // A device gets access to a mapping or a pool, or loses it.
  void note_use(const Event& e, const Heap& heap) {
    const event::Use& use = e.use();
    if (use.use != trace::UseClass::kAccess) return;
    const int device = static_cast<std::int32_t>(use.location());
    const bool granted = e.use().reads || e.use().writes;
    if (use.bytes == 0) {
      pools_[{heap.cuda().pools.made_or_default(use.address), device}] = granted;
    } else {
      mappings_[{device, use.address}] = {use.address + use.bytes, e.order, granted};
    }
  }

  // Whether the device reaches the block, which is another's. One direction is enough for the copy
  // engine.
  bool reaches(int device, const Block& block, int own, const CudaState& cuda) const {
    if (block.memory_kind == MemoryKind::kStreamOrdered) {
      const auto at = pools_.find({cuda.pools.made_or_default(block.shape().pool), device});
      return at != pools_.end() && at->second;
    }
    if (block.memory_kind != MemoryKind::kVmmMapping) {
      return cuda.peers.is_open(device, own);
    }
    auto at = mappings_.upper_bound({device, block.address});
    if (at == mappings_.begin() || (--at)->first.first != device) return false;
    const Grant& grant = at->second;
    if (grant.end <= block.address || grant.order < block.allocated_at) return false;
    return grant.granted;
  }

  void check_copy(const Event& e, const Heap& heap) {
    const Block *to = nullptr, *from = nullptr;
    for (const Access& access : heap.accesses()) {
      (access.kind == Access::Kind::kRead ? from : to) = access.block;
    }
    if (to == nullptr || from == nullptr || heap.cuda().peers.is_unknown()) return;
    if (!is_plain_device_memory(to->memory_kind) || !is_plain_device_memory(from->memory_kind))
      return;
    const int into = heap.device_of(*to), out_of = heap.device_of(*from);
    if (into < 0 || out_of < 0 || into == out_of) return;
    if (reaches(into, *from, out_of, heap.cuda()) || reaches(out_of, *to, into, heap.cuda()))
      return;
    add(e, into, out_of, remedy(from->memory_kind, to->memory_kind));
  }

  static std::string_view remedy(MemoryKind from, MemoryKind to) {
    if (from == MemoryKind::kVmmMapping || to == MemoryKind::kVmmMapping)
      return "give the other device access to the mapping (cuMemSetAccess)";
    if (from == MemoryKind::kStreamOrdered || to == MemoryKind::kStreamOrdered)
      return "give the other device access to the pool (cudaMemPoolSetAccess)";
    return "call cudaDeviceEnablePeerAccess once";
  }

  void add(const Event& e, int into, int out_of, std::string_view remedy) {
    const std::array<std::uint64_t, 3> key{
      e.stack.value, e.api, static_cast<std::uint64_t>(into) << 32 | static_cast<unsigned>(out_of)};
    std::string name(reinterpret_cast<const char*>(key.data()), sizeof key);
    const auto [at, is_new] = by_stack_.try_emplace(std::move(name), copies_.size());
    if (is_new) {
      Finding f;
      f.kind = "copy-staged";
      f.severity = Severity::kNote;
      f.api = facts_.call_name(e);
      f.count = 0;
      f.group = cat({std::to_string(out_of), " to ", std::to_string(into)});
      f.message = {
        CallName{f.api},
        " copies from device ",
        std::to_string(out_of),
        " to device ",
        std::to_string(into),
        ", neither of which has access to the other, so that the data is staged through the host"};
      f.advice =
        cat({"If cudaDeviceCanAccessPeer says that they can, ", remedy, " before the first copy."});
      f.stacks.push_back(stack_as(StackRole::kCopied, e.stack, f.api));
      copies_.push_back(std::move(f));
    }
    ++copies_[at->second].count;
    copies_[at->second].bytes += e.copy().bytes;
  }

  const ProcessFacts& facts_;
  struct Grant {
    std::uint64_t end = 0, order = 0;
    bool granted = false;
  };
  std::map<std::pair<int, std::uint64_t>, Grant> mappings_; // by device and address
  std::map<std::pair<std::uint64_t, int>, bool> pools_;     // by pool and device
  std::vector<Finding> copies_;
  std::unordered_map<std::string, std::size_t> by_stack_;
};

const DetectorRegistration kCopyStaged{{
  .id = "copy-staged",
  .severity = Severity::kNote,
  .title = "copy between devices that goes through host memory",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<CopyStaged>(facts);
  },
  .wants = kOneDevice,
}};

} // namespace
} // namespace gmt
