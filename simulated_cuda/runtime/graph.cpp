// SPDX-License-Identifier: Apache-2.0
// The graph calls whose descriptions differ between runtime and driver: kernels, copies, sets, and
// cudaGraphAddNode. Called through runtime_api.def; everything else about graphs is forwarded by
// rows of that table. Invariant: host stubs and symbols are resolved here, so the driver only ever
// sees kernels and addresses.
#include "simulated_cuda/runtime/api.h"
#include "simulated_cuda/runtime/copy_kinds.h"
#include "simulated_cuda/runtime/registration.h"

#include <cstddef>

namespace gmt::sim {
namespace {

CUcontext current_context() {
  CUcontext context = nullptr;
  driver().cuCtxGetCurrent(&context);
  return context;
}

cudaError_t make_kernel(const void* stub, dim3 grid, dim3 block, unsigned shared, void** arguments,
                        void** extra, CUDA_KERNEL_NODE_PARAMS* out) {
  CUkernel kernel = nullptr;
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  if (cudaError_t error = kernel_of(stub, &kernel); error != cudaSuccess) return error;
  *out = {};
  if (CUresult result = driver().cuKernelGetFunction(&out->func, kernel); result != CUDA_SUCCESS)
    return to_runtime(result);
  out->gridDimX = grid.x;
  out->gridDimY = grid.y;
  out->gridDimZ = grid.z;
  out->blockDimX = block.x;
  out->blockDimY = block.y;
  out->blockDimZ = block.z;
  out->sharedMemBytes = shared;
  out->kernelParams = arguments;
  out->extra = extra;
  return cudaSuccess;
}

cudaError_t make_kernel(const cudaKernelNodeParams* p, CUDA_KERNEL_NODE_PARAMS* out) {
  if (p == nullptr) return cudaErrorInvalidValue;
  return make_kernel(p->func, p->gridDim, p->blockDim, p->sharedMemBytes, p->kernelParams, p->extra,
                     out);
}

cudaError_t make_copy(const cudaMemcpy3DParms* p, CUDA_MEMCPY3D* out) {
  bool empty = false;
  if (p == nullptr) return cudaErrorInvalidValue;
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  const cudaError_t error = make_copy_3d(*p, out, &empty);
  return error == cudaSuccess && empty ? cudaErrorInvalidValue : error;
}

cudaError_t make_row(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                     CUDA_MEMCPY3D* out) {
  if (!kind_is_known(kind)) return cudaErrorInvalidMemcpyDirection;
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  *out = {};
  set_source(*out, source_type(kind), from, 0);
  set_destination(*out, destination_type(kind), to, 0);
  out->WidthInBytes = bytes;
  out->Height = 1;
  out->Depth = 1;
  return cudaSuccess;
}

cudaError_t address_in_symbol(const void* symbol, std::size_t bytes, std::size_t offset,
                              char** target) {
  CUdeviceptr address = 0;
  std::size_t size = 0;
  if (cudaError_t error = variable_of(symbol, &address, &size); error != cudaSuccess) return error;
  if (offset > size || bytes > size - offset) return cudaErrorInvalidValue;
  *target = reinterpret_cast<char*>(address) + offset;
  return cudaSuccess;
}

CUDA_MEMSET_NODE_PARAMS make_set(const cudaMemsetParams& p) {
  return {reinterpret_cast<CUdeviceptr>(p.dst), p.pitch, p.value, p.elementSize, p.width, p.height};
}

cudaKernelNodeParams kernel_params(const cudaGraphNodeParams& params) {
  const cudaKernelNodeParamsV2& k = params.kernel;
  return {k.func, k.gridDim, k.blockDim, k.sharedMemBytes, k.kernelParams, k.extra};
}

cudaMemsetParams set_params(const cudaGraphNodeParams& params) {
  const cudaMemsetParamsV2& m = params.memset;
  return {m.dst, m.pitch, m.value, m.elementSize, m.width, m.height};
}

// The kinds that kernel_params(), set_params() and make_copy() do not translate are described alike
// on both levels.
CUgraphNodeParams* as_driver(cudaGraphNodeParams* params) {
  static_assert(sizeof(cudaGraphNodeParams) == sizeof(CUgraphNodeParams));
  return reinterpret_cast<CUgraphNodeParams*>(params);
}

cudaError_t add_copy(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs,
                     std::size_t count, const CUDA_MEMCPY3D& copy) {
  return to_runtime(
    driver().cuGraphAddMemcpyNode(node, graph, needs, count, &copy, current_context()));
}

} // namespace

cudaError_t graph_add_kernel_node(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* needs, std::size_t count,
                                  const cudaKernelNodeParams* params) {
  CUDA_KERNEL_NODE_PARAMS kernel{};
  const cudaError_t error = make_kernel(params, &kernel);
  return error != cudaSuccess
           ? error
           : to_runtime(driver().cuGraphAddKernelNode(node, graph, needs, count, &kernel));
}

cudaError_t graph_kernel_node_set_params(cudaGraphNode_t node, const cudaKernelNodeParams* params) {
  CUDA_KERNEL_NODE_PARAMS kernel{};
  const cudaError_t error = make_kernel(params, &kernel);
  return error != cudaSuccess ? error
                              : to_runtime(driver().cuGraphKernelNodeSetParams(node, &kernel));
}

cudaError_t graph_exec_kernel_node_set_params(cudaGraphExec_t exec, cudaGraphNode_t node,
                                              const cudaKernelNodeParams* params) {
  CUDA_KERNEL_NODE_PARAMS kernel{};
  const cudaError_t error = make_kernel(params, &kernel);
  return error != cudaSuccess
           ? error
           : to_runtime(driver().cuGraphExecKernelNodeSetParams(exec, node, &kernel));
}

cudaError_t graph_add_memcpy_node(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* needs, std::size_t count,
                                  const cudaMemcpy3DParms* params) {
  CUDA_MEMCPY3D copy{};
  const cudaError_t error = make_copy(params, &copy);
  return error != cudaSuccess ? error : add_copy(node, graph, needs, count, copy);
}

cudaError_t graph_memcpy_node_set_params(cudaGraphNode_t node, const cudaMemcpy3DParms* params) {
  CUDA_MEMCPY3D copy{};
  const cudaError_t error = make_copy(params, &copy);
  return error != cudaSuccess ? error
                              : to_runtime(driver().cuGraphMemcpyNodeSetParams(node, &copy));
}

cudaError_t graph_exec_memcpy_node_set_params(cudaGraphExec_t exec, cudaGraphNode_t node,
                                              const cudaMemcpy3DParms* params) {
  CUDA_MEMCPY3D copy{};
  const cudaError_t error = make_copy(params, &copy);
  if (error != cudaSuccess) return error;
  return to_runtime(driver().cuGraphExecMemcpyNodeSetParams(exec, node, &copy, current_context()));
}

cudaError_t graph_add_memcpy_node_1d(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* needs, std::size_t count, void* to,
                                     const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  CUDA_MEMCPY3D row{};
  const cudaError_t error = make_row(to, from, bytes, kind, &row);
  return error != cudaSuccess ? error : add_copy(node, graph, needs, count, row);
}

cudaError_t graph_exec_memcpy_node_set_params_1d(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                 void* to, const void* from, std::size_t bytes,
                                                 cudaMemcpyKind kind) {
  CUDA_MEMCPY3D row{};
  const cudaError_t error = make_row(to, from, bytes, kind, &row);
  if (error != cudaSuccess) return error;
  return to_runtime(driver().cuGraphExecMemcpyNodeSetParams(exec, node, &row, current_context()));
}

cudaError_t graph_add_memcpy_node_to_symbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                            const cudaGraphNode_t* needs, std::size_t count,
                                            const void* symbol, const void* from, std::size_t bytes,
                                            std::size_t offset, cudaMemcpyKind kind) {
  char* target = nullptr;
  if (cudaError_t error = address_in_symbol(symbol, bytes, offset, &target); error != cudaSuccess)
    return error;
  return graph_add_memcpy_node_1d(node, graph, needs, count, target, from, bytes, kind);
}

