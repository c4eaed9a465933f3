// SPDX-License-Identifier: Apache-2.0
// LD_PRELOAD and LD_LIBRARY_PATH separate their paths by spaces and colons, and expand '$'. A
// folder that has such a character in its path is reached through a symbolic link without one.
#pragma once

#include <string>

namespace gmt {

bool is_plain_path(const std::string& path); // has none of these characters

// A path of the folder that is plain: itself, or a link in a folder of this user's alone below
// $XDG_RUNTIME_DIR, $TMPDIR or /tmp. The link stays, because children of the traced program may
// outlive the command; the next run uses it again. Throws UserError (125) if no link can be made.
std::string plain_path_of(const std::string& folder);

} // namespace gmt
