// SPDX-License-Identifier: Apache-2.0
// Recorders of graph nodes: what a node uses is recorded when the node is made or changed, since
// its launches name the graph only. Kernels leave a kGraphKernel with their arguments, copies, sets
// and memory operations are uses (kGraphNode), allocation and free nodes what they are; the graph
// or graph-exec stands in the stream's word, 0 where the call names the node only. Child graphs,
// removed nodes and other changes are a kGraphChange, bodies of conditional nodes a kLife like
// other graphs inside a node. Same rules as recorder.h.
#pragma once

#include <type_traits>

#include "interposer/recorders/allocations.h"
#include "interposer/recorders/batches.h"
#include "interposer/recorders/launch_arguments.h"
#include "trace/object_class.h"

namespace gmt::interposer {

using trace::GraphOp;

// Which node's use it is, and which of that.
inline void name_node(Record& r, std::uint64_t node, std::size_t i, CUgraphNodeType type) {
  r.use_more(trace::UseWord::node_type + 1);
  trace::UseFields(r).node(node).part(i).node_type(static_cast<std::uint64_t>(type));
}

// The destination of a copy node (i is 0), with which the whole copy is recorded, or its source.
inline void set_node_copy(Record& r, const CUDA_MEMCPY3D& copy, std::size_t i, std::uint64_t graph,
                          std::uint64_t node) {
  const CopySide side = i == 0 ? destination_of(copy) : source_of(copy);
  const std::uint64_t rows =
    copy.Depth <= 1 ? copy.Height : side.rows * (copy.Depth - 1) + copy.Height;
  if (side.side == Side::kArray) {
    set_use(r, UseClass::kGraphNode, side.array, 0, graph);
  } else {
    set_use_rows(r, UseClass::kGraphNode, start_of(side), graph,
                 {side.pitch, copy.WidthInBytes, rows, 1});
  }
  name_node(r, node, i, CU_GRAPH_NODE_TYPE_MEMCPY);
  r.flags |= i == 0 ? trace::kUseWrites : trace::kUseReads | trace::kUseOfRecordedCopy;
  if (i != 0) return;
  r.use_more(trace::UseWord::kCount);
  InnerCopy whole{r};
  describe_copy(whole, copy);
  trace::UseFields(r).flags_of_copy(whole.flags);
}

template <class Params> void set_node_set(Record& r, const Params& p, std::uint64_t graph,
                                          std::uint64_t node) {
  set_use_rows(r, UseClass::kGraphNode, as_word(p.dst), graph,
               {p.pitch, std::uint64_t{p.width} * p.elementSize, p.height, p.elementSize});
  name_node(r, node, 0, CU_GRAPH_NODE_TYPE_MEMSET);
  r.flags |= trace::kUseWrites;
}

inline void set_node_operation(Record& r, const CUstreamBatchMemOpParams& p, std::size_t i,
                               std::uint64_t graph, std::uint64_t node) {
  set_memory_operation(r, p, UseClass::kGraphNode, UseClass::kGraphNode, graph);
  name_node(r, node, i, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
}

// The node's address is fixed when the node is made; the driver writes it into the parameters.
template <class Params> void set_node_alloc(Record& r, const Params& p, std::uint64_t graph) {
  AllocBase::start(r, MemoryKind::kGraph);
  trace::AllocFields(r).bytes(p.bytesize).graph(graph);
}

inline void set_node_free(Record& r, std::uint64_t address, std::uint64_t graph) {
  r.kind = Kind::kFree;
  r.droppable = false;
  r.flags |= trace::kSetAsync;
  r.use(trace::FreeWord::kCount);
  trace::FreeFields(r).address(address).function(FreeFunction::kGraphFreeNode).graph(graph);
}

// The node's handle: an argument, or what comes out where the call makes it (`after`).
template <int Node, class T> std::uint64_t node_of(const T& a, bool after) {
  if constexpr (Node < 0) {
    return 0;
  } else if constexpr (std::is_same_v<ArgumentType<Node, T>, CUgraphNode>) {
    return arg<Node>(a);
  } else {
    return after ? out<Node>(a) : 0;
  }
}

template <int Node, class T> constexpr bool makes_node =
  !std::is_same_v<ArgumentType<Node, T>, CUgraphNode>;

template <int Graph, int Node, int Params> struct GraphCopy : Recorder {
  template <class T> static std::size_t members(const T& a) { return arg<Params>(a) != 0 ? 2 : 0; }
  template <class T> static void member(Record& r, const T& a, std::size_t i) {
    set_node_copy(r, *argument<Params>(a), i, arg<Graph>(a), node_of<Node>(a, false));
  }
  template <class T> static void after(Record& r, const T& a) {
    trace::UseFields(r).node(node_of<Node>(a, true));
  }
};

template <int Graph, int Node, int Params> struct GraphSet : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    const auto* params = argument<Params>(a);
    return params != nullptr ? set_node_set(r, *params, arg<Graph>(a), node_of<Node>(a, false))
                             : Note::before(r, a);
  }
  template <class T> static void after(Record& r, const T& a) {
    trace::UseFields(r).node(node_of<Node>(a, true));
  }
};

