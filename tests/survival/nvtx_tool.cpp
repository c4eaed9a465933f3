// SPDX-License-Identifier: Apache-2.0
// Another NVTX injection library, as a profiler brings one: writes each call that it hears to
// NVTX_TOOL_LOG, and gives handles and ids of its own. With the word "fails" in NVTX_TOOL_MODE its
// initialiser refuses.
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtMem.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void heard(const char* what, const char* text) {
  const char* path = std::getenv("NVTX_TOOL_LOG");
  std::FILE* file = path != nullptr ? std::fopen(path, "a") : nullptr;
  if (file == nullptr) return;
  std::fprintf(file, "%s %s\n", what, text != nullptr ? text : "-");
  std::fclose(file);
}

int push(const char* text) {
  heard("push", text);
  return 70;
}
int pop() {
  heard("pop", "");
  return 71;
}
nvtxRangeId_t start(const char* text) {
  heard("start", text);
  return 4711;
}
void end(nvtxRangeId_t id) { heard("end", id == 4711 ? "4711" : "wrong"); }
nvtxDomainHandle_t domain(const char* text) {
  heard("domain", text);
  return reinterpret_cast<nvtxDomainHandle_t>(0xd0);
}
nvtxStringHandle_t register_string(nvtxDomainHandle_t of, const wchar_t*) {
  heard("register", of == reinterpret_cast<nvtxDomainHandle_t>(0xd0) ? "in d0" : "wrong");
  return reinterpret_cast<nvtxStringHandle_t>(0x51);
}
int domain_push(nvtxDomainHandle_t, const nvtxEventAttributes_t* attributes) {
  heard("domain push", attributes->message.registered == reinterpret_cast<nvtxStringHandle_t>(0x51)
                         ? "51"
                         : "wrong");
  return 72;
}
nvtxMemHeapHandle_t heap_register(nvtxDomainHandle_t, const nvtxMemHeapDesc_t*) {
  heard("heap", "");
  return reinterpret_cast<nvtxMemHeapHandle_t>(0x4ea9);
}

int payload_pop(nvtxDomainHandle_t, const nvtxPayloadData_t* payloads, size_t count) {
  heard("payload pop", count == 1 && payloads->size == sizeof(int) ? "17" : "wrong");
  return 73;
}
nvtxRangeId_t payload_start(nvtxDomainHandle_t, const nvtxPayloadData_t*, size_t) {
  heard("payload start", "");
  return 4712;
}
void payload_end(nvtxDomainHandle_t, nvtxRangeId_t id, const nvtxPayloadData_t*, size_t) {
  heard("payload end", id == 4712 ? "4712" : "wrong");
}
uint64_t schema_register(nvtxDomainHandle_t, const nvtxPayloadSchemaAttr_t*) {
  heard("schema", "");
  return 99;
}

template <class Function> void set(NvtxFunctionTable table, unsigned id, Function* f) {
  *table[id] = reinterpret_cast<NvtxFunctionPointer>(f);
}

} // namespace

extern "C" __attribute__((visibility("default"))) int
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t tables) {
  heard("begin", "");
  const char* mode = std::getenv("NVTX_TOOL_MODE");
  if (mode != nullptr && std::strcmp(mode, "fails") == 0) return 0;
  auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(tables(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size);
  set(table, NVTX_CBID_CORE_RangePushA, push);
  set(table, NVTX_CBID_CORE_RangePop, pop);
  set(table, NVTX_CBID_CORE_RangeStartA, start);
  set(table, NVTX_CBID_CORE_RangeEnd, end);
  callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size);
  set(table, NVTX_CBID_CORE2_DomainCreateA, domain);
  set(table, NVTX_CBID_CORE2_DomainRegisterStringW, register_string);
  set(table, NVTX_CBID_CORE2_DomainRangePushEx, domain_push);
  return 1;
}

extern "C" __attribute__((visibility("default"))) int
InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) {
  const char* mode = std::getenv("NVTX_TOOL_MODE");
  if (mode != nullptr && std::strcmp(mode, "fails") == 0) return 0;
  intptr_t* slots = module->segments[0].functionSlots;
  if (module->moduleId == NVTX_EXT_MODULEID_MEM) {
    slots[NVTX3EXT_CBID_nvtxMemHeapRegister] = reinterpret_cast<intptr_t>(&heap_register);
    return 1;
  }
  if (module->moduleId != NVTX_EXT_PAYLOAD_MODULEID) return 0;
  slots[NVTX3EXT_CBID_nvtxRangePopPayload] = reinterpret_cast<intptr_t>(&payload_pop);
  slots[NVTX3EXT_CBID_nvtxRangeStartPayload] = reinterpret_cast<intptr_t>(&payload_start);
  slots[NVTX3EXT_CBID_nvtxRangeEndPayload] = reinterpret_cast<intptr_t>(&payload_end);
  slots[NVTX3EXT_CBID_nvtxPayloadSchemaRegister] = reinterpret_cast<intptr_t>(&schema_register);
  return 1;
}
