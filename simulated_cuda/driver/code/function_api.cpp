// SPDX-License-Identifier: Apache-2.0
// Kernels and functions: names, parameters, attributes, enumeration, occupancy.
// Called through driver_api.def with the lock held. CUfunction and CUkernel are the same object
// here. Invariant: enumeration shows the kernels the image declares; an opaque image shows those
// that were asked for. It is one file because most calls are there twice, for functions and for
// kernels.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/code/library.h"
#include "simulated_cuda/driver/entry.h"
#include "simulated_cuda/driver/execution/capability.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <algorithm>
#include <cstddef>

namespace gmt::sim {
namespace {

constexpr int kMaxThreads = 1024, kWarp = 32, kMostBlocks = 32;
constexpr int kThreadsPerProcessor = 2048;
constexpr int kProcessors = 132;
constexpr int kSharedBytesOfBlock = 49152; // unless the kernel asks for more
constexpr std::size_t kSharedBytesOfProcessor = 233472, kReservedSharedBytes = 1024;

std::vector<Kernel*> all_kernels(Library* library) {
  CUkernel ignored = nullptr;
  for (const auto& entry : library->image.kernels)
    library_get_kernel(&ignored, reinterpret_cast<CUlibrary>(library), entry.first.c_str());
  std::vector<Kernel*> kernels;
  for (const auto& entry : library->kernels) kernels.push_back(entry.second.get());
  return kernels;
}

Library* library_of(CUmodule handle) {
  const Module* module = Module::get(handle);
  return module == nullptr ? nullptr : module->library;
}

CUresult get_name(const char** name, const void* handle) {
  const Kernel* kernel = find_kernel(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = kernel->name.c_str();
  return CUDA_SUCCESS;
}

CUresult get_parameter(const void* handle, std::size_t index, std::size_t* offset,
                       std::size_t* size) {
  const Kernel* kernel = find_kernel(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!kernel->parameters_known) return not_simulated("parameters of code without PTX");
  if (offset == nullptr || index >= kernel->parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = kernel->parameters[index].offset;
  if (size != nullptr) *size = kernel->parameters[index].size;
  return CUDA_SUCCESS;
}

// The code of a kernel as the executor reads it; null if it is not executed. Its instance in the
// current context if there is one: reading code once is enough.
const executor::Kernel* code_of(const Kernel& kernel) {
  const Library& library = *kernel.library;
  if (library.image.first_use != nullptr) return library.image.first_use->find_kernel(kernel.name);
  for (const auto& module : library.modules)
    if (module->code != nullptr) return module->code->find_kernel(kernel.name);
  return nullptr;
}

int target_of(const Kernel& kernel) {
  const Library& library = *kernel.library;
  if (library.image.first_use != nullptr)
    return static_cast<int>(library.image.first_use->target());
  for (const auto& module : library.modules)
    if (module->code != nullptr) return static_cast<int>(module->code->target());
  return static_cast<int>(claimed_capability());
}

int most_threads(const executor::Kernel* code) {
  return code == nullptr || code->max_threads == 0
           ? kMaxThreads
           : std::min(kMaxThreads, static_cast<int>(code->max_threads));
}

int static_shared_bytes(const executor::Kernel* code) {
  return code == nullptr ? 0 : static_cast<int>(code->shared_bytes);
}

using Attributes = std::map<int, int>;

// The value of the first of both that has one.
const int* first_set(const Attributes& first, const Attributes& second, int attribute) {
  for (const Attributes* attributes : {&first, &second}) {
    if (const auto found = attributes->find(attribute); found != attributes->end())
      return &found->second;
  }
  return nullptr;
}

// `set`: the value that was set, or null.
CUresult get_attribute(int* value, CUfunction_attribute attribute, const Kernel& kernel,
                       const int* set) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const executor::Kernel* code = code_of(kernel);
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    *value = static_cast<int>(cluster_of(kernel, {0, 0, 0}).x);
    break;
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    *value = static_cast<int>(cluster_of(kernel, {0, 0, 0}).y);
    break;
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    *value = static_cast<int>(cluster_of(kernel, {0, 0, 0}).z);
    break;
  case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    *value = cluster_of(kernel, {0, 0, 0}).x != 0 ? 1 : 0;
    break;
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = most_threads(code); break;
  case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 32; break;
  case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = target_of(kernel); break;
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = static_cast<int>(claimed_capability()); break;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = static_shared_bytes(code); break;
  case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    *value = code == nullptr ? 0 : static_cast<int>(code->constant_bytes);
    break;
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    *value = code == nullptr ? 0 : static_cast<int>(code->local_bytes);
    break;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *value = set == nullptr ? kSharedBytesOfBlock - static_shared_bytes(code) : *set;
    break;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    *value = set == nullptr ? -1 : *set;
    break;
  default:
    if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
    *value = set == nullptr ? 0 : *set;
    break;
  }
  return CUDA_SUCCESS;
}

CUresult set_attribute(CUfunction_attribute attribute, int value, const Kernel& kernel,
                       Attributes& attributes) {
  constexpr int kMostDynamic = 232448;
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
      (value < 0 || value > kMostDynamic - static_shared_bytes(code_of(kernel))))
    return CUDA_ERROR_INVALID_VALUE;
  if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT &&
      (value < -1 || value > 100))
    return CUDA_ERROR_INVALID_VALUE;
  attributes[attribute] = value;
  return CUDA_SUCCESS;
}

