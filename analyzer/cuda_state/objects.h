// SPDX-License-Identifier: Apache-2.0
// CUDA's objects that are no memory: streams, events, graphs, modules, pools, textures and the
// like, by class and handle. Which call made each, and which ended it.
//
// The driver gives handles out again. What has ended is remembered until then, the newest
// kMostEnded of it: so memory grows with what is alive, and not with calls.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "analyzer/cuda_state/contexts.h"
#include "analyzer/cuda_state/life_call.h"
#include "analyzer/model/event.h"

namespace gmt {

inline constexpr std::size_t kObjectClasses = 32; // more than there are

// What is known of a class of objects. A new one is two rows of trace/object_classes.def, and
// nothing in the analyzer.
struct ObjectTraits {
  std::string_view one, several;    // "a stream", "streams"
  std::string_view destroy, driver; // "cudaStreamDestroy", "cuStreamDestroy"
  bool dies_with_context = false;
  bool takes_memory = false; // of the driver's, so that many of them are an object-leak
  bool is_code = false;      // or makes code: programs take it up piece by piece
  bool is_tracked = false;   // it has a row GMT_OBJECT
};

// Of a class without a row: "an object".
const ObjectTraits& traits_of(trace::ObjectClass object);

struct CudaObject {
  LifeCall created;
  std::uint32_t thread = 0;      // that made it
  std::uint64_t work_before = 0; // how much work had been given to streams until then
  std::optional<LifeCall> ended; // nothing while it lives
  bool with_context = false;     // that ended, and took it along
  // What a texture or surface shows: an address, or an array's handle. A damaged trace may say 0.
  std::uint64_t memory = 0;
};

class ObjectTable {
public:
  using Class = trace::ObjectClass;
  using Handle = std::uint64_t;
  static constexpr std::size_t kMostEnded = 65'536;

  void on_life(const Event& e);   // of any object, accepted
  void on_unsure(const Event& e); // of any object: it is not known what came of the call
  void on_bound(const Event& e);  // kUse, accepted: textures and surfaces are made so
  void on_sync(const Event& e);   // kSync, accepted: captures end as graphs
  void end_with_context(const Event& e, const ContextEnd& end, const ContextTable& contexts);
  void count_work() { ++work_; }

  // Null if its creation went unseen, or if it ended long ago.
  const CudaObject* find(Class object, Handle handle) const {
    const auto& all = objects_[index_of(object)];
    const auto at = all.find(handle);
    return at != all.end() ? &at->second : nullptr;
  }
  // The same of what has been destroyed.
  const CudaObject* find_destroyed(Class object, Handle handle) const {
    const CudaObject* known = find(object, handle);
    return known != nullptr && known->ended && !known->with_context ? known : nullptr;
  }
  bool any(Class object) const { return !objects_[index_of(object)].empty(); }
  // Whether the newest call destroyed what had been destroyed before, and CUDA accepted it.
  bool is_destroyed_again(const Event& newest) const { return destroyed_again_ == newest.order; }

  template <class Visit> void for_each_alive(Visit visit) const { // in no order
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      for (const auto& [handle, object] : objects_[i]) {
        if (!object.ended) visit(static_cast<Class>(i), handle, object);
      }
    }
  }

private:
  static std::size_t index_of(Class object) {
    const auto i = static_cast<std::size_t>(object);
    return i < kObjectClasses ? i : 0; // damaged records
  }
  void make(Class object, Handle handle, const Event& e, std::uint64_t memory = 0);
  void end(Class object, Handle handle, CudaObject& known, const LifeCall& call);

  std::array<std::unordered_map<Handle, CudaObject>, kObjectClasses> objects_;
  struct Ended {
    Class object;
    Handle handle;
    std::uint64_t order;
  };
  std::deque<Ended> ended_; // oldest first
  std::uint64_t work_ = 0;
  std::uint64_t destroyed_again_ = 0; // order of the newest such call
};

} // namespace gmt
