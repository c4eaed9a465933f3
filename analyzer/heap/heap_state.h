// SPDX-License-Identifier: Apache-2.0
// The heap's inside: what heap.cpp (births, deaths, contexts) and verdicts.cpp (verdicts) share. Nobody
// else includes it.
#pragma once

#include <array>
#include <bitset>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "analyzer/heap/block_store.h"
#include "analyzer/heap/heap.h"

namespace gmt {

struct Heap::State {
  using Verdict = Judgement::Verdict;
  using Side = Judgement::Side;
  using Id = BlockStore::Id;
  static constexpr Id kNone = BlockStore::kNone;

  BlockStore store;
  std::array<Judgement, 8> judgements; // more mistakes than these in one call say nothing new
  std::size_t judged = 0;
  std::vector<Touch> touched;
  std::vector<Id> arguments; // of a launch during a capture: the block that each points into
  std::uint64_t last_kernel = 0, last_blind_call = 0;

  std::uint64_t unseen_allocations = 0;
  std::uint16_t sticky_code = 0;

  struct Context {
    std::uint64_t handle = 0;
    std::int64_t device = -1;
    bool primary = false;
    bool known = false;
    bool dead = false; // of a sticky error
  };
  std::uint64_t last_release = 0;                            // order of the last release of a primary context
  std::vector<Context> contexts;                             // by id; 0 is "unknown"
  std::unordered_map<std::uint64_t, std::uint64_t> retained; // primary contexts: device -> seen retains
  struct View { // a level or plane
    std::uint64_t array = 0; // its handle
    std::uint64_t level = 0;
    bool tells_level = false;
  };
  std::unordered_map<std::uint64_t, View> views; // by handle

  // A place is what Block::place says.
  std::unordered_map<std::int64_t, std::uint64_t> current_pools; // device -> pool, where the program chose one
  std::unordered_map<std::uint64_t, std::uint16_t> pool_places;   // of pools that the program made
  std::unordered_map<std::uint64_t, std::uint16_t> stream_places; // of streams that it made
  std::uint64_t first_context = 0;                                // its handle
  std::int64_t first_device = -1;                                 // and its device

  // Physical memory (VMM) that is mapped, by its handle's birth: a released handle's memory lives while it is.
  struct Mapped {
    std::uint64_t mappings = 0;
    bool is_released = false;
    Block released; // the handle's
  };
  std::unordered_map<std::uint64_t, Mapped> mapped;

  // What a graph does at each launch.
  struct Graph {
    std::vector<Block> allocations; // as they were born
    std::vector<std::uint64_t> frees;
    // By node, a child graph's under the node that runs it. Under 0 those whose node's handle is not known:
    // captured ones, and what was copied from another graph.
    std::map<std::uint64_t, std::vector<GraphWork>> work;
    // Graphs inside a node whose own handle the program has, by node: these hold what their nodes run.
    struct Inner {
      std::uint64_t graph = 0;
      bool is_body = false; // of a conditional node, which can have several
    };
    std::multimap<std::uint64_t, Inner> inner;
  };
  struct ExecutableGraph : Graph {
    struct Watched {
      Space space;
      std::uint64_t address, born;
      friend auto operator<=>(const Watched&, const Watched&) = default;
    };
    std::set<std::uint64_t> disabled; // nodes
    std::vector<Watched> watched;     // the blocks that its work points into; while they live all is well
    bool is_watched = false;
  };
  std::unordered_map<std::uint64_t, Graph> graphs; // by handle, those of which something is known
  std::unordered_map<std::uint64_t, ExecutableGraph> executable_graphs;
  std::unordered_map<std::uint64_t, Graph> captures;                // by the stream where they began, see own_stream()
  std::unordered_map<std::uint64_t, std::uint64_t> capturing;       // streams, and where the capture began
  std::unordered_map<std::uint64_t, std::uint64_t> captured_events; // likewise: who waits for one joins it
  std::unordered_map<std::uint64_t, std::uint64_t> graph_of_node;   // of nodes that were made by hand

  // heap.cpp
  void apply(const Event& e);
  void on_alloc(const Event& e);
  void on_free(const Event& e);
  void on_life(const Event& e);
  Id make_live(Id id); // or the block that it is one more reference of
  void accept_free(const Event& e, bool count_unseen);
  bool end_accepted(Space space, std::uint64_t address, const Event& e);
  void end_context(const Event& e, std::uint64_t handle, std::int64_t device);
  bool ends_with(const Block& block, std::uint64_t handle, std::int64_t device) const;

  bool is_dead(std::uint16_t context) const {
    const bool known = context < contexts.size() && contexts[context].known;
    return known ? contexts[context].dead : sticky_code != 0;
  }
  void note_sticky(const Event& e);

  // graph_memory.cpp
  void on_sync(const Event& e);
  void end_capture(const Event& e);
  void note_graph_allocation(const Event& e, const Block& block);
  bool note_captured_free(const Event& e); // false: it is not captured
  void on_graph_life(const Event& e);
  void run_graph(const Event& e);
  Id bear_again(const Block& allocation, std::uint64_t order);
  void forget_graph(std::uint64_t handle);
  void note_inner_graph(const Event& e);
  static void add_to(Graph& whole, const Graph& part, std::optional<std::uint64_t> as_node, bool may_run = false);
  Graph whole_graph(std::uint64_t handle) const; // with what its inner graphs hold now