template <int Graph, int Params> struct GraphAlloc : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    const auto* params = argument<Params>(a);
    return params != nullptr ? set_node_alloc(r, *params, arg<Graph>(a)) : Note::before(r, a);
  }
  template <class T> static void after(Record& r, const T& a) {
    trace::AllocFields(r).address(as_word(argument<Params>(a)->dptr));
  }
};

template <int Graph, int Address> struct GraphFree : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    set_node_free(r, arg<Address>(a), arg<Graph>(a));
  }
};

template <int Graph, int Node, int Params> struct GraphMemoryOperations : Recorder {
  template <class T> static std::size_t members(const T& a) {
    const auto* params = argument<Params>(a);
    return params != nullptr && params->paramArray != nullptr ? params->count : 0;
  }
  template <class T> static void member(Record& r, const T& a, std::size_t i) {
    set_node_operation(r, argument<Params>(a)->paramArray[i], i, arg<Graph>(a),
                       node_of<Node>(a, false));
  }
  template <class T> static void after(Record& r, const T& a) {
    if (r.kind == Kind::kUse) trace::UseFields(r).node(node_of<Node>(a, true));
  }
};

// The kernel may be named by either handle; its arguments are copied into the node, so they are
// what its launches get.
template <class Params> void set_node_kernel(Record& r, const Params& p, std::uint64_t graph,
                                             std::uint64_t node) {
  std::uint64_t function = as_word(p.func);
  if constexpr (requires { p.kern; }) {
    if (function == 0) function = as_word(p.kern);
  }
  r.kind = Kind::kGraphKernel;
  r.words = trace::GraphKernelWord::kCount; // all of them are set here
  trace::GraphKernelFields kernel(r);
  kernel.function(function).graph(graph).node(node);
  kernel.grid({p.gridDimX, p.gridDimY, p.gridDimZ}).block({p.blockDimX, p.blockDimY, p.blockDimZ});
  record_arguments(r, function, p.kernelParams, p.extra);
}

template <int Graph, int Node, int Params> struct GraphKernel : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    const auto* params = argument<Params>(a);
    return params != nullptr ? set_node_kernel(r, *params, arg<Graph>(a), node_of<Node>(a, false))
                             : Note::before(r, a);
  }
  template <class T> static void after(Record& r, const T& a) {
    trace::GraphKernelFields(r).node(node_of<Node>(a, true));
  }
};

inline void set_graph_change(Record& r, GraphOp op, std::uint64_t graph, std::uint64_t node,
                             std::uint64_t other) {
  r.kind = Kind::kGraphChange;
  r.use(trace::GraphChangeWord::kCount);
  trace::GraphChangeFields(r).graph(graph).op(op).node(node).other(other);
}

