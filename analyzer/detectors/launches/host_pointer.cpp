// SPDX-License-Identifier: Apache-2.0
// host-pointer: a kernel is given the address of host memory that its GPU cannot read. What counts
// as such memory: the program's heap, the main thread's stack, static variables, what was
// registered once, and what copies used as pageable host memory; unless CUDA knows it by now
// (pinned, registered, managed) or the device reads pageable memory. The end of a block that
// another argument points into is none: it is never read.
//
// Structures passed by value hold words that no kernel reads: padding with what the stack held
// before, pairs of numbers. Kernels of libraries have pointers that they do not read: cuBLAS passes
// the host's addresses of alpha and beta beside their values. A word therefore counts at once only
// as a parameter that the kernel's name declares a pointer, in a launch that no known library
// makes. Others are reported when the context has died of an illegal address behind them, and so is
// memory of which is known only that the host has it where a block was freed. Kernels of graph
// nodes made by hand are checked when the node is made or changed.

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/declared_pointers.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/library_calls.h"
#include "analyzer/symbols/demangle.h"
#include "trace/cuda_results.h"

namespace gmt {
namespace {

constexpr std::size_t kMostPageableRanges = 4096; // of pageable memory remembered
// Programs at a fixed address have their variables where numbers are.
constexpr std::uint64_t kLowestVariable = std::uint64_t{1} << 32;

class HostPointer : public Detector {
public:
  explicit HostPointer(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap,
                Findings& findings) override {
    if (e.result == cuda::CUDA_ERROR_ILLEGAL_ADDRESS) return report_suspects(e, findings);
    if (!e.succeeded()) return;
    if (e.kind == EventKind::kCopy) return remember(e, heap);
    if (e.kind == EventKind::kSync) return forget_launches(e);
    const Arguments words = arguments_of(e);
    if (words.size() <= heap.accesses().size()) return; // nearly all
    const auto zeros = static_cast<std::size_t>(std::count(words.begin(), words.end(), Argument{}));
    if (words.size() - zeros > heap.accesses().size()) check(e, heap, findings);
  }

private:
  // Host memory that CUDA does not know, and the copy that named it.
  struct Range {
    std::uint64_t end = 0;
    StackId copied;
    std::uint16_t api = trace::kNoApi;
  };

  // Not inlined: each launch would pay for the registers that it needs.
  [[gnu::noinline]] void remember(const Event& e, const Heap& heap) {
    bool knows_to = false, knows_from = false; // CUDA's memory
    for (const Access& access : heap.accesses()) {
      knows_to |= access.kind == Access::Kind::kWrite;
      knows_from |= access.kind == Access::Kind::kRead;
    }
    if (!knows_to) remember(e, Verdict::Side::kDestination);
    if (!knows_from) remember(e, Verdict::Side::kSource);
  }

  void remember(const Event& e, Verdict::Side side) {
    const trace::Side declared = declared_side(e, side);
    if (declared != trace::Side::kHost && declared != trace::Side::kUnified) return;
    const std::uint64_t begin = address_of(e, side), bytes = copy_extent(e, side);
    if (begin == 0 || bytes == 0 || begin + bytes < begin) return;
    Range& range = range_at(begin);
    range.end = std::max(range.end, begin + bytes);
    range.copied = e.stack;
    range.api = e.via != trace::kNoApi ? e.via : e.api;
  }

  // Programs copy from and to the same addresses over and over, so most are found without a search.
  Range& range_at(std::uint64_t begin) {
    Found& found = found_[hash(begin)];
    if (found.range != nullptr && found.begin == begin) return *found.range;
    if (pageable_.size() >= kMostPageableRanges && !pageable_.contains(begin)) {
      found_[hash(pageable_.begin()->first)] = {};
      pageable_.erase(pageable_.begin());
    }
    found = {begin, &pageable_[begin]};
    return *found.range;
  }
  static std::size_t hash(std::uint64_t begin) { return (begin * 0x9e3779b97f4a7c15) >> 52; }

  const Range* copied_range(std::uint64_t address) const {
    auto after = pageable_.upper_bound(address);
    if (after == pageable_.begin()) return nullptr;
    const Range& range = std::prev(after)->second;
    return address < range.end ? &range : nullptr;
  }

