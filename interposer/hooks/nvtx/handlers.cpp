// SPDX-License-Identifier: Apache-2.0
// What we do at each NVTX call: note it (nvtx_ranges.h), then let the other library hear it.
// Answers are the other library's where it gives any: its handles come back to it. Handlers run on
// the program's threads at full speed.
#include "interposer/hooks/nvtx/handlers.h"

#include <type_traits>

#include "interposer/log/nvtx_ranges.h"

namespace gmt::interposer {

constinit NextHandler next_handlers[NVTX_CB_MODULE_SIZE][kMaxCallbackIds] = {};

const Name* keep_message(std::uint32_t type, const nvtxMessageValue_t& value) noexcept {
  switch (type) {
  case NVTX_MESSAGE_TYPE_ASCII: return keep_name(value.ascii);
  case NVTX_MESSAGE_TYPE_UNICODE: return keep_name(value.unicode);
  case NVTX_MESSAGE_TYPE_REGISTERED: {
    const std::uint64_t handle = handle_word(value.registered);
    const Name* name = name_of_foreign_handle(handle);
    return name != nullptr ? name : name_of_handle(handle);
  }
  default: return nullptr;
  }
}

namespace {

using trace::RangeOp;

constexpr std::uint64_t kDefaultDomain = 0;

// Version 1 and 2 of the structure hold the message at the same offset; what is smaller has none.
const Name* message_of(const nvtxEventAttributes_t* attributes) noexcept {
  if (attributes == nullptr || attributes->size < sizeof(nvtxEventAttributes_t)) return nullptr;
  return keep_message(static_cast<std::uint32_t>(attributes->messageType), attributes->message);
}
const Name* message_of(const char* text) noexcept { return keep_name(text); }
const Name* message_of(const wchar_t* text) noexcept { return keep_name(text); }

template <auto Module, auto Id, class Function> Function next_of_core() noexcept {
  return next_handler<Function>(next_handlers[Module][Id]);
}

// ---- ranges and marks; Message is const char*, const wchar_t* or the attributes

template <auto Id, class Message> void on_mark(Message message) noexcept {
  mark(kDefaultDomain, message_of(message));
  if (auto f = next_of_core<NVTX_CB_MODULE_CORE, Id, void (*)(Message)>()) f(message);
}

template <auto Id, class Message> int on_push(Message message) noexcept {
  const int level = push_range(kDefaultDomain, message_of(message));
  auto f = next_of_core<NVTX_CB_MODULE_CORE, Id, int (*)(Message)>();
  return f != nullptr ? f(message) : level;
}

int on_pop() noexcept {
  const int level = pop_range(kDefaultDomain);
  auto f = next_of_core<NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePop, int (*)()>();
  return f != nullptr ? f() : level;
}

// The other library's id where there is one, because it comes back with the end. Known only after
// its own handler.
template <auto Id, class Message> nvtxRangeId_t on_start(Message message) noexcept {
  auto f = next_of_core<NVTX_CB_MODULE_CORE, Id, nvtxRangeId_t (*)(Message)>();
  const nvtxRangeId_t id = f != nullptr ? f(message) : new_range_id();
  start_range(kDefaultDomain, message_of(message), id);
  return id;
}

void on_end(nvtxRangeId_t id) noexcept {
  end_range(kDefaultDomain, id);
  if (auto f =
        next_of_core<NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangeEnd, void (*)(nvtxRangeId_t)>())
    f(id);
}

// ---- the same in a domain

void on_domain_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) noexcept {
  mark(handle_word(domain), message_of(attributes));
  auto f = next_of_core<NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainMarkEx,
                        nvtxDomainMarkEx_impl_fntype>();
  if (f != nullptr) f(domain, attributes);
}

int on_domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) noexcept {
  const int level = push_range(handle_word(domain), message_of(attributes));
  auto f = next_of_core<NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePushEx,
                        nvtxDomainRangePushEx_impl_fntype>();
  return f != nullptr ? f(domain, attributes) : level;
}

