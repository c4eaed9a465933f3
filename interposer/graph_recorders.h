// SPDX-License-Identifier: Apache-2.0
// Recorders of graph nodes: what memory a node names is recorded when the node is made or changed, since its launches
// name the graph only. Kernel nodes leave a note; their modules get the context's ring. Copies and sets are uses (kGraphNode), allocation and free nodes what they are; P3 (P2 of a
// free) holds the graph or graph-exec, 0 where the call names the node only. Arguments of kernel nodes are not read.
// Same rules as recorders.h.
#pragma once

#include "interposer/batch_recorders.h"
#include "interposer/device_ring.h"

namespace gmt::interposer {

// The destination of a copy node (i is 0) or its source.
inline void set_node_copy(Record& r, const CUDA_MEMCPY3D& copy, std::size_t i, std::uint64_t graph) {
  const CopySide side = i == 0 ? destination_of(copy) : source_of(copy);
  const std::uint64_t rows = copy.Depth <= 1 ? copy.Height : side.rows * (copy.Depth - 1) + copy.Height;
  if (side.side == Side::kArray) {
    set_use(r, UseClass::kGraphNode, side.array, 0, graph);
  } else {
    set_use_rows(r, UseClass::kGraphNode, start_of(side), graph, {side.pitch, copy.WidthInBytes, rows, 1});
  }
  r.flags |= i == 0 ? trace::kUseWrites : trace::kUseReads;
}

template <class Params> void set_node_set(Record& r, const Params& p, std::uint64_t graph) {
  set_use_rows(r, UseClass::kGraphNode, as_word(p.dst), graph,
               {p.pitch, std::uint64_t{p.width} * p.elementSize, p.height, p.elementSize});
  r.flags |= trace::kUseWrites;
}

// The node's address is fixed when the node is made; the driver writes it into the parameters.
template <class Params> void set_node_alloc(Record& r, const Params& p, std::uint64_t graph) {
  AllocBase::start(r, Family::kGraph, 4);
  r.set(1, p.bytesize);
  r.set(3, graph);
}

inline void set_node_free(Record& r, std::uint64_t address, std::uint64_t graph) {
  r.kind = Kind::kFree;
  r.droppable = false;
  r.flags |= trace::kSetAsync;
  r.use(4);
  r.set(0, address);
  r.set(1, static_cast<std::uint64_t>(FreeFunction::kGraphFreeNode));
  r.set(2, graph);
}

template <int Graph, int Params> struct GraphCopy : Recorder {
  template <class T> static std::size_t members(const T& a) { return arg<Params>(a) != 0 ? 2 : 0; }
  template <class T> static void member(Record& r, const T& a, std::size_t i) {
    set_node_copy(r, *std::get<Params>(a), i, arg<Graph>(a));
  }
};

template <int Graph, int Params> struct GraphSet : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    const auto* params = std::get<Params>(a);
    return params != nullptr ? set_node_set(r, *params, arg<Graph>(a)) : Note::before(r, a);
  }
};

template <int Graph, int Params> struct GraphAlloc : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    const auto* params = std::get<Params>(a);
    return params != nullptr ? set_node_alloc(r, *params, arg<Graph>(a)) : Note::before(r, a);
  }
  template <class T> static void after(Record& r, const T& a) { r.set(0, as_word(std::get<Params>(a)->dptr)); }
};

template <int Graph, int Address> struct GraphFree : Recorder {
  template <class T> static void before(Record& r, const T& a) { set_node_free(r, arg<Address>(a), arg<Graph>(a)); }
};

template <int Graph, int Params> struct GraphMemoryOperations : Recorder {
  template <class T> static std::size_t members(const T& a) {
    const auto* params = std::get<Params>(a);
    return params != nullptr && params->paramArray != nullptr ? params->count : 0;
  }
  template <class T> static void member(Record& r, const T& a, std::size_t i) {
    set_memory_operation(r, std::get<Params>(a)->paramArray[i], UseClass::kGraphNode, UseClass::kGraphNode,
                         arg<Graph>(a));
  }
};

// Of a node's parameters: its kernel, as whichever handle they name.
template <class Params> std::uint64_t kernel_of(const Params& p) {
  if constexpr (requires { p.kern; }) {
    return p.func != nullptr ? as_word(p.func) : as_word(p.kern);
  } else {
    return as_word(p.func);
  }
}

template <int Params> struct GraphKernel : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    const auto* params = std::get<Params>(a);
    if (params != nullptr) hand_over_ring(kernel_of(*params));
    Note::before(r, a);
  }
};

// A node of any type; those that name no memory leave a note.
template <int Graph, int Params> struct GraphNode : Recorder {
  template <class T> static std::size_t members(const T& a) {
    const CUgraphNodeParams* p = std::get<Params>(a);
    if (p == nullptr) return 0;
    if (p->type == CU_GRAPH_NODE_TYPE_KERNEL) hand_over_ring(kernel_of(p->kernel));
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_MEMCPY: return 2;
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return 1;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return p->memOp.paramArray != nullptr ? p->memOp.count : 0;
    default: return 0;
    }
  }
  template <class T> static void member(Record& r, const T& a, std::size_t i) {
    const CUgraphNodeParams& p = *std::get<Params>(a);
    const std::uint64_t graph = arg<Graph>(a);
    switch (p.type) {
    case CU_GRAPH_NODE_TYPE_MEMCPY: return set_node_copy(r, p.memcpy.copyParams, i, graph);
    case CU_GRAPH_NODE_TYPE_MEMSET: return set_node_set(r, p.memset, graph);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return set_node_alloc(r, p.alloc, graph);
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return set_node_free(r, as_word(p.free.dptr), graph);
    default:
      return set_memory_operation(r, p.memOp.paramArray[i], UseClass::kGraphNode, UseClass::kGraphNode, graph);
    }
  }
  template <class T> static void after(Record& r, const T& a) {
    if (r.kind == Kind::kAlloc) r.set(0, as_word(std::get<Params>(a)->alloc.dptr));
  }
};

} // namespace gmt::interposer
