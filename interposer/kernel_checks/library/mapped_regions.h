// SPDX-License-Identifier: Apache-2.0
// Which addresses the program has reserved and what it has mapped there, for regions that lie in
// more than one piece. Followed from the reservation on, and only as long as all is heard of it and
// no piece is given back: what was not heard of would be poison.
#pragma once

#include <cstdint>
#include <optional>

#include "rewriter/table.h"

namespace gmt::interposer::kernel_checks {

struct DividedBlock;

// By the driver's calls, behind them if they add something, else before them.
void addresses_reserved(std::uint64_t begin, std::uint64_t bytes) noexcept;
void addresses_given_back(std::uint64_t begin, std::uint64_t bytes) noexcept;
void piece_mapped(std::uint64_t begin, std::uint64_t bytes) noexcept;
void piece_unmapped(std::uint64_t begin, std::uint64_t bytes) noexcept;

// The pieces side by side that hold these addresses; none if it is not known that it is all of
// them. Then no region of the same reservation is followed from now on.
std::optional<rewriter::Block> mapped_around(std::uint64_t begin, std::uint64_t end) noexcept;
// With the lock. All of it is a pool's; what was known of its parts stays.
DividedBlock& divide_mapped(const rewriter::Block& block);

void forget_mapped_regions() noexcept;  // their context has ended
void abandon_mapped_regions() noexcept; // in a forked child

} // namespace gmt::interposer::kernel_checks