  // A word that is host memory if it is an address.
  struct Suspect {
    std::uint64_t function = 0, address = 0;
    unsigned parameter = 0;
    StackId stack;
    std::uint16_t context = 0;
    std::string_view api;
    std::optional<Range> copied;
    std::optional<Block> unregistered;
    bool is_static = false;          // a variable of the program or a library
    Text behind;                     // what begins an element behind the address, if CUDA knows it
    bool of_node = false;            // of a graph, when it was made by hand
    std::optional<Block> freed = {}; // lay there before the host's memory did
  };

  void check(const Event& e, const Heap& heap, Findings& findings) {
    // A program that only launches has a context that nothing names yet.
    const DeviceFacts* device = facts_.device(std::max(0, heap.device_of_context(e.context)));
    if (device == nullptr || device->reads_pageable_memory) return;
    // A graph's kernel has it in the same word
    const std::uint64_t function = e.launch().function;
    // One finding a parameter: all fields of a structure are one mistake
    unsigned last = kNoParameter;
    for (const Argument word : arguments_of(e)) {
      const std::uint64_t address = word.address();
      const unsigned parameter = word.parameter();
      if (parameter == last || parameter == kNoParameter) continue;
      const Range* copied = copied_range(address);
      const bool is_static = copied == nullptr && facts_.is_static_memory(address);
      const Block* unregistered = heap.find_unregistered(address);
      const bool is_known = copied != nullptr || is_static || unregistered != nullptr;
      const bool is_read_by_host = heap.is_host_memory(address);
      if (!is_known && !is_read_by_host && !facts_.is_plain_host_memory(address)) continue;
      const Block* freed = heap.find_freed(address);
      if (heap.find_live(address) != nullptr || (freed != nullptr && !is_read_by_host)) continue;
      if (heap.argument_ending_at(address) != nullptr) continue;
      const Declared declared = pointers_.of(function, parameter);
      if (declared == Declared::kHandle) continue;
      const bool is_pointer = declared == Declared::kPointer;
      const bool is_by_library = by_libraries_.contain(e.stack);
      // A library's variables are tables of kernels and the like, and no data.
      if (is_static && ((!is_pointer && address < kLowestVariable) || is_by_library)) continue;
      Suspect suspect{function, address, parameter, e.stack, e.context, facts_.call_name(e),
                      {},       {},      is_static, {}};
      if (copied != nullptr) suspect.copied = *copied;
      suspect.of_node = e.kind == EventKind::kGraphKernel;
      if (freed != nullptr) {
        suspect.freed = *freed;
        suspect.freed->detail = nullptr; // may go with the block
      }
      if (unregistered != nullptr) {
        suspect.unregistered = *unregistered;
        suspect.unregistered->detail = nullptr; // may go with the block
      }
      if (const Block* behind = heap.live_just_behind(address); behind != nullptr) {
        const std::string distance = format_exact_bytes(behind->address - address);
        suspect.behind = {distance, " before ", describe_block(*behind, facts_)};
      }
      if (is_pointer && !is_by_library && !is_read_by_host) {
        findings.add(finding(suspect));
      } else {
        suspects_[next_suspect_++ % suspects_.size()] = suspect;
      }
      last = parameter;
    }
  }

  // What has been waited for has not died.
  void forget_launches(const Event& e) {
    if (e.sync().op != trace::SyncOp::kContextSynchronize) return;
    for (Suspect& suspect : suspects_) {
      if (suspect.context == e.context) suspect = {};
    }
  }

  // Every later call fails alike: only the first is a death.
  void report_suspects(const Event& e, Findings& findings) {
    for (Suspect& suspect : suspects_) {
      if (suspect.address == 0 || suspect.context != e.context) continue;
      Finding f = finding(suspect);
      f.severity = Severity::kWarning;
      f.message += {"; behind it ", CallName{facts_.call_name(e)}, " reported an illegal address"};
      f.stacks.push_back(stack_as(StackRole::kReported, e.stack, facts_.call_name(e)));
      findings.add(std::move(f));
      suspect = {};
    }
  }

