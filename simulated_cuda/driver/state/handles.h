// SPDX-License-Identifier: Apache-2.0
// A table of live objects of one kind, for handles that programs may pass after their end: a handle
// is valid only if it is in its table. Owned by State; used with the driver lock held. Invariant:
// the table owns what it holds; a handle is the object's address.
#pragma once

#include <memory>
#include <unordered_map>
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

  size_t size() const { return objects_.size(); }

private:
  std::unordered_map<const void*, std::unique_ptr<T>> objects_;
};

} // namespace gmt::sim