cudaError_t graph_add_memcpy_node_from_symbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                              const cudaGraphNode_t* needs, std::size_t count,
                                              void* to, const void* symbol, std::size_t bytes,
                                              std::size_t offset, cudaMemcpyKind kind) {
  char* target = nullptr;
  if (cudaError_t error = address_in_symbol(symbol, bytes, offset, &target); error != cudaSuccess)
    return error;
  return graph_add_memcpy_node_1d(node, graph, needs, count, to, target, bytes, kind);
}

cudaError_t graph_memcpy_node_set_params_1d(cudaGraphNode_t node, void* to, const void* from,
                                            std::size_t bytes, cudaMemcpyKind kind) {
  CUDA_MEMCPY3D row{};
  const cudaError_t error = make_row(to, from, bytes, kind, &row);
  return error != cudaSuccess ? error : to_runtime(driver().cuGraphMemcpyNodeSetParams(node, &row));
}

cudaError_t graph_memcpy_node_set_params_to_symbol(cudaGraphNode_t node, const void* symbol,
                                                   const void* from, std::size_t bytes,
                                                   std::size_t offset, cudaMemcpyKind kind) {
  char* target = nullptr;
  const cudaError_t error = address_in_symbol(symbol, bytes, offset, &target);
  return error != cudaSuccess ? error
                              : graph_memcpy_node_set_params_1d(node, target, from, bytes, kind);
}

