// SPDX-License-Identifier: Apache-2.0
// A library with fat binaries as nvcc makes them: two containers, sm_75 and sm_90 of one file with lines, sm_90 of the
// same without. GMT_LINES_75 and the others name the cubins.
  .section .nv_fatbin, "a"
  .macro cubin architecture, file
  .long 0x01010002, 64
  .quad 2f - 1f
  .long 0, 0, 0x00010008, \architecture, 0, 0
  .quad 0x11, 0, 0
1:.incbin "\file"
  .balign 8
2:
  .endm
  .balign 8
  .long 0xba55ed50, 0x00100001
  .quad 4f - 3f
3:cubin 75, GMT_LINES_75
  cubin 90, GMT_LINES_90
4:
  .long 0xba55ed50, 0x00100001
  .quad 4f - 3f
3:cubin 90, GMT_PLAIN_90
4:
  .section .note.GNU-stack, "", @progbits
