// SPDX-License-Identifier: Apache-2.0
// How work reaches a stream: submit() executes an operation at once, in call order, or records it
// if the stream is capturing. Invariant: an operation is checked when it is submitted, so a mistake
// is answered by the call that made it, as the real driver does for everything it can see on the
// host.
#pragma once

#include "simulated_cuda/driver/state/state.h"
#include "simulated_cuda/driver/streams/graph.h"

namespace gmt::sim {

// The stream behind a handle (0, 1 and 2 included) in the current context; nullptr if there is
// none.
Stream* find_stream(CUstream handle);

// Executes or captures. `node` receives the captured node's handle, or nullptr.
CUresult submit(CUstream stream, Operation operation, GraphNode** node = nullptr);

// Executes an operation on a stream without looking at capture: for graph launches.
CUresult execute(Stream& stream, Operation& operation, unsigned long long graph_flags);

// Sleeps until the host functions this stream has to wait for are done.
void wait_for_host_functions(Stream& stream);
void wait_for_all_host_functions(Context* context);
bool host_functions_pending(const Stream& stream);
bool any_host_function_pending();

// Runs `function(argument)` on the driver's own thread, after what that thread already has to do.
void post_host_function(Stream* stream, CUhostFn function, void* argument);
void post_stream_callback(Stream* stream, CUstreamCallback callback, void* argument);

// For calls that capture forbids (allocation, synchronisation): 0 if allowed, else the error, and
// captures are invalid.
CUresult refuse_while_capturing();
void invalidate(Capture& capture);

// Of copies, sets and launches: check what can be checked, then do it.
CUresult check_copy(const CUDA_MEMCPY3D& copy);
CUresult do_copy(const CUDA_MEMCPY3D& copy);
bool uses_pageable_memory(const CUDA_MEMCPY3D& copy); // of a checked copy
CUresult check_set(const CUDA_MEMSET_NODE_PARAMS& set);
CUresult do_set(const CUDA_MEMSET_NODE_PARAMS& set);
CUresult check_launch(const KernelOperation& kernel);
CUresult do_launch(const KernelOperation& kernel, const Stream& stream);
// From now on called at every launch
void watch_launches(void (*ran)(CUcontext context, const char* kernel));

// Any context copies other devices' plain memory, but of mappings and pools only what its device
// may use. The contexts are those that a copy between two or a graph's node names, else the current
// one: whose the stream is does not matter (two H100, driver 580). copy_api.cpp
bool is_copy_reached(const CUDA_MEMCPY3D& copy, const Context* to, const Context* from);
// A copy that is ready to run may get other memory of the same devices (CUDA Driver API,
// cuGraphExecMemcpyNodeSetParams; two H100, driver 580).
bool keeps_devices(const CUDA_MEMCPY3D& now, const CUDA_MEMCPY3D& then);

// What an allocation node and cuMemFreeAsync do.
CUresult prepare_alloc_node(AllocOperation& alloc);
CUresult allocate_graph_block(AllocOperation& alloc, unsigned long long graph_flags);
CUresult free_stream_ordered(CUdeviceptr address);

} // namespace gmt::sim