// The program has the handle of a graph that lies inside a node: what it does to the one changes
// the other. Where the call makes the node, its graph is recorded, and for a conditional node which
// of its bodies it is, from 1.
inline void set_inner_graph(Record& r, std::uint64_t inner, std::uint64_t graph,
                            std::uint64_t body = 0) {
  r.kind = Kind::kLife;
  r.droppable = false;
  r.use(trace::LifeWord::bytes + 1); // the last one says which body
  trace::LifeFields(r)
    .handle(inner)
    .object(ObjectClass::kGraph)
    .op(LifeOp::kUse)
    .graph(graph)
    .body(body);
}

template <GraphOp Op, int Graph, int Node, int Other> struct GraphChange : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    set_graph_change(r, Op, arg<Graph>(a), node_of<Node>(a, false), arg<Other>(a));
  }
  template <class T> static void after(Record& r, const T& a) {
    trace::GraphChangeFields(r).node(node_of<Node>(a, true));
  }
};

// A node of any type; those that name no memory leave a note.
template <int Graph, int Node, int Params> struct GraphNode : Recorder {
  template <class T> static std::size_t members(const T& a) {
    const CUgraphNodeParams* p = argument<Params>(a);
    if (p == nullptr) return 0;
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_MEMCPY: return 2;
    case CU_GRAPH_NODE_TYPE_KERNEL:
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_HOST:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: return 1;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return p->memOp.paramArray != nullptr ? p->memOp.count : 0;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return makes_node<Node, T> ? p->conditional.size : 0;
    default: return 0;
    }
  }
  template <class T> static void member(Record& r, const T& a, std::size_t i) {
    const CUgraphNodeParams& p = *argument<Params>(a);
    const std::uint64_t graph = arg<Graph>(a);
    const std::uint64_t node = node_of<Node>(a, false);
    switch (p.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return set_node_kernel(r, p.kernel, graph, node);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      if (makes_node<Node, T> && p.graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE)
        return set_inner_graph(r, as_word(p.graph.graph), graph);
      return set_graph_change(r, GraphOp::kChild, graph, node, as_word(p.graph.graph));
    case CU_GRAPH_NODE_TYPE_MEMCPY: return set_node_copy(r, p.memcpy.copyParams, i, graph, node);
    case CU_GRAPH_NODE_TYPE_MEMSET: return set_node_set(r, p.memset, graph, node);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return set_inner_graph(r, 0, graph, i + 1); // its handle comes out
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return set_node_alloc(r, p.alloc, graph);
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return set_node_free(r, as_word(p.free.dptr), graph);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return set_graph_change(r, GraphOp::kEventRecord, graph, node, as_word(p.eventRecord.event));
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return set_graph_change(r, GraphOp::kEventWait, graph, node, as_word(p.eventWait.event));
    case CU_GRAPH_NODE_TYPE_HOST: return set_graph_change(r, GraphOp::kHost, graph, node, 0);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
      return set_graph_change(r, GraphOp::kExternalSignal, graph, node, 0);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
      return set_graph_change(r, GraphOp::kExternalWait, graph, node, 0);
    default: return set_node_operation(r, p.memOp.paramArray[i], i, graph, node);
    }
  }
  template <class T> static void after(Record& r, const T& a) {
    const std::uint64_t node = node_of<Node>(a, true);
    if (r.kind == Kind::kAlloc)
      trace::AllocFields(r).address(as_word(argument<Params>(a)->alloc.dptr));
    if (r.kind == Kind::kGraphKernel) trace::GraphKernelFields(r).node(node);
    if (r.kind == Kind::kGraphChange) trace::GraphChangeFields(r).node(node);
    if (r.kind == Kind::kUse) trace::UseFields(r).node(node);
    if (r.kind != Kind::kLife) return;
    trace::LifeFields life(r);
    life.node(node);
    const std::uint64_t body = trace::LifeView(r).body();
    if (body == 0) return;
    const CUgraph* bodies = argument<Params>(a)->conditional.phGraph_out;
    if (bodies != nullptr) life.handle(as_word(bodies[body - 1]));
  }
};

} // namespace gmt::interposer
