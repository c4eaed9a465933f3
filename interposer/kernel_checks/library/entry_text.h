// SPDX-License-Identifier: Apache-2.0
// The bytes of an entry of the cache, and the code that they stand for. Whatever they are, reading
// them ends well.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "interposer/kernel_checks/library/code_cache.h"

namespace gmt::interposer::kernel_checks {

std::string entry_of(const CachedCode& code, const CodeKey& key);
// None if it is another key's, or not as it was written.
std::optional<CachedCode> code_of_entry(std::string_view entry, const CodeKey& key);

} // namespace gmt::interposer::kernel_checks
