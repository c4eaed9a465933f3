// SPDX-License-Identifier: Apache-2.0
// NVTX's extensions hand over the slots of their functions one module at a time, for each object
// that has the extension compiled in. A library that the user had named installs itself first; then
// we put our handlers over its own, which call on to them. Slots that neither of us fills are
// switched off by NVTX. An answer of 1 means that a tool is there. Interface:
// nvtx3/nvtxDetail/nvtxExtInit.h and nvtxExtTypes.h.
#include "interposer/hooks/nvtx/extension.h"

#include <nvtx3/nvToolsExtMem.h> // brings the types of the interface

#include "interposer/hooks/nvtx/chain.h"
#include "interposer/log/nvtx_ranges.h"

namespace gmt::interposer {

namespace {

void install(const NvtxExtension& extension, nvtxExtModuleSegment_t& segment,
             bool chained) noexcept {
  constexpr std::intptr_t kDisabled = 1; // nvtxExtImpl.h: NVTX_EXTENSION_DISABLED; 0 is not set yet
  for (unsigned id = 0; id < extension.slots && id < segment.slotCount; ++id) {
    if (extension.ours[id] == nullptr) continue;
    std::intptr_t& slot = segment.functionSlots[id];
    if (chained && slot != 0 && slot != kDisabled) {
      void* known = nullptr;
      auto* theirs = reinterpret_cast<void*>(slot);
      if (!extension.next_of[id].compare_exchange_strong(known, theirs) && known != theirs)
        continue; // as in nvtx.cpp
    }
    slot = reinterpret_cast<std::intptr_t>(extension.ours[id]);
  }
}

const NvtxExtension* extension_of(const nvtxExtModuleInfo_t& module) noexcept {
  for (const NvtxExtension* extension : {&memory_extension, &payload_extension}) {
    if (module.moduleId == extension->module && module.compatId >= extension->first_compat &&
        module.compatId <= extension->last_compat) {
      return extension;
    }
  }
  return nullptr;
}

} // namespace

extern "C" __attribute__((visibility("default"))) int
InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) {
  using Initialize = int (*)(nvtxExtModuleInfo_t*);
  const auto next =
    reinterpret_cast<Initialize>(next_injection("InitializeInjectionNvtxExtension"));
  const bool chained = next != nullptr && next(module) != 0;
  if (module == nullptr || module->segmentsCount == 0 || module->segments == nullptr)
    return chained ? 1 : 0;
  const NvtxExtension* extension = extension_of(*module);
  if (extension == nullptr) return chained ? 1 : 0;
  begin_ranges();
  install(*extension, module->segments[0], chained);
  return 1;
}

} // namespace gmt::interposer
