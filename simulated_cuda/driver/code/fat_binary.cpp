// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/code/fat_binary.h"

#include "ptx/fatbin/unpack.h"

#include <cstddef>
#include <cstdint>

namespace gmt::sim {
namespace {

constexpr std::uint64_t kMaxPlain = std::uint64_t{1} << 30;

bool unpack_bytes(const ptx::FatbinEntry& entry, std::string* out) {
  const ptx::FatbinPacking packing = ptx::packing_of(entry.header);
  if (packing == ptx::FatbinPacking::kPlain) {
    out->assign(entry.code, entry.bytes);
    return true;
  }
  if (entry.header.plain_bytes == 0 || entry.header.plain_bytes > kMaxPlain) return false;
  out->resize(entry.header.plain_bytes);
  std::size_t bytes = 0;
  if (!ptx::unpack_code(packing, entry.code, ptx::packed_bytes(entry), out->data(), out->size(),
                        &bytes))
    return false;
  out->resize(bytes);
  return true;
}

} // namespace

bool unpack(const ptx::FatbinEntry& entry, std::string* out) {
  if (!unpack_bytes(entry, out)) return false;
  if (entry.is_ptx()) out->resize(out->find_last_not_of('\0') + 1);
  return true;
}

} // namespace gmt::sim
