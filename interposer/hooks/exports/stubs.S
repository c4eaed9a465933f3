// SPDX-License-Identifier: Apache-2.0
// The exported symbols: one two-instruction stub a row that jumps through the row's slot in gmt_entries (entries.cpp),
// so that no C++ function carries the vendor's name and the caller's return address stays what it is.
// x86-64 System V. Rows of runtime 13 only (RT13) first ask which runtime the caller belongs to.

        .section .note.GNU-stack,"",@progbits
        .text
        .hidden gmt_entries
        .hidden gmt_dlsym
        .hidden gmt_pseudo_dlsym
        .hidden gmt_choose_runtime
        .set gmt_row, 0

#define STUB(symbol)                                                                                                  \
        .globl symbol;                                                                                                \
        .type symbol, @function;                                                                                      \
        .p2align 4;                                                                                                   \
symbol:                                                                                                               \
        endbr64;                                                                                                      \
        jmp *gmt_entries + 8 * gmt_row(%rip);                                                                         \
        .size symbol, . - symbol;                                                                                     \
        .set gmt_row, gmt_row + 1;

#define CHOOSING_STUB(symbol)                                                                                         \
        .globl symbol;                                                                                                \
        .type symbol, @function;                                                                                      \
        .p2align 4;                                                                                                   \
symbol:                                                                                                               \
        endbr64;                                                                                                      \
        pushq $gmt_row;                                                                                               \
        jmp gmt_choose;                                                                                               \
        .size symbol, . - symbol;                                                                                     \
        .set gmt_row, gmt_row + 1;

#define DRV(symbol, ...) STUB(symbol)
#define RT(symbol, ...) STUB(symbol)
#define RT13(symbol, ...) CHOOSING_STUB(symbol)
#include "trace/cuda_api.def"

// In: row pushed, then the caller's return address; arguments untouched. Keeps every register that may carry one.
        .type gmt_choose, @function
gmt_choose:
        .cfi_startproc
        .cfi_adjust_cfa_offset 8
        pushq %rdi
        .cfi_adjust_cfa_offset 8
        pushq %rsi
        .cfi_adjust_cfa_offset 8
        pushq %rdx
        .cfi_adjust_cfa_offset 8
        pushq %rcx
        .cfi_adjust_cfa_offset 8
        pushq %r8
        .cfi_adjust_cfa_offset 8
        pushq %r9
        .cfi_adjust_cfa_offset 8
        pushq %rax
        .cfi_adjust_cfa_offset 8
        movq 56(%rsp), %rdi
        movq 64(%rsp), %rsi
        subq $8, %rsp
        .cfi_adjust_cfa_offset 8
        call gmt_choose_runtime
        movq %rax, %r11
        addq $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq %rax
        .cfi_adjust_cfa_offset -8
        popq %r9
        .cfi_adjust_cfa_offset -8
        popq %r8
        .cfi_adjust_cfa_offset -8
        popq %rcx
        .cfi_adjust_cfa_offset -8
        popq %rdx
        .cfi_adjust_cfa_offset -8
        popq %rsi
        .cfi_adjust_cfa_offset -8
        popq %rdi
        .cfi_adjust_cfa_offset -8
        addq $8, %rsp
        .cfi_adjust_cfa_offset -8
        jmp *%r11
        .cfi_endproc
        .size gmt_choose, . - gmt_choose

// dlsym: pseudo-handles (RTLD_DEFAULT 0, RTLD_NEXT -1) jump on to what gmt_pseudo_dlsym(handle, name, caller) answers,
// so that glibc sees the true caller.
        .globl dlsym
        .type dlsym, @function
        .p2align 4
dlsym:
        .cfi_startproc
        endbr64
        leaq 1(%rdi), %rax
        cmpq $1, %rax
        ja gmt_dlsym
        pushq %rdi
        .cfi_adjust_cfa_offset 8
        pushq %rsi
        .cfi_adjust_cfa_offset 8
        subq $8, %rsp
        .cfi_adjust_cfa_offset 8
        movq 24(%rsp), %rdx
        call gmt_pseudo_dlsym
        addq $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq %rsi
        .cfi_adjust_cfa_offset -8
        popq %rdi
        .cfi_adjust_cfa_offset -8
        jmp *%rax
        .cfi_endproc
        .size dlsym, . - dlsym
