// SPDX-License-Identifier: Apache-2.0
// A table of live objects of one kind, for handles that programs may pass after their end: a handle
// is valid only if it is in its table. Owned by State; used with the driver lock held. Invariant:
// the table owns what it holds; a handle is the object's address.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace gmt::sim {

template <class T>
class Handles {
public:
  T* add(std::unique_ptr<T> object) {
    T* raw = object.get();
    objects_.emplace(raw, std::move(object));
    return raw;
  }

  template <class Handle>
  T* get(Handle handle) const {
    auto it = objects_.find(reinterpret_cast<const void*>(handle));
    return it == objects_.end() ? nullptr : it->second.get();
  }

  std::unique_ptr<T> take(const T* object) {
    auto node = objects_.extract(static_cast<const void*>(object));
    return node.empty() ? nullptr : std::move(node.mapped());
  }

  template <class Predicate>
  void remove_if(Predicate predicate) {
    std::erase_if(objects_, [&](const auto& entry) { return predicate(*entry.second); });
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& entry : objects_) visit(*entry.second);
  }

  std::size_t size() const { return objects_.size(); }

private:
  std::unordered_map<const void*, std::unique_ptr<T>> objects_;
};

// Base of what is owned elsewhere, and may be asked for by a handle that is its address.
template <class T>
class Listed {
public:
  template <class Handle>
  static T* get(Handle handle) {
    auto* object = reinterpret_cast<Listed*>(const_cast<void*>(static_cast<const void*>(handle)));
    return all().contains(object) ? static_cast<T*>(object) : nullptr;
  }

private:
  friend T;
  Listed() { all().insert(this); }
  ~Listed() { all().erase(this); }
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;

  static std::unordered_set<const Listed*>& all() {
    static auto* const objects = new std::unordered_set<const Listed*>; // outlives destructors
    return *objects;
  }
};

} // namespace gmt::sim
