// SPDX-License-Identifier: Apache-2.0
// The list of owners and its matching. A rule needs the library's file; where a library also hands
// memory to its callers, it needs the function of the part that keeps it as well. So that a
// stripped library without function names still matches where the file alone says enough, "*" is
// used there.

#include "analyzer/analysis/owners.h"

#include <algorithm>

#include "analyzer/base/glob.h"
#include "analyzer/base/path.h"
#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/trace_reader/stack_table.h"

namespace gmt {
namespace {

constexpr OwnerRule kRules[] = {
  {"PyTorch's caching allocator", "*/libc10_cuda*.so*", "*CUDACachingAllocator*",
   "it keeps freed blocks for reuse"},
  {"PyTorch's caching allocator", "*/libc10_cuda*.so*", "*ExpandableSegment*",
   "it keeps freed blocks for reuse"},
  {"PyTorch's caching allocator", "*/libc10_cuda*.so*", "*cudaMallocMaybeCapturing*",
   "it keeps freed blocks for reuse"},
  {"PyTorch's pinned memory cache", "*/libtorch_cuda*.so*", "*CachingHostAllocator*",
   "it keeps freed blocks for reuse"},
  {"PyTorch's cuBLAS workspace", "*/libtorch_cuda*.so*", "*getCUDABlasHandle*",
   "it keeps one a handle and stream"},
  {"PyTorch's cuBLAS workspace", "*/libtorch_cuda*.so*", "*CublasWorkspace*",
   "it keeps one a handle and stream"},
  // What programs ask PyTorch for comes from its caches; this is its own.
  {"PyTorch", "*/libtorch_cuda*.so*", "*", "it keeps it as long as the process lives"},
  {"XLA's allocator", "*/xla_cuda_plugin*.so*", "*",
   "it takes most of the device once and hands it out itself"},
  {"XLA's allocator", "*/xla_extension*.so*", "*",
   "it takes most of the device once and hands it out itself"},
  {"XLA's allocator", "*/libjax_common*.so*", "*",
   "it takes most of the device once and hands it out itself"},
  {"JAX", "*/jax*/*.so", "jax::HandlePool<*", "it keeps handles of libraries for reuse"},
  {"JAX", "*/jax_cuda*_plugin/*.so", "*", "it keeps handles of libraries for reuse"},
  {"TensorFlow's allocator", "*/libtensorflow_framework*.so*", "*",
   "it takes most of the device once and hands it out itself"},
  {"TensorFlow's allocator", "*/_pywrap_tensorflow*.so*", "*",
   "it takes most of the device once and hands it out itself"},
  {"CuPy's memory pool", "*/cupy/cuda/memory.*.so", "*SingleDeviceMemoryPool*",
   "it keeps freed blocks for reuse"},
  {"CuPy's pinned memory pool", "*/cupy/cuda/pinned_memory.*.so", "*PinnedMemoryPool*",
   "it keeps freed blocks for reuse"},
  // Known by Python's own frames: its native ones are those of every caller of ctypes.
  {"Numba's queue of deferred frees", "*/numba/cuda/cudadrv/*.py", "?*",
   "it frees in batches, and leaves the last one to the process's end"},
  {"RAPIDS Memory Manager's pool", "*/librmm.so*", "*pool_memory_resource*",
   "it keeps freed blocks for reuse"},
  {"cuBLAS", "*/libcublas.so*", "*", "its workspace lives as long as the handle"},
  {"cuBLASLt", "*/libcublasLt.so*", "*", "its workspace lives as long as the handle"},
  {"cuDNN", "*/libcudnn*.so*", "*", "its workspace lives as long as the handle"},
  {"NCCL", "*/libnccl.so*", "*", "its buffers live as long as the communicator"},
};

// Those that keep streams, events, modules and the like, besides the above.
constexpr OwnerRule kObjectRules[] = {
  {"PyTorch", "*/libc10_cuda*.so*", "*", "it keeps them for reuse"},
  {"Triton", "*/libtriton*.so*", "*", "it keeps the kernels that it has compiled"},
  {"Triton", "*/cuda_utils*.so", "*", "it keeps the kernels that it has compiled"},
  {"TensorRT", "*/libnvinfer*.so*", "*", "it keeps them as long as the engine lives"},
  {"ONNX Runtime", "*/libonnxruntime*.so*", "*", "it keeps them as long as the session lives"},
  {"Warp", "*/warp/bin/warp*.so", "*", "it keeps the kernels that it has compiled"},
  {"CuPy", "*/cupy/cuda/function.*.so", "*Module*", "it keeps the kernels that it has compiled"},
  {"CuPy", "*/cupy/_core/*.so", "?*", "it keeps the kernels that it has compiled"},
};

// PyTorch's allocator says what it gives out: interposer/hooks/tensors.h.
constexpr struct {
  std::string_view owner;
  UnseenParts parts;
} kUnseenParts[] = {
  {"XLA's allocator", {"arrays of XLA and JAX", "XLA_PYTHON_CLIENT_ALLOCATOR=platform"}},
  {"TensorFlow's allocator", {"tensors of TensorFlow", "TF_GPU_ALLOCATOR=cuda_malloc_async"}},
  {"CuPy's memory pool", {"arrays of CuPy", "cupy.cuda.set_allocator(None)"}},
  {"RAPIDS Memory Manager's pool",
   {"memory of RMM's pool", "rmm.reinitialize(pool_allocator=False)"}},
};

// Libraries whose code the user cannot change, besides those above that are known by their file
// alone. What they allocate belongs to a plan or handle that their caller made.
constexpr struct {
  std::string_view name, module;
} kLibraries[] = {
  {"cuFFT", "*/libcufft*.so*"},       {"cuSPARSE", "*/libcusparse*.so*"},
  {"cuSOLVER", "*/libcusolver*.so*"}, {"cuRAND", "*/libcurand.so*"},
  {"NPP", "*/libnpp*.so*"},           {"nvJPEG", "*/libnvjpeg.so*"},
};

bool is_of_library(const Frame& frame) {
  return std::ranges::any_of(
    kLibraries, [&frame](const auto& library) { return glob_match(library.module, frame.module); });
}

bool is_cuda_or_us(const Frame& frame) {
  return glob_match("*/libcuda.so*", frame.module) || glob_match("*/libcudart.so*", frame.module) ||
         glob_match("*/libgpumemtrace.so*", frame.module);
}

// A rule by function may match anywhere in the stack. One by file alone must match the frame that
// made the CUDA call, or called the library that did: a user's code that such a library calls back
// is no owner.
const OwnerRule* owner_of(const std::vector<Frame>& frames, std::span<const OwnerRule> rules) {
  const auto caller = std::ranges::find_if_not(
    frames, [](const Frame& frame) { return is_cuda_or_us(frame) || is_of_library(frame); });
  for (auto frame = caller; frame != frames.end(); ++frame) {
    const std::string& file = frame->language == "python" ? frame->file : frame->module;
    for (const OwnerRule& rule : rules) {
      if (rule.function == "*" && frame != caller) continue;
      if (glob_match(rule.module, file) && glob_match(rule.function, frame->function)) return &rule;
    }
  }
  return nullptr;
}

// What a stack says of whose the memory or the object is; null if it says nothing.
const OwnerRule* owner_of(const FindingStack& stack) {
  const OwnerRule* rule = owner_of(stack.frames, kRules);
  if (rule == nullptr && stack.role == StackRole::kCreated)
    rule = owner_of(stack.frames, kObjectRules);
  return rule;
}

bool names_owner(StackRole role) {
  return role == StackRole::kAllocated || role == StackRole::kRegistered ||
         role == StackRole::kCreated;
}

// Of a stack whose frames were not asked for nothing is known.
bool lacks_frames(const FindingStack& stack) {
  if (!names_owner(stack.role)) return false;
  const auto is_native = [](const Frame& frame) { return frame.language.empty(); };
  const bool is_of_python = !stack.frames.empty() && std::ranges::none_of(stack.frames, is_native);
  return stack.stack.value == 0 || stack.stack.value > StackTable::kMostStacks || is_of_python;
}

// The accesses of a library's own kernels. A kernel that no file holds was loaded from memory (the
// trace keeps it as "image-0"), by the library that launches it.
void apply_to_accesses(Finding& finding) {
  if (finding.stacks.empty() || finding.stacks.front().frames.empty()) return;
  const std::string& module = finding.stacks.front().frames.front().module;
  std::string_view library = owner_of_module(module);
  const bool from_memory = base_name(module).starts_with("image-");
  if (from_memory && finding.stacks.size() > 1) {
    const std::vector<Frame>& launch = finding.stacks[1].frames;
    const auto caller = std::ranges::find_if_not(launch, is_cuda_or_us);
    if (caller != launch.end()) library = owner_of_module(caller->module);
  }
  if (library.empty()) return;
  finding.severity = Severity::kNote;
  finding.owner = {std::string(library), {}};
}

bool is_launch(StackRole role) {
  return role == StackRole::kLaunched || role == StackRole::kGraphLaunched ||
         role == StackRole::kCaptured || role == StackRole::kNodeMade;
}

// The fault of a library's kernel stays an error: most often the program gave it wrong pointers or
// sizes. Who launched it, or made its node, says whose it is.
void apply_to_fault(Finding& finding) {
  std::string_view library;
  for (const FindingStack& stack : finding.stacks) {
    if (!is_launch(stack.role)) continue;
    const auto caller = std::ranges::find_if_not(stack.frames, is_cuda_or_us);
    const std::string_view its =
      caller != stack.frames.end() ? owner_of_module(caller->module) : std::string_view();
    // The program launches graphs itself: who made the node counts.
    if (stack.role != StackRole::kGraphLaunched || !its.empty()) library = its;
    if (stack.role == StackRole::kLaunched && library.empty()) return; // one of two candidates
  }
  if (library.empty()) return;
  finding.owner = {std::string(library), {}};
  finding.message += cat({"; the kernel is one of ", library, "'s own"});
  finding.advice = cat({"Check the pointers, sizes and layouts that the program gave to ", library,
                        ", and that the memory lives until its kernels are done."});
}

// What PyTorch's cache gave back because the program asked for it, it would have used again.
bool is_emptied_by_program(const Finding& finding) {
  return std::ranges::any_of(finding.stacks, [](const FindingStack& stack) {
    return stack.role == StackRole::kFreed &&
           std::ranges::any_of(stack.frames, [](const Frame& frame) {
             return frame.language == "python" && frame.function == "empty_cache" &&
                    glob_match("*/torch/cuda/memory.py", frame.file);
           });
  });
}

} // namespace

std::span<const OwnerRule> owner_rules() { return kRules; }

UnseenParts unseen_parts_of(std::string_view owner) {
  for (const auto& [name, parts] : kUnseenParts)
    if (name == owner) return parts;
  return {};
}

std::string_view owner_of_module(std::string_view path) {
  const auto rule = std::ranges::find_if(
    kRules, [path](const OwnerRule& r) { return r.function == "*" && glob_match(r.module, path); });
  if (rule != std::end(kRules)) return rule->owner;
  const auto known = std::ranges::find_if(
    kLibraries, [path](const auto& library) { return glob_match(library.module, path); });
  return known != std::end(kLibraries) ? known->name : std::string_view();
}

void apply_owner_rules(Finding& finding) {
  if (finding.fault) return apply_to_fault(finding);
  const DetectorInfo* kind = detector_of(finding.kind);
  if (kind == nullptr || kind->owner_excuse.advice == nullptr) return;
  if (is_emptied_by_program(finding)) {
    finding.advice =
      "torch.cuda.empty_cache() gives memory to the driver that PyTorch takes from it "
      "again: leave it out, or call it where other programs need the memory.";
    return;
  }
  if (finding.access) return apply_to_accesses(finding);
  const OwnerRule* owner = nullptr;
  for (const FindingStack& stack : finding.stacks) {
    if (!names_owner(stack.role)) continue;
    const OwnerRule* rule = owner_of(stack);
    // What lists several call sites is a library's if all of them are.
    const bool is_one_of_several = stack.amount.has_value();
    if (is_one_of_several && (rule == nullptr || (owner != nullptr && rule->owner != owner->owner)))
      return;
    if (owner == nullptr) owner = rule;
  }
  if (owner == nullptr) return;
  finding.severity = Severity::kNote;
  finding.owner = {std::string(owner->owner), std::string(owner->why)};
}

void excuse_cut_stacks(std::span<Finding> findings, std::span<const Module> modules) {
  const auto rule = std::ranges::find_if(kRules, [modules](const OwnerRule& r) {
    return std::ranges::any_of(
      modules, [&r](const Module& module) { return glob_match(r.module, module.path); });
  });
  if (rule == std::end(kRules)) return;
  for (Finding& finding : findings) {
    const DetectorInfo* kind = detector_of(finding.kind);
    if (kind == nullptr || kind->owner_excuse.advice == nullptr ||
        std::ranges::none_of(finding.stacks, lacks_frames))
      continue;
    finding.severity = Severity::kNote;
    finding.message +=
      cat({"; its call stack is known in part, and ", rule->owner, " may hold it: ", rule->why});
  }
}

} // namespace gmt
