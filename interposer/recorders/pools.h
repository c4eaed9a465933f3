// SPDX-License-Identifier: Apache-2.0
// Recorders of what decides where memory lies and which devices may use it: pools, peer access,
// multicast objects. Same rules as recorder.h.
#pragma once

#include <cstring>

#include "interposer/driver_state/memory_queries.h"
#include "interposer/recorders/allocations.h"
#include "interposer/recorders/bindings.h"
#include "interposer/recorders/lives.h"
#include "trace/object_class.h"

namespace gmt::interposer {

// A variable of a module, or of a library. The runtime asks for its address alone. Modules hand out
// __managed__ variables by the same call as all others.
template <VariableOf Owner> struct Variable : AllocOut<MemoryKind::kModuleGlobal, 0, 1> {
  template <class T> static void after(Record& r, const T& a) {
    AllocOut<MemoryKind::kModuleGlobal, 0, 1>::after(r, a);
    trace::AllocFields alloc(r);
    if (arg<1>(a) == 0) alloc.bytes(ask_bytes_of_variable(Owner, arg<2>(a), argument<3>(a)));
    const std::uint64_t address = trace::AllocView(r).address();
    if (Owner == VariableOf::kLibraryManaged || (address != 0 && ask_is_managed(address))) {
      alloc.memory_kind(MemoryKind::kManagedVariable);
    }
  }
};
using ManagedVariable = Variable<VariableOf::kLibraryManaged>;

// The device that a location names, all ones where it is none (host memory).
inline std::uint64_t device_of(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? static_cast<std::uint64_t>(location.id)
                                                      : ~std::uint64_t{0};
}

// A piece of physical memory: which device's it is.
inline std::uint64_t location_of(const CUmemLocation& location) {
  const std::uint64_t device = device_of(location);
  return device == ~std::uint64_t{0} ? device : device + 1;
}

// Which locations may use memory from now on, and how: a mapping's, or a whole pool's, whose handle
// stands for it then.
template <int Address, int Size, int List, int Count> struct GrantAccess : Recorder {
  template <class T> static std::size_t members(const T& a) {
    return arg<List>(a) != 0 ? arg<Count>(a) : 0;
  }
  template <class T> static void member(Record& r, const T& a, std::size_t i) {
    const CUmemAccessDesc& access = argument<List>(a)[i];
    set_use(r, UseClass::kAccess, arg<Address>(a), arg<Size>(a), device_of(access.location));
    if ((access.flags & CU_MEM_ACCESS_FLAGS_PROT_READ) != 0) r.flags |= trace::kUseReads;
    if (access.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) r.flags |= trace::kUseWrites;
  }
};

template <int Out, int Size, int Properties> struct AllocPhysical
    : Alloc<MemoryKind::kVmmHandle, Out, Size> {
  template <class T> static void before(Record& r, const T& a) {
    Alloc<MemoryKind::kVmmHandle, Out, Size>::before(r, a);
    const auto* properties = argument<Properties>(a);
    if (properties != nullptr) trace::AllocFields(r).location(location_of(properties->location));
  }
};

// A handle of physical memory that was made elsewhere: the driver knows where it lies, but not its
// size.
template <int Out> struct AllocPhysicalAgain : Alloc<MemoryKind::kVmmHandle, Out, -1> {
  template <class T> static void after(Record& r, const T& a) {
    Alloc<MemoryKind::kVmmHandle, Out, -1>::after(r, a);
    CUmemLocation location{};
    if (ask_location(trace::AllocView(r).address(), location))
      trace::AllocFields(r).location(location_of(location));
  }
};

template <int Out, int Properties> struct PoolCreate
    : LifeOut<ObjectClass::kPool, LifeOp::kCreate, Out> {
  template <class T> static void before(Record& r, const T& a) {
    LifeOut<ObjectClass::kPool, LifeOp::kCreate, Out>::before(r, a);
    const auto* properties = argument<Properties>(a);
    if (properties != nullptr) trace::LifeFields(r).on_device(device_of(properties->location));
  }
};

template <int Pool, int Attribute, int Value> struct PoolSet : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    Life<ObjectClass::kPool, LifeOp::kSet, Pool, Attribute>::before(r, a);
    const void* value = argument<Value>(a);
    std::uint64_t word = 0;
    if (value != nullptr) std::memcpy(&word, value, bytes_of(argument<Attribute>(a)));
    r.use_more(trace::LifeWord::value + 1);
    trace::LifeFields(r).value(word);
  }
  // Source: cuda.h on cuMemPoolSetAttribute. What is not known here is not read.
  static std::size_t bytes_of(CUmemPool_attribute attribute) {
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: return sizeof(int);
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: return sizeof(cuuint64_t);
    default: return 0;
    }
  }
};

// The pool that allocations of a location come from, from now on.
template <int Location, int Pool> struct PoolUse : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    Life<ObjectClass::kPool, LifeOp::kUse, Pool>::before(r, a);
    const auto* location = argument<Location>(a);
    if (location != nullptr) trace::LifeFields(r).on_device(device_of(*location));
  }
};

// Memory of another process: the call names no size, but the driver knows it.
template <MemoryKind F, int Out> struct AllocOpened : Alloc<F, Out, -1> {
  template <class T> static void after(Record& r, const T& a) {
    Alloc<F, Out, -1>::after(r, a);
    trace::AllocFields(r).bytes(ask_bytes(trace::AllocView(r).address()));
  }
};

template <LifeOp Op, int Peer> struct PeerAccess : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    Life<ObjectClass::kPeerAccess, Op, Peer>::before(r, a);
    trace::LifeFields(r).context(current_context_handle());
  }
};

template <int Out, int Properties> struct AllocMulticast : AllocBase {
  template <class T> static void before(Record& r, const T& a) {
    start(r, MemoryKind::kMulticast);
    const auto* properties = argument<Properties>(a);
    if (properties != nullptr) trace::AllocFields(r).bytes(properties->size);
  }
  template <class T> static void after(Record& r, const T& a) {
    trace::AllocFields(r).address(out<Out>(a));
  }
};

} // namespace gmt::interposer
