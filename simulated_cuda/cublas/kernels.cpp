// SPDX-License-Identifier: Apache-2.0
// The PTX of kernels.cu, with a zero behind it. GMT_KERNELS is the path of kernels.ptx.
__asm__(".pushsection .rodata\n"
        ".globl gmt_blas_kernels\n"
        ".hidden gmt_blas_kernels\n"
        "gmt_blas_kernels:\n"
        ".incbin \"" GMT_KERNELS "\"\n"
        ".byte 0\n"
        ".popsection\n");
