// SPDX-License-Identifier: Apache-2.0
// Which object files are mapped where. Walks the loader's list; takes no lock of the host's but the
// loader's own, which is never held while a constructor runs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gmt::interposer {

// Rises when a library is unloaded: addresses may mean something else from then on.
extern std::atomic<std::uint32_t> modules_epoch;
inline std::uint32_t module_epoch() noexcept {
  return modules_epoch.load(std::memory_order_relaxed);
}
void libraries_were_unloaded() noexcept;

struct ObjectFile {
  std::uint64_t start, end, bias; // of the whole mapping
  char path[1024];                // of the main program: what /proc/self/exe points to
};
// The object file that holds an address; false if none does.
bool object_of(const void* address, ObjectFile& object) noexcept;

// Calls visit(context, path, an address inside) for every loaded object whose file name begins with
// `prefix`.
void for_each_object_named(const char* prefix,
                           bool (*visit)(void* context, const char* path, const void* inside),
                           void* context) noexcept;

// The same with the path alone.
void each_object_path(const char* prefix, bool (*visit)(void* context, const char* path),
                      void* context) noexcept;

// Whether a loaded object has an ELF note of this owner and type.
bool any_object_has_note(const char* owner, std::uint32_t type) noexcept;

bool is_own_code(const void* address) noexcept;
// Whether the loader asks that object before us, and it is not the main program.
bool is_earlier_preload(const ObjectFile& object) noexcept;
bool own_folder(char* buffer, std::size_t size) noexcept; // of this library, without the last slash

} // namespace gmt::interposer
