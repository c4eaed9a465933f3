// SPDX-License-Identifier: Apache-2.0
// Memory at addresses that the caller chooses: a captured launch is replayed at those of the device
// that it was captured on. Driver lock held. Invariant: a placed range is a region of the
// executor's memory of its own and stays for as long as the process lives.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace gmt::sim {

struct Block;

// Reserves the range, of which nothing is allocated yet. False: something lies there.
bool reserve_placed(CUdeviceptr address, std::size_t bytes);
// The next allocation, or the variable of this name, gets the address; another one where no
// reserved range has room for it there, so the caller compares.
void set_next_address(CUdeviceptr address);
void set_variable_address(const std::string& name, CUdeviceptr address);

// Sets base and to_host of the block, which has its size, if it is to be placed.
bool take_placed(Block* block);
bool take_placed_variable(const std::string& name, Block* block);
bool is_placed(CUdeviceptr address); // is no memory of a device's arena

} // namespace gmt::sim
