// SPDX-License-Identifier: Apache-2.0
#include "interposer/calls/host_memory.h"

#include <cerrno>

#include "interposer/log/thread_log.h"

namespace gmt::interposer {

[[gnu::cold]] void note_host_memory(ThreadLog& log, const Record& record) noexcept {
  const int error = errno;
  const NamedAddresses named = named_addresses(record);
  for (unsigned i = named.first; i < named.end; ++i) {
    const std::uint64_t address = trace::argument_address(record.w[i]);
    if (!is_retired(address) || !is_newly_hosts(address)) continue;
    trace::Words<trace::HostMemoryWord> words;
    trace::HostMemoryFields(words).address(address & ~(kHostPage - 1)).bytes(kHostPage);
    if (log.append_words(trace::Kind::kHostMemory, words.w, words.kCount) == nullptr) break;
    remember_hosts(address); // behind the record, so that no other thread's call comes before it
  }
  errno = error;
}

} // namespace gmt::interposer
