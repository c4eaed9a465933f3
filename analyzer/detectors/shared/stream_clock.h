// SPDX-License-Identifier: Apache-2.0
// Which work on CUDA streams is ordered before which: a happens-before relation made of stream
// order, events, the legacy stream's barriers and what the host waited for. Fed with the events of
// one process in merged order, asked by the stream-order detector.
//
// Work is named by its stream and its order in the trace, so a clock is one order for each stream:
// all work on it up to there is ordered before. There is one host clock for all threads. What
// cannot be known (events of other processes, waits for memory or for another API, what graphs wait
// for and signal) is the asker's choice: with Uncertain::kOrdered it counts as ordered, so that
// "not ordered" is never a guess; with Uncertain::kUnordered "ordered" is none. Of events of other
// processes, and of those that launches record by an attribute, perhaps before the kernel's end, a
// clock knows that it is so: is_perhaps(). Rules: CUDA driver
// API manual, chapters on streams, events and API synchronisation behaviour.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/heap/heap.h"
#include "analyzer/model/event.h"
#include "analyzer/model/trace_names.h"

namespace gmt {

class StreamClock {
public:
  static constexpr std::size_t kMaxStreams = 256; // alive at a time; with more, is_full()
  // Numbers of streams that have ended and are not given out again yet
  static constexpr std::size_t kRest = 32;
  using Stream = std::uint16_t;
  static constexpr Stream kNoStream = UINT16_MAX;

  enum class Uncertain : std::uint8_t { kOrdered, kUnordered };
  // Calls say what each node of a graph waits for, also of graphs that are built node by node.
  void sees_graph_nodes() { sees_graph_nodes_ = true; }
  // Of calls: which launches record events, and which events other processes have made. They
  // outlive the clock. Without them neither is known.
  void sees_names(const TraceNames& names) { names_ = &names; }
  explicit StreamClock(Uncertain uncertain = Uncertain::kOrdered)
      : strict_(uncertain == Uncertain::kUnordered) {}

  // One piece of work. `barrier` is the legacy stream that waits for its stream, kNoStream if none
  // does.
  struct Point {
    Stream stream = kNoStream, barrier = kNoStream;
    std::uint64_t order = 0;
  };

  // Lives of streams and events, and what graphs hold: feed these from the start of the trace.
  void on_life(const Event& e);
  void on_capture(const Event& e, const Heap& heap);   // kSync
  void on_graph_change(const Event& e);                // kGraphChange
  void on_graph_use(const Event& e, const Heap& heap); // kUse
  void on_thread(const Event& e);                      // kThread
  // All that orders streams. Needed only from the first work on that is asked about.
  void on_sync(const Event& e, const Heap& heap);
  void on_use(const Event& e, const Heap& heap); // memory operations of streams
  // The host waited for everything, or may have.
  void host_waits(const Event& e) { host_.all = e.order; }

  // All work so far, of any context, is ordered before all that comes. The host knows no more.
  void all_wait(const Event& e);

  // New work on a stream, named by its handle as the call gave it.
  Point work(const Event& e, std::uint64_t handle, const Heap& heap);
  // What is ordered before this work, which is the newest on its stream: for later questions.
  class Past;
  std::shared_ptr<const Past> past(Point newest) const;
  static bool is_ordered(Point earlier, const Past& of_later); // of work on another stream
  // Whether the order that it says hangs on an event of which it is not known what it orders.
  static bool is_perhaps(Point earlier, const Past& of_later);
  bool is_perhaps(Point earlier, Point later) const;
  // The host has waited for this work.
  void host_waits(Point work);

