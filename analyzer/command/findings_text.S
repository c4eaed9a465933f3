// SPDX-License-Identifier: Apache-2.0
// docs/findings.md as bytes of the command, so that `help FINDING` and the documentation are one text.
// GMT_FINDINGS_FILE is the file's path, from CMake.
  .section .rodata
  .globl gmt_findings_begin, gmt_findings_end
  .hidden gmt_findings_begin, gmt_findings_end
gmt_findings_begin:
  .incbin GMT_FINDINGS_FILE
gmt_findings_end:
  .byte 0
  .section .note.GNU-stack, "", %progbits
