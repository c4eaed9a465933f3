// SPDX-License-Identifier: Apache-2.0
// Looks up a symbol in one loaded object, by its own tables. dlsym() would take the loader's lock,
// which a thread in a constructor of dlopen() may hold for as long as it likes.
#pragma once

#include <link.h>

namespace gmt::interposer {

// Where the object has this function or variable; null if it exports none of this name.
const char* exported_symbol(const dl_phdr_info& object, const char* name) noexcept;

} // namespace gmt::interposer