  Finding finding(const Suspect& suspect) const {
    const Kernel* kernel = facts_.kernel(suspect.function);
    const unsigned parameter = suspect.parameter;
    const bool whole = kernel != nullptr && parameter < kernel->parameters.size() &&
                       kernel->parameters[parameter].bytes == sizeof suspect.address;
    const std::string name = demangle(facts_.handle_name(suspect.function));
    Finding f;
    f.kind = "host-pointer";
    f.api = suspect.api;
    f.address = suspect.address;
    f.group = std::to_string(parameter);
    f.message =
      cat({suspect.of_node ? "The graph's node for " : "The launch of ",
           name.empty() ? "a kernel" : shorten_function(name, kLongestName),
           whole ? " passes as parameter " : " passes in parameter ", std::to_string(parameter + 1),
           " the pointer ", format_address(suspect.address), ", which is "});
    f.advice =
      "Pass the device's copy of the data, or allocate it with cudaMallocManaged or cudaMallocHost.";
    if (suspect.is_static) describe_static(suspect.address, f);
    else f.message += "ordinary host memory that the GPU cannot read";
    if (suspect.unregistered) f.message += ", as it is not registered any more";
    if (!suspect.behind.empty()) {
      f.severity = Severity::kWarning;
      f.message += {"; or, as a pointer that counts from 1, ", suspect.behind};
      f.advice +=
        " It is no mistake if the kernel counts from 1 and reads nothing before that memory.";
    }
    f.stacks.push_back(stack_as(suspect.of_node ? StackRole::kNodeMade : StackRole::kLaunched,
                                suspect.stack, f.api));
    if (suspect.freed) {
      f.message += {"; before it was the host's there lay freed memory: ",
                    describe_block(*suspect.freed, facts_)};
      f.stacks.push_back(stack_as(release_role(suspect.freed->memory_kind), suspect.freed->freed,
                                  facts_.api_name(suspect.freed->freed_api)));
      f.stacks.push_back(allocation_stack(*suspect.freed, facts_));
    }
    if (suspect.copied) {
      const std::string_view api = facts_.api_name(suspect.copied->api);
      f.stacks.push_back(stack_as(StackRole::kHostMemoryCopied, suspect.copied->copied, api));
    }
    if (suspect.unregistered) {
      const Block& block = *suspect.unregistered;
      f.stacks.push_back(
        stack_as(StackRole::kUnregistered, block.freed, facts_.api_name(block.freed_api)));
      f.stacks.push_back(allocation_stack(block, facts_));
    }
    return f;
  }

  // The rest of the sentence, and what to do.
  void describe_static(std::uint64_t address, Finding& f) const {
    const StaticVariable variable = facts_.static_variable(address);
    const std::string& name = variable.name;
    if (variable.kind == StaticVariable::Kind::kShadow) {
      f.message += cat({"the host's shadow of the __device__ or __constant__ variable ", name,
                        ": host memory that the GPU cannot read, not the variable itself"});
      f.advice = cat({"Pass the address that cudaGetSymbolAddress gives for ", name,
                      ", or let the kernel use the variable by its name."});
      return;
    }
    f.message += cat({name.empty() ? "a static variable" : cat({"the static variable ", name}),
                      " in the host's memory, which the GPU cannot read"});
    if (variable.kind == StaticVariable::Kind::kHost) return;
    f.advice +=
      " If it is a __device__ or __constant__ variable, pass the address that cudaGetSymbolAddress gives.";
  }

  const ProcessFacts& facts_;
  DeclaredPointers pointers_{facts_};
  LibraryCalls by_libraries_{facts_};
  std::map<std::uint64_t, Range> pageable_; // by first address
  struct Found {
    std::uint64_t begin = 0;
    Range* range = nullptr; // in pageable_
  };
  std::array<Found, 4096> found_{}; // by hash()
  std::array<Suspect, 8> suspects_; // the newest
  std::size_t next_suspect_ = 0;
};

const DetectorRegistration kHostPointer{{
  .id = "host-pointer",
  .severity = Severity::kError,
  .title = "a kernel is given a pointer to host memory that the GPU cannot read",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<HostPointer>(facts);
  },
  .wants = wants(EventKind::kCopy) | wants(EventKind::kLaunch) | wants(EventKind::kGraphKernel) |
           wants(EventKind::kSync) | kWantsFailures,
}};

} // namespace
} // namespace gmt
