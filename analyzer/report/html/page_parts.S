// SPDX-License-Identifier: Apache-2.0
// The page of `--format html`, before and behind a report's data. GMT_PAGE_BEGIN and GMT_PAGE_END are the paths of files
// that cmake/MakePage.cmake writes.
  .section .rodata
  .globl gmt_page_begin, gmt_page_middle, gmt_page_end
  .hidden gmt_page_begin, gmt_page_middle, gmt_page_end
gmt_page_begin:
  .incbin GMT_PAGE_BEGIN
gmt_page_middle:
  .incbin GMT_PAGE_END
gmt_page_end:
  .byte 0
  .section .note.GNU-stack, "", %progbits
