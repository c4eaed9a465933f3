// SPDX-License-Identifier: Apache-2.0
// What a thread's registers held when it executed an access that lies behind it. A register that
// nothing has written since has its value still. Of another one the value is computed again, from
// the instructions before the access, if they are straight integer code of the kernel's parameters
// and of registers whose values are known. Nothing is guessed: behind a branch, a call or an
// instruction that is not known, there is no value.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "analyzer/core_dump/dump_modules.h"
#include "analyzer/core_dump/dump_tables.h"
#include "analyzer/model/core_dump.h"

namespace gmt {

struct LaneRegisters {
  const DumpTables& tables;
  const DumpTables::Section* general = nullptr;
  const DumpTables::Section* uniform = nullptr;
  const DumpTables::Section* predicates = nullptr;
  // Of the kernel: its parameters, and where they begin in constant bank 0
  std::span<const char> parameters{};
  std::uint64_t parameters_at = 0;
  Extents block_index{}, thread_index{}, block{}, grid{}; // extents of the last two, 0 unknown
};

class RegisterHistory {
public:
  // `ahead`: where the thread stands, in bytes behind the access, in the same function.
  RegisterHistory(const DumpCode& access, std::int64_t ahead, const LaneRegisters& registers)
      : code_(access), ahead_(ahead), registers_(registers) {}

  // Right before the access.
  std::optional<std::uint32_t> general(std::uint32_t number) { return general(number, 0, 0); }
  std::optional<std::uint32_t> uniform(std::uint32_t number) { return uniform(number, 0, 0); }

private:
  using Value = std::optional<std::uint32_t>;
  // Right before the instruction so many bytes behind the access.
  Value general(std::uint32_t number, std::int64_t at, unsigned depth);
  Value uniform(std::uint32_t number, std::int64_t at, unsigned depth);
  Value value_of(const SassArithmetic::Operand& operand, std::int64_t at, unsigned depth);
  Value result_of(const SassArithmetic& made, bool is_upper, std::int64_t at, unsigned depth);
  std::optional<std::uint64_t> long_sum(const SassArithmetic& made, std::int64_t at,
                                        unsigned depth);
  Value carry(const SassArithmetic& upper, std::int64_t at, unsigned depth);
  Value upper_product(const SassArithmetic& made, std::int64_t at, unsigned depth);
  Value constant(std::uint64_t offset) const;
  Value special(std::uint32_t number) const;
  bool may_come_from_elsewhere(std::int64_t at) const;
  DumpCode::Words look_at(std::int64_t at);

  const DumpCode& code_;
  const std::int64_t ahead_;
  const LaneRegisters& registers_;
  std::uint64_t looked_at_ = 0; // instructions, over and over
};

} // namespace gmt
