// SPDX-License-Identifier: Apache-2.0
// NVTX's payload extension, as far as it begins and ends ranges: a range may be pushed with
// attributes and popped with a payload (NCCL does), and without hearing that pop it would stay open
// for ever. Names inside payloads are not read: where they stand is in a registered schema, and
// schemas are left alone; so a range begun by payload has no name. extension.cpp puts the handlers
// in. Interface: nvtx3/nvToolsExtPayload.h.
#include "interposer/hooks/nvtx/extension.h"

#include <nvtx3/nvToolsExtPayload.h>

#include "interposer/log/nvtx_ranges.h"

namespace gmt::interposer {

namespace {

constexpr unsigned kPayloadCallbacks = NVTX3EXT_CBID_nvtxRangeEndPayload + 1;
constinit NextHandler payload_handlers[kPayloadCallbacks] = {};

template <class Function, unsigned Id> Function* next_of_payload() noexcept {
  return next_handler<Function*>(payload_handlers[Id]);
}

using Payload = const nvtxPayloadData_t*;

void on_payload_mark(nvtxDomainHandle_t domain, Payload payloads, std::size_t count) noexcept {
  mark(handle_word(domain), nullptr);
  auto* f = next_of_payload<void(nvtxDomainHandle_t, Payload, std::size_t),
                            NVTX3EXT_CBID_nvtxMarkPayload>();
  if (f != nullptr) f(domain, payloads, count);
}

int on_payload_push(nvtxDomainHandle_t domain, Payload payloads, std::size_t count) noexcept {
  const int level = push_range(handle_word(domain), nullptr);
  auto* f = next_of_payload<int(nvtxDomainHandle_t, Payload, std::size_t),
                            NVTX3EXT_CBID_nvtxRangePushPayload>();
  return f != nullptr ? f(domain, payloads, count) : level;
}

int on_payload_pop(nvtxDomainHandle_t domain, Payload payloads, std::size_t count) noexcept {
  const int level = pop_range(handle_word(domain));
  auto* f = next_of_payload<int(nvtxDomainHandle_t, Payload, std::size_t),
                            NVTX3EXT_CBID_nvtxRangePopPayload>();
  return f != nullptr ? f(domain, payloads, count) : level;
}

nvtxRangeId_t on_payload_start(nvtxDomainHandle_t domain, Payload payloads,
                               std::size_t count) noexcept {
  auto* f = next_of_payload<nvtxRangeId_t(nvtxDomainHandle_t, Payload, std::size_t),
                            NVTX3EXT_CBID_nvtxRangeStartPayload>();
  const nvtxRangeId_t id = f != nullptr ? f(domain, payloads, count) : new_range_id();
  start_range(handle_word(domain), nullptr, id);
  return id;
}

void on_payload_end(nvtxDomainHandle_t domain, nvtxRangeId_t id, Payload payloads,
                    std::size_t count) noexcept {
  end_range(handle_word(domain), id);
  auto* f = next_of_payload<void(nvtxDomainHandle_t, nvtxRangeId_t, Payload, std::size_t),
                            NVTX3EXT_CBID_nvtxRangeEndPayload>();
  if (f != nullptr) f(domain, id, payloads, count);
}

// Schemas and enumerations (ids 0 and 1) are left alone, and all that follows.
void* const our_payload_handlers[kPayloadCallbacks] = {
  nullptr,
  nullptr,
  reinterpret_cast<void*>(&on_payload_mark),
  reinterpret_cast<void*>(&on_payload_push),
  reinterpret_cast<void*>(&on_payload_pop),
  reinterpret_cast<void*>(&on_payload_start),
  reinterpret_cast<void*>(&on_payload_end),
};
static_assert(NVTX3EXT_CBID_nvtxMarkPayload == 2 && NVTX3EXT_CBID_nvtxRangePushPayload == 3 &&
              NVTX3EXT_CBID_nvtxRangePopPayload == 4 && NVTX3EXT_CBID_nvtxRangeStartPayload == 5);

} // namespace

// Headers of version 0x0103 number these calls as those of 0x0104 do, or have no slots for them at
// all.
constexpr unsigned kFirstCompat = 0x0103;

const NvtxExtension payload_extension = {NVTX_EXT_PAYLOAD_MODULEID, kFirstCompat,
                                         NVTX_EXT_PAYLOAD_COMPATID, kPayloadCallbacks,
                                         our_payload_handlers,      payload_handlers};

} // namespace gmt::interposer
