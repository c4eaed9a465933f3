// SPDX-License-Identifier: Apache-2.0
// What must survive a loss of power, because something else goes once it is there.
#pragma once

#include <filesystem>

namespace gmt {

// Waits until the disk has what was written. False, and errno, if it fails; a file system that
// knows no such wait has no more to give.
bool reaches_disk(int descriptor);

// The same of a whole file, and of its name.
bool reaches_disk(const std::filesystem::path& file);

} // namespace gmt