cudaError_t graph_memcpy_node_set_params_from_symbol(cudaGraphNode_t node, void* to,
                                                     const void* symbol, std::size_t bytes,
                                                     std::size_t offset, cudaMemcpyKind kind) {
  char* source = nullptr;
  const cudaError_t error = address_in_symbol(symbol, bytes, offset, &source);
  return error != cudaSuccess ? error
                              : graph_memcpy_node_set_params_1d(node, to, source, bytes, kind);
}

cudaError_t graph_exec_memcpy_node_set_params_to_symbol(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                        const void* symbol, const void* from,
                                                        std::size_t bytes, std::size_t offset,
                                                        cudaMemcpyKind kind) {
  char* target = nullptr;
  const cudaError_t error = address_in_symbol(symbol, bytes, offset, &target);
  return error != cudaSuccess
           ? error
           : graph_exec_memcpy_node_set_params_1d(exec, node, target, from, bytes, kind);
}

cudaError_t graph_exec_memcpy_node_set_params_from_symbol(cudaGraphExec_t exec,
                                                          cudaGraphNode_t node, void* to,
                                                          const void* symbol, std::size_t bytes,
                                                          std::size_t offset, cudaMemcpyKind kind) {
  char* source = nullptr;
  const cudaError_t error = address_in_symbol(symbol, bytes, offset, &source);
  return error != cudaSuccess
           ? error
           : graph_exec_memcpy_node_set_params_1d(exec, node, to, source, bytes, kind);
}

// As the program described it, and host memory as host memory.
cudaError_t graph_memcpy_node_get_params(cudaGraphNode_t node, cudaMemcpy3DParms* params) {
  CUDA_MEMCPY3D copy{};
  if (params == nullptr) return cudaErrorInvalidValue;
  const CUresult result = driver().cuGraphMemcpyNodeGetParams(node, &copy);
  return result != CUDA_SUCCESS ? to_runtime(result) : describe_copy_3d(copy, params);
}

cudaError_t graph_kernel_node_get_params(cudaGraphNode_t node, cudaKernelNodeParams* params) {
  CUDA_KERNEL_NODE_PARAMS kernel{};
  if (params == nullptr) return cudaErrorInvalidValue;
  if (CUresult result = driver().cuGraphKernelNodeGetParams(node, &kernel); result != CUDA_SUCCESS)
    return to_runtime(result);
  params->func = const_cast<void*>(stub_of(reinterpret_cast<CUkernel>(kernel.func)));
  params->gridDim = dim3(kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ);
  params->blockDim = dim3(kernel.blockDimX, kernel.blockDimY, kernel.blockDimZ);
  params->sharedMemBytes = kernel.sharedMemBytes;
  params->kernelParams = kernel.kernelParams;
  params->extra = kernel.extra;
  return cudaSuccess;
}

