// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/fuzz_dumps.h"

#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "analyzer/core_dump/core_dump.h"
#include "analyzer/trace_reader/core_dump_file.h"

namespace gmt::test {

void read_dump_input(const std::uint8_t* data, std::size_t size) {
  // Bytes of its own size: what is read beyond them is seen.
  const auto bytes = std::make_unique<char[]>(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(data[i]);
  const CoreDump dump = read_core_dump({bytes.get(), size});
  if (dump.faults.size() > kMostFaults) std::abort();
  for (const DumpFault& fault : dump.faults) {
    if (fault.addresses.size() > kMostRuns || fault.low_halves.size() > kMostRuns) std::abort();
  }
  std::uint64_t damaged_lines = 0;
  (void)parse_core_dumps({bytes.get(), size}, damaged_lines);
}

} // namespace gmt::test
