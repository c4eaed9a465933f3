// SPDX-License-Identifier: Apache-2.0

#include "analyzer/cuda_state/objects.h"

namespace gmt {
namespace {

using trace::LifeOp;
using trace::ObjectClass;

struct Row {
  ObjectClass object;
  ObjectTraits traits;
};

// Pools outlive contexts (cuda.h on cuCtxDestroy); graphs and libraries are made in none. Pools and
// what is imported are leaks one by one. A context's end is another matter.
constexpr bool kDies = true, kTakesMemory = true, kCode = true;
constexpr Row kRows[] = {
  {ObjectClass::kContext,
   {"a context", "contexts", "cuCtxDestroy", "cuCtxDestroy", !kDies, !kTakesMemory}},
  {ObjectClass::kStream,
   {"a stream", "streams", "cudaStreamDestroy", "cuStreamDestroy", kDies, kTakesMemory}},
  {ObjectClass::kEvent,
   {"an event", "events", "cudaEventDestroy", "cuEventDestroy", kDies, kTakesMemory}},
  {ObjectClass::kModule,
   {"a module", "modules", "cuModuleUnload", "cuModuleUnload", kDies, kTakesMemory, kCode}},
  {ObjectClass::kLibrary,
   {"a library", "libraries", "cudaLibraryUnload", "cuLibraryUnload", !kDies, kTakesMemory, kCode}},
  {ObjectClass::kPool,
   {"a memory pool", "memory pools", "cudaMemPoolDestroy", "cuMemPoolDestroy", !kDies,
    !kTakesMemory}},
  {ObjectClass::kGraph,
   {"a graph", "graphs", "cudaGraphDestroy", "cuGraphDestroy", !kDies, kTakesMemory}},
  {ObjectClass::kGraphExec,
   {"an executable graph", "executable graphs", "cudaGraphExecDestroy", "cuGraphExecDestroy", kDies,
    kTakesMemory}},
  {ObjectClass::kTexture,
   {"a texture object", "texture objects", "cudaDestroyTextureObject", "cuTexObjectDestroy", kDies,
    kTakesMemory}},
  {ObjectClass::kSurface,
   {"a surface object", "surface objects", "cudaDestroySurfaceObject", "cuSurfObjectDestroy", kDies,
    kTakesMemory}},
  {ObjectClass::kExternalMemory,
   {"external memory", "pieces of external memory", "cudaDestroyExternalMemory",
    "cuDestroyExternalMemory", !kDies, !kTakesMemory}},
  {ObjectClass::kExternalSemaphore,
   {"an external semaphore", "external semaphores", "cudaDestroyExternalSemaphore",
    "cuDestroyExternalSemaphore", !kDies, !kTakesMemory}},
  {ObjectClass::kGreenContext,
   {"a green context", "green contexts", "cuGreenCtxDestroy", "cuGreenCtxDestroy", !kDies,
    kTakesMemory}},
  {ObjectClass::kLinker,
   {"a linker", "linkers", "cuLinkDestroy", "cuLinkDestroy", !kDies, kTakesMemory, kCode}},
};

constexpr ObjectTraits kOther{"an object", "objects", "the call that destroys it",
                              "the call that destroys it"};
constexpr auto kByClass = [] {
  std::array<ObjectTraits, kObjectClasses> all;
  all.fill(kOther);
  for (const Row& row : kRows) {
    ObjectTraits& traits = all[static_cast<std::size_t>(row.object)];
    traits = row.traits;
    traits.is_tracked = true;
  }
  return all;
}();

} // namespace

const ObjectTraits& traits_of(ObjectClass object) {
  const auto index = static_cast<std::size_t>(object);
  return index < kByClass.size() ? kByClass[index] : kOther;
}

void ObjectTable::make(Class object, Handle handle, const Event& e, std::uint64_t memory) {
  if (handle == 0) return;
  objects_[index_of(object)][handle] = {.created = life_call(e),
                                        .thread = e.thread,
                                        .work_before = work_,
                                        .ended = std::nullopt,
                                        .with_context = false,
                                        .memory = memory};
}

void ObjectTable::end(Class object, Handle handle, CudaObject& known, const LifeCall& call) {
  known.ended = call;
  ended_.push_back({object, handle, call.order});
  if (ended_.size() <= kMostEnded) return;
  const Ended& oldest = ended_.front();
  auto& all = objects_[index_of(oldest.object)];
  const auto at = all.find(oldest.handle);
  const bool is_it = at != all.end() && at->second.ended && at->second.ended->order == oldest.order;
  if (is_it) all.erase(at);
  ended_.pop_front();
}

void ObjectTable::on_life(const Event& e) {
  const event::Life& life = e.life();
  const Class object = life.object;
  if (!traits_of(object).is_tracked) return;
  if (life.op == LifeOp::kCreate) return make(object, life.handle, e);
  if (life.op != LifeOp::kDestroy) return;
  const auto at = objects_[index_of(object)].find(life.handle);
  if (at == objects_[index_of(object)].end()) return;
  if (at->second.ended) destroyed_again_ = e.order;
  else end(object, life.handle, at->second, life_call(e));
}

// Neither alive nor ended for sure: nothing is claimed.
void ObjectTable::on_unsure(const Event& e) {
  const event::Life& life = e.life();
  if (life.op != LifeOp::kDestroy) return;
  auto& all = objects_[index_of(life.object)];
  const auto at = all.find(life.handle);
  if (at != all.end() && !at->second.ended) all.erase(at);
}

void ObjectTable::on_bound(const Event& e) {
  const event::Use& use = e.use();
  if (use.use == trace::UseClass::kTexture)
    make(ObjectClass::kTexture, use.object(), e, use.address);
  if (use.use == trace::UseClass::kSurface)
    make(ObjectClass::kSurface, use.object(), e, use.address);
}

// A capture may go to a graph that was there before.
void ObjectTable::on_sync(const Event& e) {
  const event::Sync& sync = e.sync();
  if (sync.op != trace::SyncOp::kEndCapture) return count_work();
  const CudaObject* known = find(ObjectClass::kGraph, sync.graph());
  if (known == nullptr || known->ended) make(ObjectClass::kGraph, sync.graph(), e);
}

// Most records of objects name no context: those end with any.
void ObjectTable::end_with_context(const Event& e, const ContextEnd& context_end,
                                   const ContextTable& contexts) {
  const LifeCall call = life_call(e);
  for (std::size_t i = 0; i < kObjectClasses; ++i) {
    const auto object = static_cast<Class>(i);
    if (!traits_of(object).dies_with_context) continue;
    for (auto& [handle, known] : objects_[i]) {
      const std::uint16_t context = known.created.context;
      if (known.ended || (context != 0 && !contexts.is_ended_by(context, context_end))) continue;
      end(object, handle, known, call);
      known.with_context = true;
    }
  }
}

} // namespace gmt
