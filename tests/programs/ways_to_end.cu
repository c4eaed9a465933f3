// SPDX-License-Identifier: Apache-2.0
// However a program ends by itself, what is alive is a leak; and what the destructor of a static object frees after
// main() is none.
//
// run: return
// expect: error leak bytes=4096 count=1 stacks="allocated here"@take:LINE(alloc)
// run: exit
// exit: 5
// expect: error leak bytes=4096 count=1 stacks="allocated here"@take:LINE(alloc)
// run: _exit
// exit: 6
// expect: error leak bytes=4096 count=1 stacks="allocated here"@take:LINE(alloc)
// run: destructor
// expect: clean
#include "answers.h"

#include <unistd.h>

static char* take()
{
    char* block = nullptr;
    CHECK(cudaMalloc(&block, 4096)); // @alloc
    TOUCH(block, 4096);
    return block;
}

struct Owner {
    char* block = nullptr;
    // The runtime may be gone by now and refuse: then the driver takes the memory back, which is no mistake of ours.
    ~Owner() { (void)cudaFree(block); }
};

static Owner owner;

int main(int argc, char** argv)
{
    char* block = take();
    if (started_with(argc, argv, "exit"))
        std::exit(5);
    if (started_with(argc, argv, "_exit"))
        _exit(6);
    if (started_with(argc, argv, "destructor"))
        owner.block = block;
    return 0;
}
