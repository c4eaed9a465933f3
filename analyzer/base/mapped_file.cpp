// SPDX-License-Identifier: Apache-2.0
// Maps files, see mapped_file.h.
#include "analyzer/base/mapped_file.h"

#include <sys/mman.h>

namespace gmt {

MappedFile::MappedFile(const Descriptor& file) {
  const std::uintmax_t size = bytes_of(file);
  if (size == 0) return;
  const void* map = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (map != MAP_FAILED) bytes_ = {static_cast<const char*>(map), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

} // namespace gmt
