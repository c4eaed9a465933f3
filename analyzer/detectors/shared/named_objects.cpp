// SPDX-License-Identifier: Apache-2.0

#include "analyzer/detectors/shared/named_objects.h"

#include "trace/cuda_constants.h"
#include "trace/cuda_results.h"
#include "trace/object_class.h"

namespace gmt {

using Kind = EventKind;
using trace::LifeOp;
using trace::ObjectClass;
using trace::SyncOp;

void NamedObjects::add_all(const Event& call) {
  switch (call.kind) {
  case Kind::kLife: return add_of_life(call);
  case Kind::kSync: return add_of_sync(call);
  case Kind::kGraphKernel: return add(ObjectClass::kGraph, call.graph_kernel().graph);
  case Kind::kGraphChange: return add(ObjectClass::kGraph, call.graph_change().graph);
  case Kind::kNote: {
    if (!call.from_runtime) return;
    const event::Note& note = call.note();
    for (const std::uint64_t argument : {note.first, note.second, note.third, note.fourth})
      add_any(argument);
    return;
  }
  case Kind::kAlloc: {
    const event::Allocation& alloc = call.allocation();
    add(ObjectClass::kPool, alloc.shape->pool);
    if (alloc.memory_kind == trace::MemoryKind::kGraph)
      return add(ObjectClass::kGraph, alloc.graph());
    if (alloc.memory_kind == trace::MemoryKind::kVmmHandle) return;
    break;
  }
  case Kind::kFree:
    if (call.free().function == trace::FreeFunction::kGraphFreeNode)
      return add(ObjectClass::kGraph, call.free().graph());
    break;
  case Kind::kUse: {
    const event::Use& use = call.use();
    if (use.use == trace::UseClass::kGraphNode) return add(ObjectClass::kGraph, use.graph());
    if (use.use == trace::UseClass::kTexture || use.use == trace::UseClass::kSurface ||
        use.use == trace::UseClass::kAccess)
      return;
    break;
  }
  default: break;
  }
  add(ObjectClass::kStream, named_stream(call));
}

void NamedObjects::add(ObjectClass object, std::uint64_t handle) {
  if (handle <= cuda::kStreamPerThread || count_ + 1 >= all_.size()) return;
  all_[count_++] = {object, handle};
  // What is called a graph may be an executable one as well.
  if (object == ObjectClass::kGraph) all_[count_++] = {ObjectClass::kGraphExec, handle};
}

void NamedObjects::add_any(std::uint64_t handle) {
  for (const ObjectClass object :
       {ObjectClass::kStream, ObjectClass::kEvent, ObjectClass::kGraph, ObjectClass::kPool})
    add(object, handle);
}

void NamedObjects::add_of_life(const Event& call) {
  const event::Life& life = call.life();
  const ObjectClass object = life.object;
  if (life.op != LifeOp::kCreate) return add(object, life.handle);
  if (object == ObjectClass::kGraphExec || object == ObjectClass::kGraph)
    add(ObjectClass::kGraph, life.parent());
}

void NamedObjects::add_of_sync(const Event& call) {
  const event::Sync& sync = call.sync();
  switch (sync.op) {
  case SyncOp::kGraphLaunch:
  case SyncOp::kGraphUpload: add(ObjectClass::kGraphExec, sync.executable_graph()); break;
  case SyncOp::kEventRecord:
  case SyncOp::kStreamWaitEvent:
  case SyncOp::kEventQuery:
  case SyncOp::kEventSynchronize: add(ObjectClass::kEvent, sync.event()); break;
  case SyncOp::kContextRecord:
  case SyncOp::kContextWait: return add(ObjectClass::kEvent, sync.event());
  case SyncOp::kElapsedTime:
    add(ObjectClass::kEvent, sync.event());
    return add(ObjectClass::kEvent, sync.first_event());
  default: break;
  }
  add(ObjectClass::kStream, sync.stream);
}

bool may_blame_handle(const Event& call) {
  switch (call.result) {
  case kResultInFlight:
  case cuda::CUDA_ERROR_INVALID_VALUE:
  case cuda::CUDA_ERROR_INVALID_CONTEXT:
  case cuda::CUDA_ERROR_INVALID_HANDLE:
  case cuda::CUDA_ERROR_CONTEXT_IS_DESTROYED: return true;
  default: return false;
  }
}

NamedObject destroyed_by(const Event& call, std::string_view runtime_name) {
  static constexpr struct {
    std::string_view name;
    ObjectClass object;
  } kDestroys[] = {
    {"cudaStreamDestroy", ObjectClass::kStream},
    {"cudaEventDestroy", ObjectClass::kEvent},
    {"cudaGraphDestroy", ObjectClass::kGraph},
    {"cudaGraphExecDestroy", ObjectClass::kGraphExec},
    {"cudaMemPoolDestroy", ObjectClass::kPool},
    {"cudaDestroyTextureObject", ObjectClass::kTexture},
    {"cudaDestroySurfaceObject", ObjectClass::kSurface},
    {"cudaLibraryUnload", ObjectClass::kLibrary},
    {"cudaDestroyExternalMemory", ObjectClass::kExternalMemory},
  };
  if (call.kind == Kind::kLife) {
    const event::Life& life = call.life();
    if (life.op == LifeOp::kDestroy) return {life.object, life.handle};
  } else if (call.kind == Kind::kNote && call.from_runtime) {
    for (const auto& destroy : kDestroys) {
      if (destroy.name == runtime_name) return {destroy.object, call.note().first};
    }
  }
  return {ObjectClass::kContext, 0};
}

} // namespace gmt
