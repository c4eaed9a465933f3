// SPDX-License-Identifier: Apache-2.0
// A call from the loader each time that dlopen has mapped objects, before their constructors run.
#pragma once

namespace gmt::sim {

// False if this loader's notice cannot be taken; then what dlopen brings goes unnoticed. The
// function runs with the loader's lock held, on the thread of dlopen: it calls nothing of the
// loader but dl_iterate_phdr.
bool call_when_objects_are_mapped(void (*function)());

} // namespace gmt::sim
