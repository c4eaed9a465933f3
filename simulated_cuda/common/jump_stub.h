// SPDX-License-Identifier: Apache-2.0
// An exported symbol made of one jump: GMT_JUMP_STUB(name, target) defines `name` as a tail jump to
// the function that the constant `target` points to. The implementing functions are C++ templates,
// and a function cannot be defined from the vendor's function *type*, but a jump needs no
// signature. Invariant: the jump changes no register and no stack, so arguments and the return
// address arrive unchanged.
#pragma once

#if !defined(__x86_64__)
#error "the simulated device is written for x86-64"
#endif

// `target` is a hidden C symbol: gmt_sim_target_<name>.
#define GMT_JUMP_STUB(name, function)                                                              \
  extern "C" __attribute__((visibility("hidden"), used)) const void* const gmt_sim_target_##name = \
    reinterpret_cast<const void*>(function);                                                       \
  __asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ", @function\n" #name                \
          ":\n\tjmp *gmt_sim_target_" #name "(%rip)\n.size " #name ", . - " #name                  \
          "\n.previous\n");
