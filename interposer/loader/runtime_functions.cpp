// SPDX-License-Identifier: Apache-2.0
// The runtime's half of real_dlsym.h. Order of search: another preload's wrapper (load order would
// have preferred it too), the scope of the object that called, what comes next in load order, what
// dlsym once handed out, any loaded libcudart. Our own address is refused at each step: answering
// it would recurse until the stack ends.
#include "interposer/loader/real_dlsym.h"

#include <cstring>
#include <dlfcn.h>

#include "interposer/base/own_stack.h"
#include "interposer/base/signal_guard.h"
#include "trace/api_id.h"

namespace gmt::interposer {

constinit std::atomic<bool> any_runtime_wrapper{false};

namespace {

constinit std::atomic<void*> adopted[trace::kApiCount - trace::kDriverApiCount] = {};

// Runtime functions by (caller, row) and by (calling object, row): direct-mapped, written whole by
// one word that is checked last.
struct Known {
  std::atomic<const void*> caller;
  std::atomic<void*> function;
  // Caller, function, row and epoch, so that a torn entry never matches
  std::atomic<std::uint64_t> check;
};
constexpr unsigned kKnown = 2048;
constinit Known known_functions[kKnown] = {};

class CachedFunction {
public:
  CachedFunction(const void* caller, std::uint16_t row) noexcept
      : caller_(caller),
        key_(reinterpret_cast<std::uint64_t>(caller) + module_epoch() * 0x9e3779b97f4a7c15u + row),
        known_(known_functions[(key_ ^ key_ >> 15 ^ row * 0x9e37u) % kKnown]) {}

  void* get() const noexcept {
    void* f = known_.function.load(std::memory_order_relaxed);
    const bool same = f != nullptr && known_.caller.load(std::memory_order_relaxed) == caller_ &&
                      known_.check.load(std::memory_order_acquire) == check(f);
    return same ? f : nullptr;
  }
  void put(void* f) const noexcept {
    known_.caller.store(caller_, std::memory_order_relaxed);
    known_.function.store(f, std::memory_order_relaxed);
    known_.check.store(check(f), std::memory_order_release);
  }

private:
  std::uint64_t check(void* f) const noexcept {
    return (key_ ^ reinterpret_cast<std::uint64_t>(f)) + 1;
  }

  const void* caller_;
  std::uint64_t key_;
  Known& known_;
};

constexpr unsigned kMaxRuntimes = 8;
struct Paths {
  unsigned count;
  char path[kMaxRuntimes][512];
};

bool copy_runtime_path(void* context, const char* path, const void*) noexcept {
  auto& paths = *static_cast<Paths*>(context);
  if (std::strlen(path) < sizeof paths.path[0]) std::strcpy(paths.path[paths.count++], path);
  return paths.count < kMaxRuntimes;
}

void* function_in(const char* path, const char* name) noexcept {
  void* handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* function = not_ours(real_dlsym(handle, name));
  close_handle(handle); // the object stays: what loaded it holds it
  return function;
}

// The paths are copied first: the walk holds a lock that dlopen must not be waited for under.
[[gnu::noinline]] void* loaded_function(const char* name) noexcept {
  Paths paths;
  paths.count = 0;
  for_each_object_named("libcudart", copy_runtime_path, &paths);
  for (unsigned i = 0; i < paths.count; ++i) {
    if (void* f = function_in(paths.path[i], name)) return f;
  }
  return nullptr;
}

// The library of an adopted function may be gone since.
bool is_in_runtime(void* function) noexcept {
  ObjectFile object;
  return function != nullptr && object_of(function, object) && is_runtime_path(object.path);
}

void* find_runtime_function(std::uint16_t row, const ObjectFile* caller) noexcept {
  const char* name = trace::kApiNames[row];
  void* next = next_function(name);
  ObjectFile definer;
  if (next != nullptr && object_of(next, definer) && !is_runtime_path(definer.path) &&
      caller != nullptr && caller->start != definer.start) {
    any_runtime_wrapper.store(true);
    return next; // another preload's wrapper, and not called by itself
  }
  // In the scope of a preload before us its own wrapper comes first, which called us just now.
  if (caller != nullptr && !is_earlier_preload(*caller)) {
    if (void* f = function_in(caller->path, name)) return f;
  }
  if (next != nullptr && is_runtime_path(definer.path)) return next;
  if (void* f = adopted[row - trace::kDriverApiCount].load(); is_in_runtime(f)) return f;
  return loaded_function(name);
}

[[gnu::noinline]] void* learn_runtime_function_here(std::uint16_t row,
                                                    const void* caller) noexcept {
  const SignalGuard signals;
  // Before the search: what is unloaded meanwhile makes it void
  const CachedFunction site(caller, row);
  ObjectFile object;
  // A wrapper that jumped on to us leaves our own address as its caller.
  const bool known = !is_own_code(caller) && object_of(caller, object);
  const CachedFunction of_object(known ? reinterpret_cast<const void*>(object.start) : caller, row);
  void* f = of_object.get();
  if (f == nullptr) f = find_runtime_function(row, known ? &object : nullptr);
  if (f == nullptr) return nullptr;
  of_object.put(f);
  site.put(f);
  return f;
}

[[gnu::noinline]] void* learn_runtime_function(std::uint16_t row, const void* caller) noexcept {
  void* f = nullptr;
  with_room([&](bool) noexcept { f = learn_runtime_function_here(row, caller); });
  return f;
}

} // namespace

bool is_runtime_path(const char* path) noexcept {
  const char* slash = std::strrchr(path, '/');
  return std::strncmp(slash != nullptr ? slash + 1 : path, "libcudart", 9) == 0;
}

bool is_of_runtime_13(void* function) noexcept {
  // The last one found, so that the loader's list is not walked at every call.
  static constinit std::atomic<std::uint64_t> start{0}, end{0};
  static constinit std::atomic<std::uint32_t> seen_epoch{0};
  const auto address = reinterpret_cast<std::uint64_t>(function);
  if (seen_epoch.load() == module_epoch() && address >= start.load() && address < end.load())
    return true;
  ObjectFile object;
  if (!object_of(function, object) || std::strstr(object.path, "libcudart.so.13") == nullptr)
    return false;
  end.store(0); // never the start of one with the end of another
  start.store(object.start);
  end.store(object.end);
  seen_epoch.store(module_epoch());
  return true;
}

void* function_in_scope_of(const void* address, const char* name) noexcept {
  ObjectFile object;
  return object_of(address, object) ? function_in(object.path, name) : nullptr;
}

bool adopt_runtime_function(std::uint16_t row, void* function) noexcept {
  std::atomic<void*>& slot = adopted[row - trace::kDriverApiCount];
  void* known = slot.load();
  if (known == function) return true;
  return !is_in_runtime(known) &&
         (slot.compare_exchange_strong(known, function) || known == function);
}

void* runtime_function_by_name(std::uint16_t row) noexcept {
  return adopted[row - trace::kDriverApiCount].load();
}

void* runtime_function_behind_wrapper(std::uint16_t row) noexcept {
  const SignalGuard signals;
  if (void* f = adopted[row - trace::kDriverApiCount].load(); is_in_runtime(f)) return f;
  void* f = nullptr;
  with_room([&](bool) noexcept { f = loaded_function(trace::kApiNames[row]); });
  return f;
}

void* runtime_function(std::uint16_t row, const void* caller) noexcept {
  void* f = CachedFunction(caller, row).get();
  return f != nullptr ? f : learn_runtime_function(row, caller);
}

} // namespace gmt::interposer