cudaError_t graph_add_memset_node(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* needs, std::size_t count,
                                  const cudaMemsetParams* params) {
  if (params == nullptr) return cudaErrorInvalidValue;
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  const CUDA_MEMSET_NODE_PARAMS set = make_set(*params);
  return to_runtime(
    driver().cuGraphAddMemsetNode(node, graph, needs, count, &set, current_context()));
}

cudaError_t graph_exec_memset_node_set_params(cudaGraphExec_t exec, cudaGraphNode_t node,
                                              const cudaMemsetParams* params) {
  if (params == nullptr) return cudaErrorInvalidValue;
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  const CUDA_MEMSET_NODE_PARAMS set = make_set(*params);
  return to_runtime(driver().cuGraphExecMemsetNodeSetParams(exec, node, &set, current_context()));
}

cudaError_t graph_conditional_handle_create(cudaGraphConditionalHandle* handle, cudaGraph_t graph,
                                            unsigned at_launch, unsigned flags) {
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  CUgraphConditionalHandle made = 0;
  const CUresult result = driver().cuGraphConditionalHandleCreate(
    handle == nullptr ? nullptr : &made, graph, current_context(), at_launch, flags);
  if (result == CUDA_SUCCESS) *handle = made;
  return to_runtime(result);
}

cudaError_t graph_add_node(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs,
                           const cudaGraphEdgeData* edges, std::size_t count,
                           cudaGraphNodeParams* params) {
  if (params == nullptr) return cudaErrorInvalidValue;
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  if (params->type == cudaGraphNodeTypeKernel) {
    const cudaKernelNodeParams kernel = kernel_params(*params);
    return graph_add_kernel_node(node, graph, needs, count, &kernel);
  }
  if (params->type == cudaGraphNodeTypeMemcpy)
    return graph_add_memcpy_node(node, graph, needs, count, &params->memcpy.copyParams);
  if (params->type == cudaGraphNodeTypeMemset) {
    const cudaMemsetParams set = set_params(*params);
    return graph_add_memset_node(node, graph, needs, count, &set);
  }
  return to_runtime(driver().cuGraphAddNode(
    node, graph, needs, reinterpret_cast<const CUgraphEdgeData*>(edges), count, as_driver(params)));
}

cudaError_t graph_node_set_params(cudaGraphNode_t node, cudaGraphNodeParams* params) {
  if (params == nullptr) return cudaErrorInvalidValue;
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  if (params->type == cudaGraphNodeTypeKernel) {
    const cudaKernelNodeParams kernel = kernel_params(*params);
    return graph_kernel_node_set_params(node, &kernel);
  }
  if (params->type == cudaGraphNodeTypeMemcpy)
    return graph_memcpy_node_set_params(node, &params->memcpy.copyParams);
  if (params->type == cudaGraphNodeTypeMemset) {
    const CUDA_MEMSET_NODE_PARAMS set = make_set(set_params(*params));
    return to_runtime(driver().cuGraphMemsetNodeSetParams(node, &set));
  }
  return to_runtime(driver().cuGraphNodeSetParams(node, as_driver(params)));
}

cudaError_t graph_exec_node_set_params(cudaGraphExec_t exec, cudaGraphNode_t node,
                                       cudaGraphNodeParams* params) {
  if (params == nullptr) return cudaErrorInvalidValue;
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  if (params->type == cudaGraphNodeTypeKernel) {
    const cudaKernelNodeParams kernel = kernel_params(*params);
    return graph_exec_kernel_node_set_params(exec, node, &kernel);
  }
  if (params->type == cudaGraphNodeTypeMemcpy)
    return graph_exec_memcpy_node_set_params(exec, node, &params->memcpy.copyParams);
  if (params->type == cudaGraphNodeTypeMemset) {
    const cudaMemsetParams set = set_params(*params);
    return graph_exec_memset_node_set_params(exec, node, &set);
  }
  return to_runtime(driver().cuGraphExecNodeSetParams(exec, node, as_driver(params)));
}

} // namespace gmt::sim
