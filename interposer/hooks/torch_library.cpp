// SPDX-License-Identifier: Apache-2.0
#include "interposer/hooks/torch_library.h"

#include <cstddef>
#include <cstring>
#include <link.h>

#include "interposer/loader/exported_symbol.h"
#include "interposer/loader/loaded_object.h"
#include "interposer/loader/object_files.h"

namespace gmt::interposer {
namespace {

struct Wanted {
  const char* library;
  const char* name;
  const char* found;
};

bool is_of_library(const dl_phdr_info& object, const char* library) noexcept {
  const char* const slash = std::strrchr(object.dlpi_name, '/');
  const char* const file = slash != nullptr ? slash + 1 : object.dlpi_name;
  return std::strncmp(file, library, std::strlen(library)) == 0;
}

int look_into(dl_phdr_info* object, std::size_t, void* data) noexcept {
  auto& wanted = *static_cast<Wanted*>(data);
  if (object->dlpi_name == nullptr || !is_of_library(*object, wanted.library)) return 0;
  const char* const found = exported_symbol(*object, wanted.name);
  if (found == nullptr || is_own_code(found)) return 0;
  wanted.found = found;
  return 1;
}

} // namespace

// A build of PyTorch may be one library of another name. Its own function is called then, too: its
// callers use what that returns.
void* torch_function(const char* library, const char* name) noexcept {
  Wanted wanted{library, name, nullptr};
  if (walk_objects(look_into, &wanted) == 0) {
    wanted.library = "";
    walk_objects(look_into, &wanted);
  }
  return const_cast<char*>(wanted.found);
}

} // namespace gmt::interposer
