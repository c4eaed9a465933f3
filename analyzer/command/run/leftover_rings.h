// SPDX-License-Identifier: Apache-2.0
// What kernels wrote and no process moved any more: the device rings of processes that have ended.
// A program may have been run without the command, so every command that reads a trace collects
// them.
#pragma once

#include <filesystem>
#include <string>

namespace gmt {

// Moves the records that are left in the trace's rings into device-<n>.log and removes the rings
// and their links, but for those of a process that still has them. Returns a sentence if that could
// not be done, else nothing.
std::string collect_rings(const std::filesystem::path& trace);

} // namespace gmt
