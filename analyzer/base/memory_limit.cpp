// SPDX-License-Identifier: Apache-2.0
#include "analyzer/base/memory_limit.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "analyzer/base/folder_files.h"

namespace gmt {

std::optional<std::uint64_t> resident_bytes() {
  const Descriptor file(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  char text[128] = "";
  if (!file || read_at(file.number(), text, sizeof text - 1, 0) == 0) return std::nullopt;
  char* second = nullptr;
  std::strtoull(text, &second, 10); // all of its address space
  return std::strtoull(second, nullptr, 10) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

MemoryLimit::MemoryLimit(std::uint64_t bytes) {
  if (const auto now = resident_bytes()) most_ = *now + bytes;
}

bool MemoryLimit::is_above() const {
  const auto now = resident_bytes();
  return most_ && now && *now > *most_;
}

} // namespace gmt
