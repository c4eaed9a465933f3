// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/code/instance.h"

#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/green_contexts.h"
#include "simulated_cuda/driver/state/placed.h"
#include "simulated_cuda/driver/state/state.h"

#include <algorithm>
#include <cstring>

namespace gmt::sim {
namespace {

void write_first_value(CUdeviceptr base, std::size_t size, const std::vector<std::byte>& value) {
  std::byte* memory = state().blocks.view(base, size);
  std::memset(memory, 0, size);
  if (!value.empty()) std::memcpy(memory, value.data(), std::min(size, value.size()));
  state().memory.mark_initialized(base, size);
}

CUresult make_variable(Module* module, const VariableKey& key, const Variable& variable) {
  Device* device = module->context->device;
  Block block;
  block.size = variable.size;
  if (!take_placed_variable(key.name, &block)) {
    block.base = device->take(std::max<std::size_t>(variable.size, 1));
    block.to_host = device->to_host();
  }
  const CUdeviceptr base = block.base;
  if (base == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  block.kind = BlockKind::kGlobal;
  block.context = module->context;
  block.device = device;
  block.library = module->library;
  state().blocks.add(block);
  write_first_value(base, variable.size, variable.first_value);
  module->variables[key] = base;
  return CUDA_SUCCESS;
}

// A replay puts it at its address, and no host uses it.
bool put_managed(Library* library, const VariableKey& key, const Variable& variable) {
  Block block;
  block.size = variable.size;
  if (!take_placed_variable(key.name, &block)) return false;
  block.kind = BlockKind::kGlobal;
  block.context = this_thread().current();
  block.device = &current_device();
  block.library = library;
  state().blocks.add(block);
  library->managed[key] = block.base;
  write_first_value(block.base, variable.size, variable.first_value);
  return true;
}

// `made`: it did not exist yet.
CUresult make_managed(Library* library, const VariableKey& key, const Variable& variable,
                      bool* made) {
  CUdeviceptr& base = library->managed[key];
  *made = base == 0 || state().blocks.at_base(base) == nullptr;
  if (!*made || put_managed(library, key, variable)) return CUDA_SUCCESS;
  const CUresult result = mem_alloc_managed(&base, variable.size, CU_MEM_ATTACH_GLOBAL);
  if (result != CUDA_SUCCESS) return result;
  Block& block = *state().blocks.at_base(base);
  block.flags |= kStaticVariable;
  block.library = library;
  write_first_value(base, variable.size, variable.first_value);
  return CUDA_SUCCESS;
}

// All variables first: the value of one may be the address of another.
CUresult make_variables_of_code(Module& module) {
  const auto& variables = module.code->variables();
  std::vector<CUdeviceptr> without_value(variables.size()); // 0: it has its value already
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const VariableKey key{variables[i].name, variables[i].is_named ? 0 : i + 1};
    Variable variable;
    variable.size = variables[i].size;
    bool is_new = true;
    const CUresult result = variables[i].managed
                              ? make_managed(module.library, key, variable, &is_new)
                              : make_variable(&module, key, variable);
    if (result != CUDA_SUCCESS) return result;
    const CUdeviceptr address =
      variables[i].managed ? module.library->managed[key] : module.variables[key];
    if (is_new) without_value[i] = address;
    module.code->set_address(i, address);
  }
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (without_value[i] == 0 || !variables[i].has_initial) continue;
    write_first_value(without_value[i], variables[i].size, module.code->initial_bytes(i));
  }
  return CUDA_SUCCESS;
}

} // namespace

std::string variable_of(const Block& block) {
  std::string found;
  const auto look = [&](const VariableAddresses& variables) {
    for (const auto& [key, address] : variables) {
      if (address == block.base) found = key.name;
    }
  };
  if (block.library == nullptr) return found;
  look(block.library->managed);
  for (const auto& module : block.library->modules) look(module->variables);
  return found;
}

Module* instance_in(Library* library, Context* current) {
  Context* const context = context_of_code(current);
  for (const auto& module : library->modules) {
    if (module->context == context) return module.get();
  }
  auto module = std::make_unique<Module>();
  module->library = library;
  module->context = context;
  library->modules.push_back(std::move(module));
  return library->modules.back().get();
}

CUresult prepare(Module& module) {
  if (module.prepared) return CUDA_SUCCESS;
  module.code = load_ptx(module.library->image);
  const CUresult result = module.code == nullptr ? CUDA_SUCCESS : make_variables_of_code(module);
  module.prepared = result == CUDA_SUCCESS;
  if (!module.prepared) free_variables(&module);
  return result;
}

CUresult get_managed(CUdeviceptr* address, std::size_t* bytes, Library* library, const char* name) {
  const auto it = library->image.variables.find(name);
  if (it == library->image.variables.end() || !it->second.managed) return CUDA_ERROR_NOT_FOUND;
  Context* context = this_thread().current();
  if (context != nullptr) {
    if (CUresult bad = prepare(*instance_in(library, context)); bad != CUDA_SUCCESS) return bad;
  }
  bool made = false;
  const CUresult result = make_managed(library, {name}, it->second, &made);
  if (result != CUDA_SUCCESS) return result;
  if (address != nullptr) *address = library->managed[{name}];
  if (bytes != nullptr) *bytes = it->second.size;
  return CUDA_SUCCESS;
}

CUresult get_global(CUdeviceptr* address, std::size_t* bytes, Module* module, const char* name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto it = module->library->image.variables.find(name);
  if (it == module->library->image.variables.end()) return CUDA_ERROR_NOT_FOUND;
  if (it->second.managed) return get_managed(address, bytes, module->library, name);
  if (CUresult bad = prepare(*module); bad != CUDA_SUCCESS) return bad;
  if (module->variables[{name}] == 0) {
    const CUresult result = make_variable(module, {name}, it->second);
    if (result != CUDA_SUCCESS) return result;
  }
  if (address != nullptr) *address = module->variables[{name}];
  if (bytes != nullptr) *bytes = it->second.size;
  return CUDA_SUCCESS;
}

void free_variables(Module* module) {
  for (const auto& [key, base] : module->variables) {
    Block* block = state().blocks.at_base(base);
    if (block != nullptr) release_block(*block);
  }
  module->variables.clear();
}

void free_managed_variables(Library* library) {
  for (const auto& [key, base] : library->managed) {
    Block* block = state().blocks.at_base(base);
    if (block != nullptr) release_block(*block);
  }
}

} // namespace gmt::sim
