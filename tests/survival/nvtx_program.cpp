// SPDX-License-Identifier: Apache-2.0
// Says things by NVTX around CUDA calls: nvtx_program WHAT. test_nvtx.py compares the trace with
// what is said here. Sizes of allocations name the moment: each is made once.
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtMem.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "cuda_calls.h"

extern "C" void nvtx_part(void (*inside)()); // the other object that has NVTX compiled in

namespace {

u64 allocate(u64 bytes) {
  u64 address = 0;
  cuMemAlloc_v2(&address, bytes);
  return address;
}

nvtxEventAttributes_t event(const char* text) {
  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = text;
  return attributes;
}

// Every way to open, close, mark and name; ranges that are open before the first CUDA call.
int words() {
  nvtxMarkA("before CUDA");
  nvtxNameOsThreadA(static_cast<unsigned>(gettid()), "main thread");
  const nvtxRangeId_t early = nvtxRangeStartA("process range");
  std::string passing = "epoch 1";
  int levels = nvtxRangePushA(passing.c_str()); // 0
  passing = "this string is another one by now";
  nvtxRangePushA("nothing happens in here");
  nvtxRangePop();
  allocate(1);
  levels += 10 * nvtxRangePushW(L"l\u00e4uft \u221a \U0001F600"); // 1
  allocate(2);
  const auto attributes = event("by attributes");
  levels += 100 * nvtxRangePushEx(&attributes); // 2
  allocate(3);
  levels += 1000 * nvtxRangePop();  // 2
  levels += 10000 * nvtxRangePop(); // 1
  allocate(4);
  nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
  nvtxEventAttributes_t registered = event(nullptr);
  registered.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  registered.message.registered = nvtxDomainRegisterStringW(domain, L"regist\u00e9red");
  nvtxDomainRangePushEx(domain, &registered);
  allocate(5);
  nvtxRangePop(); // of the default domain: epoch 1, below the other one
  allocate(6);
  nvtxDomainRangePop(domain);
  nvtxRangePop(); // one too many
  const nvtxRangeId_t late = nvtxDomainRangeStartEx(domain, &attributes);
  std::thread([=] { nvtxRangeEnd(early); }).join();
  allocate(7);
  nvtxDomainRangeEnd(domain, late);
  nvtxDomainMarkEx(domain, &registered);
  nvtxResourceAttributes_t stream = {}; // what nvtxNameCuStream says, without cuda.h
  stream.version = NVTX_VERSION;
  stream.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
  stream.identifierType = 4 << 16 | 3;
  stream.identifier.ullValue = 0x1234;
  stream.messageType = NVTX_MESSAGE_TYPE_ASCII;
  stream.message.ascii = "copies";
  nvtxDomainResourceCreate(domain, &stream);
  allocate(8);
  std::printf("levels %d\n", levels);
  return 0;
}

int threads() {
  nvtxRangePushA("main");
  allocate(1);
  for (u64 i = 0; i < 3; ++i) { // one after the other: they share a log
    std::thread([i] {
      if (i == 0) nvtxRangePushA("left open by a thread that ends");
      allocate(10 + i);
    }).join();
  }
  allocate(2);
  return 0;
}

int parts() {
  nvtxRangePushA("program");
  nvtx_part([] { allocate(1); });
  allocate(2);
  return 0;
}

int fork_child() {
  nvtxRangePushA("parent");
  allocate(1);
  const pid_t child = fork();
  if (child == 0) {
    nvtxRangePushA("child");
    allocate(2);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("child %d\n", status);
  return 0;
}

// 300,000 ranges without a CUDA call; 6,000 with one each; 100 deep ones.
int many() {
  allocate(1);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 300000; ++i) {
    nvtxRangePushA("an iteration of usual length");
    nvtxRangePop();
  }
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
  for (int i = 0; i < 6000; ++i) {
    nvtxRangePushA(("iteration " + std::to_string(i)).c_str());
    cuMemFree_v2(allocate(16));
    nvtxRangePop();
  }
  for (int i = 0; i < 100; ++i) nvtxRangePushA("deep");
  allocate(2);
  for (int i = 0; i < 100; ++i) nvtxRangePop();
  allocate(3);
  std::printf("%.0f ns\n", spent.count() / 300000);
  return 0;
}

int pool() {
  const u64 base = allocate(1 << 20);
  const nvtxMemVirtualRangeDesc_t whole = {1 << 20, reinterpret_cast<void*>(base)};
  nvtxMemHeapDesc_t description = {};
  description.extCompatID = NVTX_EXT_COMPATID_MEM;
  description.structSize = sizeof description;
  description.usage = NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR;
  description.type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  description.typeSpecificDescSize = sizeof whole;
  description.typeSpecificDesc = &whole;
  description.messageType = NVTX_MESSAGE_TYPE_ASCII;
  description.message.ascii = "the pool";
  const nvtxMemHeapHandle_t heap = nvtxMemHeapRegister(nullptr, &description);
  nvtxMemVirtualRangeDesc_t two[] = {{1000, reinterpret_cast<void*>(base)},
                                     {2000, reinterpret_cast<void*>(base + 4096)}};
  nvtxMemRegionHandle_t handles[2] = {};
  nvtxMemRegionsRegisterBatch_t batch = {};
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  batch.heap = heap;
  batch.regionCount = 2;
  batch.regionDescElementSize = sizeof two[0];
  batch.regionDescElements = two;
  batch.regionHandleElementsOut = handles;
  nvtxMemRegionsRegister(nullptr, &batch);
  nvtxMemRegionRef_t reference = {two[0].ptr};
  nvtxMemRegionsUnregisterBatch_t gone = {};
  gone.extCompatID = NVTX_EXT_COMPATID_MEM;
  gone.structSize = sizeof gone;
  gone.refType = NVTX_MEM_REGION_REF_TYPE_POINTER;
  gone.refCount = 1;
  gone.refElementSize = sizeof reference;
  gone.refElements = &reference;
  nvtxMemRegionsUnregister(nullptr, &gone);
  nvtxMemHeapReset(nullptr, heap);
  nvtxMemHeapUnregister(nullptr, heap);
  std::printf("heap %d handles %d %d\n", heap != nullptr, handles[0] == two[0].ptr,
              handles[1] == two[1].ptr);
  return 0;
}

// Ranges that the payload extension begins or ends, mixed with the others; a schema, which no tool
// but ours is there for.
int payload() {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
  const int value = 17;
  const nvtxPayloadData_t data = {NVTX_PAYLOAD_ENTRY_TYPE_INT, sizeof value, &value};
  const nvtxPayloadSchemaAttr_t schema = {};
  const auto outer = event("outer");
  int levels = nvtxDomainRangePushEx(domain, &outer); // 0
  allocate(1);
  levels += 10 * nvtxRangePushPayload(domain, &data, 1); // 1
  allocate(2);
  levels += 100 * nvtxDomainRangePop(domain); // 1
  allocate(3);
  levels += 1000 * (nvtxRangePopPayload(domain, &data, 1) + 5); // 0
  allocate(4);
  const nvtxRangeId_t range = nvtxRangeStartPayload(domain, &data, 1);
  allocate(5);
  std::thread([=] { nvtxRangeEndPayload(domain, range, &data, 1); }).join();
  nvtxMarkPayload(domain, &data, 1);
  allocate(6);
  std::printf("levels %d schema %d enabled %d\n", levels,
              static_cast<int>(nvtxPayloadSchemaRegister(domain, &schema)),
              nvtxDomainIsEnabled(domain));
  return 0;
}

int nothing() {
  nvtxRangePushA("no CUDA");
  nvtxMarkA("nor here");
  nvtxRangePop();
  return 0;
}

} // namespace

int main(int, char** arguments) {
  const struct {
    const char* name;
    int (*run)();
  } all[] = {{"words", words}, {"threads", threads}, {"parts", parts},     {"fork", fork_child},
             {"many", many},   {"pool", pool},       {"payload", payload}, {"nothing", nothing}};
  for (const auto& one : all)
    if (std::strcmp(one.name, arguments[1]) == 0) return one.run();
  return 2;
}
