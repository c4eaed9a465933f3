// SPDX-License-Identifier: Apache-2.0
// void gmt_call_on_stack(void (*work)(void*), void* argument, void* top): see own_stack.h. The frame's rules name the
// frame pointer, so that an unwinder comes from the new stack back to the old one. x86-64 System V.

        .section .note.GNU-stack,"",@progbits
        .text
        .globl gmt_call_on_stack
        .hidden gmt_call_on_stack
        .type gmt_call_on_stack, @function
        .p2align 4
gmt_call_on_stack:
        .cfi_startproc
        endbr64
        pushq %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq %rsp, %rbp
        .cfi_def_cfa_register %rbp
        movq %rdx, %rsp
        movq %rdi, %rax
        movq %rsi, %rdi
        callq *%rax
        movq %rbp, %rsp
        popq %rbp
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size gmt_call_on_stack, . - gmt_call_on_stack
