// SPDX-License-Identifier: Apache-2.0

#include "analyzer/cuda_state/objects.h"

#include "trace/object_class.h"

namespace gmt {
namespace {

using trace::LifeOp;
using trace::ObjectClass;

constexpr unsigned kNone = 0, kDies = 1, kTakesMemory = 2, kCode = 4; // facts of a row

constexpr ObjectTraits traits_in_row(std::string_view one, std::string_view several,
                                     std::string_view destroy, std::string_view driver,
                                     unsigned facts) {
  return {.one = one,
          .several = several,
          .destroy = destroy,
          .driver = driver,
          .dies_with_context = (facts & kDies) != 0,
          .takes_memory = (facts & kTakesMemory) != 0,
          .is_code = (facts & kCode) != 0,
          .is_tracked = true};
}

constexpr ObjectTraits kOther{"an object", "objects", "the call that destroys it",
                              "the call that destroys it"};
constexpr auto kByClass = [] {
  std::array<ObjectTraits, kObjectClasses> all;
  all.fill(kOther);
#define GMT_ENUM(name, meaning)
#define GMT_VALUE(name, member, number, word, since, meaning)
#define GMT_END_ENUM(name)
#define GMT_OBJECT(member, ...)                                                                    \
  all[static_cast<std::size_t>(ObjectClass::k##member)] = traits_in_row(__VA_ARGS__);
#include "trace/object_classes.def"
#undef GMT_ENUM
#undef GMT_VALUE
#undef GMT_END_ENUM
#undef GMT_OBJECT
  return all;
}();

} // namespace

const ObjectTraits& traits_of(ObjectClass object) {
  const auto index = static_cast<std::size_t>(object);
  return index < kByClass.size() ? kByClass[index] : kOther;
}

void ObjectTable::make(Class object, Handle handle, const Event& e, std::uint64_t memory) {
  if (handle == 0) return;
  objects_[index_of(object)][handle] = {.created = life_call(e),
                                        .thread = e.thread,
                                        .work_before = work_,
                                        .ended = std::nullopt,
                                        .with_context = false,
                                        .memory = memory};
}

void ObjectTable::end(Class object, Handle handle, CudaObject& known, const LifeCall& call) {
  known.ended = call;
  ended_.push_back({object, handle, call.order});
  if (ended_.size() <= kMostEnded) return;
  const Ended& oldest = ended_.front();
  auto& all = objects_[index_of(oldest.object)];
  const auto at = all.find(oldest.handle);
  const bool is_it = at != all.end() && at->second.ended && at->second.ended->order == oldest.order;
  if (is_it) all.erase(at);
  ended_.pop_front();
}

void ObjectTable::on_life(const Event& e) {
  const event::Life& life = e.life();
  const Class object = life.object;
  if (!traits_of(object).is_tracked) return;
  if (life.op == LifeOp::kCreate) return make(object, life.handle, e);
  if (life.op != LifeOp::kDestroy) return;
  const auto at = objects_[index_of(object)].find(life.handle);
  if (at == objects_[index_of(object)].end()) return;
  if (at->second.ended) destroyed_again_ = e.order;
  else end(object, life.handle, at->second, life_call(e));
}

// Neither alive nor ended for sure: nothing is claimed.
void ObjectTable::on_unsure(const Event& e) {
  const event::Life& life = e.life();
  if (life.op != LifeOp::kDestroy) return;
  auto& all = objects_[index_of(life.object)];
  const auto at = all.find(life.handle);
  if (at != all.end() && !at->second.ended) all.erase(at);
}

void ObjectTable::on_bound(const Event& e) {
  const event::Use& use = e.use();
  if (use.use == trace::UseClass::kTexture)
    make(ObjectClass::kTexture, use.object(), e, use.address);
  if (use.use == trace::UseClass::kSurface)
    make(ObjectClass::kSurface, use.object(), e, use.address);
}

// A capture may go to a graph that was there before.
void ObjectTable::on_sync(const Event& e) {
  const event::Sync& sync = e.sync();
  if (sync.op != trace::SyncOp::kEndCapture) return count_work();
  const CudaObject* known = find(ObjectClass::kGraph, sync.graph());
  if (known == nullptr || known->ended) make(ObjectClass::kGraph, sync.graph(), e);
}

// Most records of objects name no context: those end with any.
void ObjectTable::end_with_context(const Event& e, const ContextEnd& context_end,
                                   const ContextTable& contexts) {
  const LifeCall call = life_call(e);
  for (std::size_t i = 0; i < kObjectClasses; ++i) {
    const auto object = static_cast<Class>(i);
    if (!traits_of(object).dies_with_context) continue;
    for (auto& [handle, known] : objects_[i]) {
      const std::uint16_t context = known.created.context;
      if (known.ended || (context != 0 && !contexts.is_ended_by(context, context_end))) continue;
      end(object, handle, known, call);
      known.with_context = true;
    }
  }
}

} // namespace gmt
