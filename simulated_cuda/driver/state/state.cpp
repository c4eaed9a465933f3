// SPDX-License-Identifier: Apache-2.0
// Construction of the driver's state, the per-thread state, and the end of a context.
// The per-thread state is plain initial-exec storage: the first access in a thread may happen
// inside a signal handler.
#include "simulated_cuda/driver/state/state.h"

#include "simulated_cuda/driver/code/library.h"
#include "simulated_cuda/driver/state/mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace gmt::sim {

State::State() : settings(read_settings()) {}

State& state() {
  static State* const instance = new State;
  return *instance;
}

ThreadState& this_thread() {
  static thread_local ThreadState thread __attribute__((tls_model("initial-exec")));
  if (thread.id == 0) thread.id = gettid();
  return thread;
}

Device* State::device(CUdevice ordinal) {
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= devices.size()) return nullptr;
  return devices[static_cast<std::size_t>(ordinal)].get();
}

Context* State::context(CUcontext handle) {
  for (const auto& context : contexts) {
    if (context.get() == reinterpret_cast<Context*>(handle)) return context.get();
  }
  return nullptr;
}

bool Context::may_use(const Block& block) const {
  // Peer access is to what cudaMalloc gave, not to variables (two H100, driver 580)
  if (block.kind == BlockKind::kGlobal) return block.device == device;
  const bool has_no_list = block.kind == BlockKind::kDevice;
  if (has_no_list && block.device != device) return peers.contains(block.context);
  return block.is_listed_for(device->ordinal);
}

void release_block(Block& block) {
  State& s = state();
  switch (block.kind) {
  case BlockKind::kDevice:
  case BlockKind::kGlobal: block.device->give(block.base, block.size); break;
  case BlockKind::kPool: {
    Pool* pool = block.pool;
    pool->used.shrink(block.size);
    block.device->give(block.base, block.size);
    if (pool->destroyed && pool->used.current == 0) s.pools.take(pool);
    break;
  }
  case BlockKind::kPoolImport: {
    Pool* pool = block.pool;
    unmap_foreign(block);
    pool->used.shrink(block.size);
    if (pool->destroyed && pool->used.current == 0) s.pools.take(pool);
    break;
  }
  case BlockKind::kIpc:
  case BlockKind::kExternal: unmap_foreign(block); break;
  case BlockKind::kGraph:
    block.device->graph_memory.shrink(block.size); // the range itself stays with the graph
    break;
  case BlockKind::kPinned:
    if (Pool* pool = block.pool) { // of the host
      pool->used.shrink(block.size);
      if (pool->destroyed && pool->used.current == 0) s.pools.take(pool);
    }
    unmap_behind_guard(reinterpret_cast<void*>(block.base), block.size);
    break;
  case BlockKind::kManaged:
    unmap_host_memory(reinterpret_cast<void*>(block.base), block.size);
    break;
  case BlockKind::kRegistered:
  case BlockKind::kVmm: break;
  }
  s.blocks.remove(block.base);
}

void end_context(Context* context) {
  State& s = state();
  const auto belongs = [context](const auto& object) { return object.context == context; };
  s.textures.remove_if(belongs);
  s.mipmapped.remove_if(belongs);
  s.arrays.for_each([&](Array& array) {
    if (belongs(array) && !array.is_level && array.memory != 0)
      array.context->device->give(array.memory, array.bytes);
  });
  s.arrays.remove_if(belongs);
  unload_from_context(context);
  s.blocks.for_each([&](Block& block) {
    const bool outlives = block.kind == BlockKind::kPool || block.kind == BlockKind::kPoolImport ||
                          block.kind == BlockKind::kVmm || block.kind == BlockKind::kGraph;
    if (block.context == context && !outlives) release_block(block);
  });
  s.external_memory.remove_if(belongs);
  s.events.remove_if(belongs);
  s.captures.remove_if([&](const Capture& capture) { return capture.origin->context == context; });
  s.streams.remove_if(belongs);
  context->per_thread.clear();
  context->legacy.reset();
  context->peers.clear();
  context->limits.clear();
  context->sticky = CUDA_SUCCESS;
  context->heap_in_use = false;
  context->heap.reset();
  context->alive = false;
}

} // namespace gmt::sim