  // graph_nodes.cpp
  void on_graph_kernel(const Event& e);
  bool on_graph_use(const Event& e); // false: nothing is known of its node
  void judge_node_range(const Event& e);
  void judge_node_side(const Event& copy, Side side);
  void on_graph_change(const Event& e);
  void note_captured_kernel(const Event& e); // behind judge_launch()
  void note_captured_use(const Event& e, GraphWork::Kind kind); // behind the verdict on a copy, set or use
  // `more`: beside what the node is known to do. No kind: it may be of any.
  void change_node(std::uint64_t graph, std::uint64_t node, std::vector<GraphWork> work,
                   std::optional<GraphWork::Kind> kind, bool more = false);
  static void forget_unknown(Graph& graph, std::optional<GraphWork::Kind> kind);
  void forget_unknown_nodes(std::optional<GraphWork::Kind> kind = std::nullopt);
  void judge_graph_work(const Event& e, ExecutableGraph& graph);
  bool judge_graph_pointer(ExecutableGraph& graph, const GraphWork& work, std::uint64_t word);

  // vmm.cpp
  void note_mapping(Block& mapping);
  void end_mapping(const Block& mapping);
  void unmap(const Event& e);
  void note_access(const Event& e);

  // placement.cpp
  void on_context(const Event& e);
  std::int64_t device_of_id(std::uint16_t context) const {
    return context < contexts.size() ? contexts[context].device : -1;
  }
  void note_place(const Event& e); // the life of a context, pool or stream
  // Sets the block's place, where it is not its context's. Returns its pool, 0 for the device's default one.
  std::uint64_t place(Block& block, std::uint64_t named_pool);
  std::uint16_t place_of_work(const Block& block) const;

  // nvtx_pools.cpp
  struct UserHeap { // registered by NVTX; 0 bytes if it did not say where
    std::uint64_t begin = 0, bytes = 0;
    bool contains(std::uint64_t address) const { return address - begin < bytes; }
  };
  struct PoolAccess {
    std::uint64_t address = 0, bytes = 0; // bytes 0: length unknown
    Touch::Access access = Touch::Access::kRead;
    Side side = Side::kNone;
    unsigned parameter = trace::kNoParameter;
    std::span<const std::uint64_t> arguments = {}; // of the launch
  };
  std::unordered_map<std::uint64_t, UserHeap> user_heaps; // by handle
  bool has_regions = false;                               // there has been one
  void on_user_heap(const Event& e);
  void end_regions(const Event& e, Block::End how, std::vector<Id> regions);
  void end_regions_of(const Event& e, Block::End how, std::uint64_t handle);
  // Where there has been a region:
  void end_regions_inside(const Event& e, std::uint64_t begin, std::uint64_t bytes);
  void judge_region_release(const Event& e);
  bool judge_in_pool(const Event& e, const BlockStore::Range& backing, const PoolAccess& a);
  const UserHeap* user_heap_of(std::uint64_t address) const;

  // verdicts.cpp
  void add(Judgement judgement) {
    if (judged < judgements.size()) judgements[judged++] = judgement;
  }
  // A call names this block: touched if it went well.
  void touch(const Event& e, Id id, Touch::Access access, std::uint64_t address, std::uint64_t bytes,
             unsigned parameter = trace::kNoParameter) {
    // By access.
    static constexpr std::uint16_t kMarks[] = {kWasRead, kWasWritten, kWasArgument, kWasBound, 0, 0};
    Block& block = store[id];
    if (!e.succeeded()) {
      block.marks |= kWasTried;
      return;
    }
    block.marks |= kMarks[static_cast<unsigned>(access)];
    touched.push_back({&block, access, static_cast<std::uint8_t>(parameter), address, bytes});
  }
  void judge_refused_free(const Event& e);
  void judge_host_free(const Event& e);
  void judge_freed_address(const Event& e, Space home);
  void judge_copy(const Event& e);
  void judge_copy_side(const Event& e, Side side);
  void judge_set(const Event& e);
  void judge_use(const Event& e);
  void judge_range(const Event& e, std::uint64_t address, std::uint64_t bytes, Side side,
                   trace::Side declared);
  void judge_live_range(const Event& e, const BlockStore::Range& range, std::uint64_t address,
                        std::uint64_t bytes, Side side);
  void judge_freed_range(const Event& e, std::uint64_t address, std::uint64_t bytes, Side side,
                         trace::Side declared);
  const Block* live_containing(std::uint64_t address);

  // strays.cpp
  void judge_strays(const Event& e);
  bool judge_stray(const Event& e, std::uint64_t address, std::uint64_t bytes, Side side, trace::Side declared);

  // arrays.cpp
  Id array_of(std::uint64_t handle) const; // live array, also by a view of it
  const Block* dead_array_of(std::uint64_t handle); // likewise
  ArrayPart array_part(std::uint64_t handle) const;
  void judge_array_side(const Event& copy, Side side); // changes nothing
  bool judge_freed_array(const Event& e, std::uint64_t handle, std::uint64_t bytes, Side side);

  // arguments.cpp
  using Words = std::span<const std::uint64_t>; // of a kernel's arguments, see trace::argument_word()
  std::unordered_map<std::uint64_t, std::bitset<trace::kNoParameter>> ends; // Heap::takes_end(), by kernel
  void judge_launch(const Event& e);
  void judge_argument(const Event& e, std::uint64_t word, Id block);
  void judge_freed_argument(const Event& e, std::uint64_t word);
  bool explain_as_end(Judgement& judgement, Words arguments);
  // Sets what else it may mean. False if it means nothing else for sure.
  bool is_mistake(Judgement& use_after_free, std::uint64_t function, Words arguments);
  void note_end(std::uint64_t function, Words arguments, std::uint64_t word);
  const Block* live_just_behind(std::uint64_t address);
};

} // namespace gmt
