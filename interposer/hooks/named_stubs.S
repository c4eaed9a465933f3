// SPDX-License-Identifier: Apache-2.0
// Stubs that are handed out for pointers asked for by name where the row's entry alone would not know what to forward to (a row that
// another preload wraps; a runtime beside another): they leave a mark (real_dlsym.h). Of equal size, so that
// gmt_named_stubs is an array.
#define DRV(symbol, ...)                                                                                              \
        .p2align 5;                                                                                                   \
        endbr64;                                                                                                      \
        movq gmt_called_by_name@gottpoff(%rip), %r11;                                                                 \
        movl $1, %fs:(%r11);                                                                                          \
        jmp *gmt_entries + 8 * gmt_named_row(%rip);                                                                   \
        .set gmt_named_row, gmt_named_row + 1;
#define RT(symbol, ...) DRV(symbol)
#define RT13(symbol, ...) DRV(symbol)
        .section .note.GNU-stack,"",@progbits
        .text
        .hidden gmt_entries
        .set gmt_named_row, 0
        .globl gmt_named_stubs
        .hidden gmt_named_stubs
        .hidden gmt_called_by_name
        .type gmt_named_stubs, @function
        .p2align 5
gmt_named_stubs:
#include "trace/cuda_api.def"
        .size gmt_named_stubs, . - gmt_named_stubs
