// SPDX-License-Identifier: Apache-2.0
// The text of a device printf. Arguments lie one after the other, each aligned to its size: 4 bytes
// or 8, as the conversion says.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace gmt::executor {

using ReadArgument = std::function<bool(std::uint64_t offset, std::uint32_t bytes, void* to)>;
using ReadText = std::function<std::string(std::uint64_t address)>;

// `count`: how many arguments were read, which is what vprintf returns. `unknown`: the first
// conversion that CUDA does not have and that spoils something on an H100, "%zu"; else as it was.
std::string format_text(const std::string& format, const ReadArgument& read, const ReadText& text,
                        std::uint64_t* count, std::string* unknown = nullptr);

struct Warp;
// By a generic address, without a report; false if the bytes may not be read.
bool read_bytes(Warp& w, std::uint32_t lane, std::uint64_t address, std::uint32_t bytes, void* to);

} // namespace gmt::executor