int on_domain_pop(nvtxDomainHandle_t domain) noexcept {
  const int level = pop_range(handle_word(domain));
  auto f = next_of_core<NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePop,
                        nvtxDomainRangePop_impl_fntype>();
  return f != nullptr ? f(domain) : level;
}

nvtxRangeId_t on_domain_start(nvtxDomainHandle_t domain,
                              const nvtxEventAttributes_t* attributes) noexcept {
  auto f = next_of_core<NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangeStartEx,
                        nvtxDomainRangeStartEx_impl_fntype>();
  const nvtxRangeId_t id = f != nullptr ? f(domain, attributes) : new_range_id();
  start_range(handle_word(domain), message_of(attributes), id);
  return id;
}

void on_domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t id) noexcept {
  end_range(handle_word(domain), id);
  auto f = next_of_core<NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangeEnd,
                        nvtxDomainRangeEnd_impl_fntype>();
  if (f != nullptr) f(domain, id);
}

template <auto Id, class Char> nvtxStringHandle_t on_register(nvtxDomainHandle_t domain,
                                                              const Char* text) noexcept {
  const Name* name = keep_name(text);
  auto f = next_of_core<NVTX_CB_MODULE_CORE2, Id,
                        nvtxStringHandle_t (*)(nvtxDomainHandle_t, const Char*)>();
  if (f == nullptr) return reinterpret_cast<nvtxStringHandle_t>(handle_of(name));
  const nvtxStringHandle_t handle = f(domain, text);
  remember_foreign_handle(handle_word(handle), name);
  return handle;
}

template <auto Id, class Char> nvtxDomainHandle_t on_domain(const Char* text) noexcept {
  const Name* name = keep_name(text);
  auto f = next_of_core<NVTX_CB_MODULE_CORE2, Id, nvtxDomainHandle_t (*)(const Char*)>();
  const auto domain =
    f != nullptr ? f(text) : reinterpret_cast<nvtxDomainHandle_t>(handle_of(name));
  if (domain != nullptr) note_name(RangeOp::kNameDomain, handle_word(domain), name, 0);
  return domain;
}

// ---- names

template <auto Module, auto Id, RangeOp Op, class What, class Char> void
on_name(What what, const Char* text) noexcept {
  note_name(Op, kDefaultDomain, keep_name(text), handle_word(what));
  if (auto f = next_of_core<Module, Id, void (*)(What, const Char*)>()) f(what, text);
}

// Handles of CUDA and OS threads only; other resources mean nothing to a memory checker. Numbers:
// NVTX_RESOURCE_TYPE_*.
nvtxResourceHandle_t on_resource(nvtxDomainHandle_t domain,
                                 nvtxResourceAttributes_t* attributes) noexcept {
  auto f = next_of_core<NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainResourceCreate,
                        nvtxDomainResourceCreate_impl_fntype>();
  const nvtxResourceHandle_t handle = f != nullptr ? f(domain, attributes) : nullptr;
  if (attributes == nullptr || attributes->size < sizeof(nvtxResourceAttributes_t)) return handle;
  constexpr int kCuda = 4, kCudaRuntime = 5;
  const int type_class = attributes->identifierType >> 16;
  const Name* name =
    keep_message(static_cast<std::uint32_t>(attributes->messageType), attributes->message);
  if (attributes->identifierType == static_cast<int>(NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE)) {
    note_name(RangeOp::kNameThread, handle_word(domain), name, attributes->identifier.ullValue);
  } else if (type_class == kCuda || type_class == kCudaRuntime) {
    note_name(RangeOp::kNameResource, handle_word(domain), name, attributes->identifier.ullValue);
  }
  return handle;
}

