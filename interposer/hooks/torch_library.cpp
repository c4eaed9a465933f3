// SPDX-License-Identifier: Apache-2.0

#include "interposer/hooks/torch_library.h"

#include <cstddef>
#include <cstring>
#include <link.h>

#include "interposer/loader/exported_symbol.h"
#include "interposer/loader/loaded_object.h"

namespace gmt::interposer {
namespace {

struct Wanted {
  const char* library;
  const char* name;
  const char* found;
};

// In the file's name, so that no other library's function of the same name is taken.
bool is_of_library(const dl_phdr_info& object, const char* library) noexcept {
  const char* const slash = std::strrchr(object.dlpi_name, '/');
  const char* const file = slash != nullptr ? slash + 1 : object.dlpi_name;
  return std::strncmp(file, library, std::strlen(library)) == 0;
}

} // namespace

void* torch_function(const char* library, const char* name) noexcept {
  Wanted wanted{library, name, nullptr};
  walk_objects(
    [](dl_phdr_info* object, std::size_t, void* data) noexcept -> int {
      auto& w = *static_cast<Wanted*>(data);
      if (object->dlpi_name == nullptr || !is_of_library(*object, w.library)) return 0;
      w.found = exported_symbol(*object, w.name);
      return w.found != nullptr ? 1 : 0;
    },
    &wanted);
  return const_cast<char*>(wanted.found);
}

} // namespace gmt::interposer
