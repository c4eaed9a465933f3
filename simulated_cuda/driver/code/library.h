// SPDX-License-Identifier: Apache-2.0
// Loaded code: libraries (context-independent), their instances in contexts (modules) and kernels.
// Lock held.
// Invariant: a CUfunction and a CUkernel are the same Kernel object here; it lives as long as its
// library. Variables of a library exist once in each context that asked for them.
#pragma once

#include "simulated_cuda/driver/code/image.h"
#include "simulated_cuda/driver/state/handles.h"
#include "simulated_cuda/driver/streams/graph.h"

#include <cuda.h>

#include <compare>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gmt::sim {

struct Context;
struct Library;

struct Kernel : Listed<Kernel> {
  std::string name;
  Library* library = nullptr;
  std::vector<Parameter> parameters;
  bool parameters_known = false;
  // Set by cuFuncSetAttribute, and by cuKernelSetAttribute or the runtime. A launch takes the
  // function's value if there is one, whatever is set on the kernel behind it, as on a GPU.
  std::map<int, int> attributes_of_function, attributes_of_kernel;
  mutable unsigned long long launches = 0;
};

// Which variable of a library. Files that were linked may each have one of their own by the same
// name, such as the text of a printf(): they have different numbers, as in the code.
struct VariableKey {
  std::string name;
  std::size_t number = 0; // 0: the one that the name means
  auto operator<=>(const VariableKey&) const = default;
};
using VariableAddresses = std::map<VariableKey, CUdeviceptr>;

struct Module : Listed<Module> {
  Library* library = nullptr;
  Context* context = nullptr;
  bool prepared = false;                  // its code is read and its variables exist
  std::unique_ptr<executor::Module> code; // null: no kernel of it can be executed
  VariableAddresses variables;
};

struct Library {
  Image image;
  bool is_module = false; // made by cuModuleLoad*: belongs to one context and ends with it
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
  std::vector<std::unique_ptr<Module>> modules;
  VariableAddresses managed;
};

// Null: the library has none of the name.
Kernel* kernel_named(Library* library, const char* name);
inline Kernel* find_kernel(const void* handle) { return Kernel::get(handle); }

// What a launch of the kernel takes of an attribute that can be set; null: it was not set.
const int* set_attribute_of(const Kernel& kernel, CUfunction_attribute attribute);
// What a launch may ask for, and how many blocks a cooperative one may have.
std::size_t most_dynamic_shared_bytes(const Kernel& kernel);
int most_threads_of_block(const Kernel& kernel);
// The blocks of a cluster, if a launch says `asked` or else the kernel itself has them; 0: there
// are no clusters.
executor::Extent cluster_of(const Kernel& kernel, const unsigned (&asked)[3]);
unsigned long long most_resident_blocks(const Kernel& kernel, int threads,
                                        std::size_t dynamic_bytes);
void unload_from_context(Context* context);
KernelOperation make_kernel_operation(const CUDA_KERNEL_NODE_PARAMS& params);

} // namespace gmt::sim
