// SPDX-License-Identifier: Apache-2.0

#include "analyzer/detectors/shared/object_words.h"

#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {

using trace::ObjectClass;

const ObjectWords& words_of(ObjectClass object) {
  static constexpr ObjectWords kStream{"a stream", "streams", "cudaStreamDestroy",
                                       "cuStreamDestroy"};
  static constexpr ObjectWords kEvent{"an event", "events", "cudaEventDestroy", "cuEventDestroy"};
  static constexpr ObjectWords kModule{"a module", "modules", "cuModuleUnload", "cuModuleUnload"};
  static constexpr ObjectWords kLibrary{"a library", "libraries", "cudaLibraryUnload",
                                        "cuLibraryUnload"};
  static constexpr ObjectWords kPool{"a memory pool", "memory pools", "cudaMemPoolDestroy",
                                     "cuMemPoolDestroy"};
  static constexpr ObjectWords kGraph{"a graph", "graphs", "cudaGraphDestroy", "cuGraphDestroy"};
  static constexpr ObjectWords kGraphExec{"an executable graph", "executable graphs",
                                          "cudaGraphExecDestroy", "cuGraphExecDestroy"};
  static constexpr ObjectWords kTexture{"a texture object", "texture objects",
                                        "cudaDestroyTextureObject", "cuTexObjectDestroy"};
  static constexpr ObjectWords kSurface{"a surface object", "surface objects",
                                        "cudaDestroySurfaceObject", "cuSurfObjectDestroy"};
  static constexpr ObjectWords kMemory{"external memory", "pieces of external memory",
                                       "cudaDestroyExternalMemory", "cuDestroyExternalMemory"};
  static constexpr ObjectWords kSemaphore{"an external semaphore", "external semaphores",
                                          "cudaDestroyExternalSemaphore",
                                          "cuDestroyExternalSemaphore"};
  static constexpr ObjectWords kGreenContext{"a green context", "green contexts",
                                             "cuGreenCtxDestroy", "cuGreenCtxDestroy"};
  static constexpr ObjectWords kContext{"a context", "contexts", "cuCtxDestroy", "cuCtxDestroy"};
  static constexpr ObjectWords kOther{"an object", "objects", "the call that destroys it",
                                      "the call that destroys it"};
  switch (object) {
  case ObjectClass::kStream: return kStream;
  case ObjectClass::kEvent: return kEvent;
  case ObjectClass::kModule: return kModule;
  case ObjectClass::kLibrary: return kLibrary;
  case ObjectClass::kPool: return kPool;
  case ObjectClass::kGraph: return kGraph;
  case ObjectClass::kGraphExec: return kGraphExec;
  case ObjectClass::kTexture: return kTexture;
  case ObjectClass::kSurface: return kSurface;
  case ObjectClass::kExternalMemory: return kMemory;
  case ObjectClass::kExternalSemaphore: return kSemaphore;
  case ObjectClass::kGreenContext: return kGreenContext;
  case ObjectClass::kContext: return kContext;
  default: return kOther;
  }
}

ApiWord right_destroy_for(ObjectClass object, std::string_view api) {
  const ObjectWords& words = words_of(object);
  return {is_runtime_name(api), words.driver, words.destroy};
}

void add_life(Finding& f, const CudaObject& object, StackOrder order, const TraceNames& names) {
  if (object.ended) {
    const StackRole role = object.with_context ? StackRole::kContextEnded : StackRole::kDestroyed;
    f.stacks.push_back(
      stack_as(role, object.ended->stack, names.api_name(object.ended->api), order));
  }
  f.stacks.push_back(
    stack_as(StackRole::kCreated, object.created.stack, names.api_name(object.created.api)));
}

} // namespace gmt
