// SPDX-License-Identifier: Apache-2.0
// Room in the files of logs: how it is made, and why there is none. Errors are numbers of errno, 0
// for none; EDQUOT stands for the trace's own limit alone.
#pragma once

#include <cstdint>

#include "trace/format.h"

namespace gmt::interposer {

// SIGXFSZ would end the program: stay below the limit instead.
bool within_file_size_limit(std::uint64_t bytes) noexcept;

// Blocks of the file system for a part of the file. Where the operation itself is refused (seccomp,
// some file systems) zeros are written in its place.
int make_room(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept;
int write_zeros(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept;

trace::LossCause cause_of(int error) noexcept;
// A quota of the file system is no space.
int system_error(int error) noexcept;

} // namespace gmt::interposer