int active_blocks(const Kernel& kernel, int size, std::size_t dynamic_bytes) {
  const int threads = (size + kWarp - 1) / kWarp * kWarp;
  const std::size_t shared =
    static_cast<std::size_t>(static_shared_bytes(code_of(kernel))) + dynamic_bytes;
  const auto by_memory =
    static_cast<int>(kSharedBytesOfProcessor / (shared + kReservedSharedBytes));
  return std::min({kMostBlocks, kThreadsPerProcessor / threads, by_memory});
}

CUresult accept(const void* handle) {
  return find_kernel(handle) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

} // namespace

const int* set_attribute_of(const Kernel& kernel, CUfunction_attribute attribute) {
  return first_set(kernel.attributes_of_function, kernel.attributes_of_kernel, attribute);
}

std::size_t most_dynamic_shared_bytes(const Kernel& kernel) {
  const int* set = set_attribute_of(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  const int most =
    set != nullptr ? *set : kSharedBytesOfBlock - static_shared_bytes(code_of(kernel));
  return most < 0 ? 0 : static_cast<std::size_t>(most);
}

executor::Extent cluster_of(const Kernel& kernel, const unsigned (&asked)[3]) {
  if (asked[0] != 0) return {asked[0], asked[1], asked[2]};
  const executor::Kernel* code = code_of(kernel);
  return code == nullptr ? executor::Extent{0, 0, 0} : code->required_cluster;
}

int most_threads_of_block(const Kernel& kernel) { return most_threads(code_of(kernel)); }

unsigned long long most_resident_blocks(const Kernel& kernel, int threads,
                                        std::size_t dynamic_bytes) {
  const int blocks = active_blocks(kernel, threads, dynamic_bytes);
  return static_cast<unsigned long long>(blocks) * kProcessors;
}

CUresult module_get_function_count(unsigned* count, CUmodule module) {
  Library* library = library_of(module);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<unsigned>(all_kernels(library).size());
  return CUDA_SUCCESS;
}

CUresult module_enumerate_functions(CUfunction* functions, unsigned count, CUmodule module) {
  Library* library = library_of(module);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return library_enumerate_kernels(reinterpret_cast<CUkernel*>(functions), count,
                                   reinterpret_cast<CUlibrary>(library));
}

CUresult library_get_kernel_count(unsigned* count, CUlibrary handle) {
  Library* library = state().libraries.get(handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<unsigned>(all_kernels(library).size());
  return CUDA_SUCCESS;
}

CUresult library_enumerate_kernels(CUkernel* kernels, unsigned count, CUlibrary handle) {
  Library* library = state().libraries.get(handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (kernels == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto all = all_kernels(library);
  for (unsigned i = 0; i < count && i < all.size(); ++i)
    kernels[i] = reinterpret_cast<CUkernel>(all[i]);
  return CUDA_SUCCESS;
}

CUresult kernel_get_function(CUfunction* out, CUkernel kernel) {
  if (find_kernel(kernel) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

CUresult kernel_get_library(CUlibrary* out, CUkernel handle) {
  const Kernel* kernel = find_kernel(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = reinterpret_cast<CUlibrary>(kernel->library);
  return CUDA_SUCCESS;
}

CUresult func_get_module(CUmodule* out, CUfunction handle) {
  const Kernel* kernel = find_kernel(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return library_get_module(out, reinterpret_cast<CUlibrary>(kernel->library));
}

CUresult kernel_get_name(const char** name, CUkernel kernel) { return get_name(name, kernel); }
CUresult func_get_name(const char** name, CUfunction function) { return get_name(name, function); }
CUresult kernel_get_param_info(CUkernel k, std::size_t i, std::size_t* o, std::size_t* s) {
  return get_parameter(k, i, o, s);
}
CUresult func_get_param_info(CUfunction f, std::size_t i, std::size_t* o, std::size_t* s) {
  return get_parameter(f, i, o, s);
}
CUresult kernel_get_attribute(int* value, CUfunction_attribute attribute, CUkernel handle,
                              CUdevice) {
  const Kernel* kernel = find_kernel(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return get_attribute(
    value, attribute, *kernel,
    first_set(kernel->attributes_of_kernel, kernel->attributes_of_function, attribute));
}
CUresult func_get_attribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
  const Kernel* kernel = find_kernel(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return get_attribute(value, attribute, *kernel, set_attribute_of(*kernel, attribute));
}
CUresult kernel_set_attribute(CUfunction_attribute attribute, int value, CUkernel handle,
                              CUdevice) {
  Kernel* kernel = find_kernel(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return set_attribute(attribute, value, *kernel, kernel->attributes_of_kernel);
}
CUresult func_set_attribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  Kernel* kernel = find_kernel(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return set_attribute(attribute, value, *kernel, kernel->attributes_of_function);
}
CUresult kernel_set_cache_config(CUkernel kernel, CUfunc_cache, CUdevice) { return accept(kernel); }
CUresult func_set_cache_config(CUfunction function, CUfunc_cache) { return accept(function); }
CUresult func_set_shared_mem_config(CUfunction function, CUsharedconfig) {
  return accept(function);
}
CUresult func_load(CUfunction function) { return accept(function); }
CUresult func_is_loaded(CUfunctionLoadingState* loaded, CUfunction function) {
  if (loaded != nullptr) *loaded = CU_FUNCTION_LOADING_STATE_LOADED;
  return accept(function);
}

CUresult occupancy_max_active_blocks_per_multiprocessor(int* blocks, CUfunction function, int size,
                                                        std::size_t dynamic_bytes) {
  if (CUresult bad = accept(function); bad != CUDA_SUCCESS) return bad;
  if (blocks == nullptr || size <= 0 || size > kMaxThreads) return CUDA_ERROR_INVALID_VALUE;
  *blocks = active_blocks(*find_kernel(function), size, dynamic_bytes);
  return CUDA_SUCCESS;
}

CUresult occupancy_max_active_blocks_per_multiprocessor_with_flags(int* blocks, CUfunction f, int n,
                                                                   std::size_t s, unsigned) {
  return occupancy_max_active_blocks_per_multiprocessor(blocks, f, n, s);
}

// The block size that has most threads on a multiprocessor at once; of equal ones the largest.
CUresult occupancy_max_potential_block_size(int* grid, int* block, CUfunction function,
                                            CUoccupancyB2DSize bytes_of, std::size_t bytes,
                                            int limit) {
  if (CUresult bad = accept(function); bad != CUDA_SUCCESS) return bad;
  if (grid == nullptr || block == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Kernel& kernel = *find_kernel(function);
  const int most = most_threads(code_of(kernel));
  int best_threads = 0;
  for (int size = limit > 0 ? std::min(limit, most) : most; size > 0; size -= kWarp) {
    const int blocks = active_blocks(kernel, size, bytes_of != nullptr ? bytes_of(size) : bytes);
    if (blocks * size <= best_threads) continue;
    best_threads = blocks * size;
    *block = size;
    *grid = kProcessors * blocks;
  }
  return best_threads == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult occupancy_max_potential_block_size_with_flags(int* grid, int* block, CUfunction function,
                                                       CUoccupancyB2DSize size_of,
                                                       std::size_t bytes, int limit, unsigned) {
  return occupancy_max_potential_block_size(grid, block, function, size_of, bytes, limit);
}

// Clusters do not reach over the processors of a GPC, of which as many are usable as on an H100
// that was asked: two have 18, five 16, one 8, and eight processors are by twos. Another one may
// have others.
CUresult occupancy_max_active_clusters(int* clusters, CUfunction function,
                                       const CUlaunchConfig* config) {
  if (CUresult bad = accept(function); bad != CUDA_SUCCESS) return bad;
  if (clusters == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  static constexpr unsigned kProcessorsOfGpcs[] = {18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2};
  constexpr unsigned kMostBlocksOfClusters = 8; // of a processor
  unsigned asked[3] = {0, 0, 0};
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config->attrs[i];
    if (attribute.id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    asked[0] = attribute.value.clusterDim.x;
    asked[1] = attribute.value.clusterDim.y;
    asked[2] = attribute.value.clusterDim.z;
  }
  const Kernel& kernel = *find_kernel(function);
  const auto size =
    static_cast<unsigned>(std::max(cluster_of(kernel, asked).count(), std::uint64_t{1}));
  const auto threads = config->blockDimX * config->blockDimY * config->blockDimZ;
  if (threads == 0 || threads > static_cast<unsigned>(kMaxThreads)) return CUDA_ERROR_INVALID_VALUE;
  if (size > kProcessorsOfGpcs[0]) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  const unsigned blocks =
    std::min(kMostBlocksOfClusters, static_cast<unsigned>(active_blocks(
                                      kernel, static_cast<int>(threads), config->sharedMemBytes)));
  unsigned sum = 0;
  for (const unsigned processors : kProcessorsOfGpcs) {
    if (processors >= size) sum += processors * blocks / size;
  }
  *clusters = static_cast<int>(sum);
  return CUDA_SUCCESS;
}

CUresult occupancy_max_potential_cluster_size(int* size, CUfunction function,
                                              const CUlaunchConfig* config) {
  if (CUresult bad = accept(function); bad != CUDA_SUCCESS) return bad;
  if (size == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const int* allowed =
    set_attribute_of(*find_kernel(function), CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
  *size = allowed != nullptr && *allowed != 0 ? 16 : 8;
  return CUDA_SUCCESS;
}

CUresult occupancy_available_dynamic_smem_per_block(std::size_t* bytes, CUfunction function,
                                                    int blocks, int) {
  if (CUresult bad = accept(function); bad != CUDA_SUCCESS) return bad;
  if (bytes == nullptr || blocks <= 0) return CUDA_ERROR_INVALID_VALUE;
  const Kernel& kernel = *find_kernel(function);
  const auto fixed = static_cast<std::size_t>(static_shared_bytes(code_of(kernel)));
  const std::size_t share = kSharedBytesOfProcessor / static_cast<std::size_t>(blocks);
  *bytes = std::min(most_dynamic_shared_bytes(kernel), share > fixed ? share - fixed : 0);
  return CUDA_SUCCESS;
}

} // namespace gmt::sim