// Rows of the table. Devices have names of their own, so theirs are left to the other library.
#define GMT_CORE(name, ...)                                                                        \
  {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_##name, reinterpret_cast<NvtxFunctionPointer>(__VA_ARGS__)}
#define GMT_CORE2(name, ...)                                                                       \
  {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_##name, reinterpret_cast<NvtxFunctionPointer>(__VA_ARGS__)}
#define GMT_NAMES(module, id, op, What)                                                            \
  {NVTX_CB_MODULE_##module, NVTX_CBID_##module##_##id##A,                                          \
   reinterpret_cast<NvtxFunctionPointer>(                                                          \
     &on_name<NVTX_CB_MODULE_##module, NVTX_CBID_##module##_##id##A, RangeOp::op, What, char>)},   \
  {                                                                                                \
    NVTX_CB_MODULE_##module, NVTX_CBID_##module##_##id##W,                                         \
      reinterpret_cast<NvtxFunctionPointer>(                                                       \
        &on_name<NVTX_CB_MODULE_##module, NVTX_CBID_##module##_##id##W, RangeOp::op, What,         \
                 wchar_t>)                                                                         \
  }

using Attributes = const nvtxEventAttributes_t*;

} // namespace

const Handler handlers[kHandlers] = {
  GMT_CORE(MarkEx, &on_mark<NVTX_CBID_CORE_MarkEx, Attributes>),
  GMT_CORE(MarkA, &on_mark<NVTX_CBID_CORE_MarkA, const char*>),
  GMT_CORE(MarkW, &on_mark<NVTX_CBID_CORE_MarkW, const wchar_t*>),
  GMT_CORE(RangeStartEx, &on_start<NVTX_CBID_CORE_RangeStartEx, Attributes>),
  GMT_CORE(RangeStartA, &on_start<NVTX_CBID_CORE_RangeStartA, const char*>),
  GMT_CORE(RangeStartW, &on_start<NVTX_CBID_CORE_RangeStartW, const wchar_t*>),
  GMT_CORE(RangeEnd, &on_end),
  GMT_CORE(RangePushEx, &on_push<NVTX_CBID_CORE_RangePushEx, Attributes>),
  GMT_CORE(RangePushA, &on_push<NVTX_CBID_CORE_RangePushA, const char*>),
  GMT_CORE(RangePushW, &on_push<NVTX_CBID_CORE_RangePushW, const wchar_t*>),
  GMT_CORE(RangePop, &on_pop),
  GMT_CORE2(DomainMarkEx, &on_domain_mark),
  GMT_CORE2(DomainRangeStartEx, &on_domain_start),
  GMT_CORE2(DomainRangeEnd, &on_domain_end),
  GMT_CORE2(DomainRangePushEx, &on_domain_push),
  GMT_CORE2(DomainRangePop, &on_domain_pop),
  GMT_CORE2(DomainResourceCreate, &on_resource),
  GMT_CORE2(DomainRegisterStringA, &on_register<NVTX_CBID_CORE2_DomainRegisterStringA, char>),
  GMT_CORE2(DomainRegisterStringW, &on_register<NVTX_CBID_CORE2_DomainRegisterStringW, wchar_t>),
  GMT_CORE2(DomainCreateA, &on_domain<NVTX_CBID_CORE2_DomainCreateA, char>),
  GMT_CORE2(DomainCreateW, &on_domain<NVTX_CBID_CORE2_DomainCreateW, wchar_t>),
  GMT_NAMES(CORE, NameOsThread, kNameThread, std::uint32_t),
  GMT_NAMES(CUDA, NameCuContext, kNameResource, nvtx_CUcontext),
  GMT_NAMES(CUDA, NameCuStream, kNameResource, nvtx_CUstream),
  GMT_NAMES(CUDA, NameCuEvent, kNameResource, nvtx_CUevent),
  GMT_NAMES(CUDART, NameCudaStream, kNameResource, nvtx_cudaStream_t),
  GMT_NAMES(CUDART, NameCudaEvent, kNameResource, nvtx_cudaEvent_t),
};

#undef GMT_CORE
#undef GMT_CORE2
#undef GMT_NAMES

} // namespace gmt::interposer
