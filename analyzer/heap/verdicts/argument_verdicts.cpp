// SPDX-License-Identifier: Apache-2.0

#include "analyzer/heap/verdicts/argument_verdicts.h"

namespace gmt {

using trace::MemoryKind;

NamedMemory ArgumentVerdicts::check(const Event& e, Argument word, Id block,
                                    CallVerdicts& verdicts) const {
  NamedMemory named{.block = block, .address = word.address()};
  if (block != BlockStore::kNone && user_pools_.has_regions()) {
    const PoolVerdicts::Use use{.range = {.address = named.address},
                                .parameter = word.parameter(),
                                .arguments = e.launch().arguments};
    named.region = pools_.check_use(e, store_.range_of(block), use, verdicts).region;
  }
  if (block == BlockStore::kNone) named.block = store_.find_id(Space::kRegistered, named.address);
  if (named.block == BlockStore::kNone) check_freed(e, word, verdicts);
  return named;
}

// Pinned and managed memory too: who has got its addresses since then has memory that a kernel
// cannot read, or CUDA knows it.
void ArgumentVerdicts::check_freed(const Event& e, Argument word, CallVerdicts& verdicts) const {
  if (is_sticky(e.result)) return;
  const std::uint64_t address = word.address();
  const event::Launch& launch = e.launch();
  const Arguments all = launch.arguments;
  const Block* dead = store_.find_dead(Space::kAddress, address);
  if (dead == nullptr) {
    if (e.succeeded()) readings_.note_end(launch.function, all, word, verdicts);
    return;
  }
  if (host_memory_.contains(address)) return;
  // A graph's memory comes back at every launch, static memory with its module.
  if (dead->memory_kind == MemoryKind::kGraph || dead->memory_kind == MemoryKind::kModuleGlobal)
    return;
  Verdict verdict{.kind = Verdict::Kind::kUseAfterFree,
                  .parameter = static_cast<std::uint8_t>(word.parameter()),
                  .block = dead,
                  .offset = address - dead->address,
                  .range_begin = address};
  if (readings_.is_mistake(verdict, launch.function, all, verdicts)) verdicts.add(verdict);
}

} // namespace gmt