  bool is_ordered(Point earlier, Point later) const; // `later` is the newest work on its stream
  bool is_done(Point earlier) const;                 // as the host knows
  std::string name(Stream stream) const;             // "stream 0x5581", "the default stream"
  bool is_full() const { return full_; } // nothing is known of some streams: stop asking

private:
  struct Clock {
    std::uint64_t all = 0;         // of every stream
    std::uint64_t perhaps = 0;     // of every stream, but it may be otherwise
    std::vector<std::uint64_t> of; // by stream; may be shorter than there are streams
    void raise(Stream stream, std::uint64_t order);
    void join(const Clock& other);
    bool covers(const Point& point) const { return point.order <= perhaps || is_sure(point); }
    bool is_sure(const Point& point) const;
    std::uint64_t at(Stream stream) const { return stream < of.size() ? of[stream] : 0; }
  };
  struct State {
    std::uint64_t handle = 0;
    std::uint16_t context = 0;
    Stream barrier = kNoStream; // its own number for a legacy stream
    Clock clock;                // what is ordered before its next work
    bool waits_outside = false; // for something no call reports: ordered after everything
    std::uint64_t seen = 0; // blocking streams: the legacy stream's work that they have taken over
    std::uint64_t newest = 0; // legacy streams: order of the newest work
    std::uint64_t last = 0;   // order of the newest work
    Clock learnt;             // legacy streams: what blocking streams have waited for
  };
  struct EventState {
    bool is_shared = false; // other processes may record it
    bool in_graph = false;  // recorded during a capture
    bool by_graphs = false; // launches of graphs record it
    Clock clock;
  };
  struct Ended {
    Stream stream = 0;
    std::uint64_t key = 0; // by which it can still be found: a thread that ends may make last calls
  };
  struct Created {
    bool blocking = true;
    int device = 0;
  };

  // Calls that name no context are the first one's.
  static constexpr std::uint16_t kFirstContext = 1;
  static std::uint16_t context_of(const Event& e) {
    return e.context != 0 ? e.context : kFirstContext;
  }
  int scope_of(std::uint16_t context, const Heap& heap) const;
  Stream find(const Event& e, std::uint64_t handle, const Heap& heap);
  Stream add(const Event& e, std::uint64_t key, std::uint64_t handle, const Created& created);
  Stream legacy_of(const Event& e, int device);
  void forget(std::uint64_t handle);
  bool give_out_again();
  void learn(Stream stream, const Clock& clock);
  bool waits_outside(const State& s) const;
  void join_after(Point work, Clock& clock) const; // what is known once this work is done
  void on_wait(const Event& e, const Heap& heap);
  void on_record(const Event& e, const Heap& heap);
  void on_event_done(const Event& e, std::uint64_t event);
  void on_context_wait(const Event& e);
  void on_context_synchronized(const Event& e);
  void put_behind_earlier_launches(Point launch, std::uint64_t executable);
  // Others learn that the work so far is done
  void signal(const Event& e, std::uint64_t handle, const Heap& heap);
  bool is_unknown(const EventState& event) const {
    return event.is_shared || event.by_graphs || event.in_graph;
  }

  std::vector<State> streams_;
  std::deque<Ended> ended_;
  std::unordered_map<std::uint32_t, std::uint32_t> thread_of_log_;
  std::unordered_map<std::uint64_t, Stream> by_key_;
  std::unordered_map<std::uint64_t, EventState> events_;
  std::unordered_map<std::uint64_t, Clock> launches_; // the newest of each executable graph is done
  bool graphs_wait_ = false; // some graph waits for an event or for something outside
  bool sees_graph_nodes_ = false;
  bool graphs_signal_ = false; // some graph lets the host know how far it is
  Clock host_;
  Clock contexts_wait_for_; // what all work of some context waits for
  bool has_context_waits_ = false;
  int last_device_ = 0; // the highest one seen
  // Numbers of calls are those of the build that wrote the trace
  bool is_call(const Event& e, std::string_view name) const {
    return names_ != nullptr && names_->api_name(e.api).starts_with(name);
  }
  const TraceNames* names_ = nullptr;
  const bool strict_;
  bool full_ = false;
};

class StreamClock::Past {
  friend class StreamClock;
  Clock clock;
};

} // namespace gmt
