// SPDX-License-Identifier: Apache-2.0
// The pages of docs/findings/ as bytes of the command, so that `help FINDING` and the documentation are one text. CMake
// names the folder to the assembler.
  .section .rodata
  .globl gmt_findings_begin, gmt_findings_end
  .hidden gmt_findings_begin, gmt_findings_end
gmt_findings_begin:
  .incbin "allocations.md"
  .incbin "uses.md"
  .incbin "copies.md"
  .incbin "kernels.md"
  .incbin "device-heap.md"
  .incbin "performance.md"
  .incbin "calls.md"
gmt_findings_end:
  .byte 0
  .section .note.GNU-stack, "", %progbits
