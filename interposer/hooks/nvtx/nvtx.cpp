// SPDX-License-Identifier: Apache-2.0
// NVTX injection without CUPTI: NVTX_INJECTION64_PATH names this library, so each object with NVTX
// compiled in looks InitializeInjectionNvtx2 up here and hands over its table of functions. A
// library that the user had named installs itself first; then we put our handlers over its own and
// call on to them. An answer of 1 means that a tool is there. Interface:
// nvtx3/nvtxDetail/nvtxInit.h and nvtxTypes.h.
#include "interposer/hooks/nvtx/handlers.h"

#include "interposer/hooks/nvtx/chain.h"
#include "interposer/log/nvtx_ranges.h"

namespace gmt::interposer {

namespace {

using Before = NvtxFunctionPointer[kHandlers];

// Where the object keeps the function of a handler's call; null if its NVTX is too old to know it.
NvtxFunctionPointer* pointer_of(const NvtxExportTableCallbacks& callbacks,
                                const Handler& handler) noexcept {
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks.GetModuleFunctionTable(handler.module, &table, &size) == 0 || table == nullptr)
    return nullptr;
  return handler.id < size ? table[handler.id] : nullptr;
}

void remember(const NvtxExportTableCallbacks& callbacks, Before& before) noexcept {
  for (unsigned i = 0; i < kHandlers; ++i) {
    const NvtxFunctionPointer* pointer = pointer_of(callbacks, handlers[i]);
    before[i] = pointer != nullptr ? *pointer : nullptr;
  }
}

// What another library has put there meanwhile is called from our handler. All objects share one
// handler, so where a library installs different functions into different objects, the later ones
// stay as they are, and we do not hear of them.
void install(const NvtxExportTableCallbacks& callbacks, const Before& before,
             bool chained) noexcept {
  for (unsigned i = 0; i < kHandlers; ++i) {
    NvtxFunctionPointer* pointer = pointer_of(callbacks, handlers[i]);
    if (pointer == nullptr) continue;
    if (chained && *pointer != before[i] && *pointer != nullptr) {
      auto* theirs = reinterpret_cast<void*>(*pointer);
      void* known = nullptr;
      NextHandler& next = next_handlers[handlers[i].module][handlers[i].id];
      if (!next.compare_exchange_strong(known, theirs) && known != theirs) continue;
    }
    *pointer = handlers[i].ours;
  }
}

} // namespace

extern "C" __attribute__((visibility("default"))) int
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t tables) {
  using Initialize = int (*)(NvtxGetExportTableFunc_t);
  const auto next = reinterpret_cast<Initialize>(next_injection("InitializeInjectionNvtx2"));
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(tables(NVTX_ETID_CALLBACKS));
  const bool usable =
    callbacks != nullptr && callbacks->struct_size >= sizeof(NvtxExportTableCallbacks);
  Before before = {};
  if (usable) remember(*callbacks, before);
  const bool chained = next != nullptr && next(tables) != 0;
  if (!usable) return chained ? 1 : 0;
  begin_ranges();
  install(*callbacks, before, chained);
  return 1;
}

} // namespace gmt::interposer
