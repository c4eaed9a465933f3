// SPDX-License-Identifier: Apache-2.0
// A library with two parts as nvcc -rdc compiles them, one of which calls malloc. With GMT_LINKED
// nvlink has joined them to code that does not; else that is left to the driver.
  .macro container
  .balign 8
  .long 0xba55ed50, 0x00100001
  .quad 4f - 3f
3:
  .endm
  .macro ptx text:vararg
  .long 0x01010001, 64
  .quad 2f - 1f
  .long 0, 0, 0x00010008, 90, 0, 0
  .quad 0x11, 0, 0
1:.ascii ".version 9.0\n.target sm_90\n.address_size 64\n"
  .ascii \text
  .balign 8
2:
4:
  .endm

  .section .nv_fatbin, "a"
  container
#ifdef GMT_LINKED
  ptx ".visible .entry both()\n{ ret; }\n\0"
#else
4:
#endif
  .section __nv_relfatbin, "a"
  container
  ptx ".visible .entry first(.param .u64 p)\n{\n.reg .b64 %d<2>; .reg .b32 %r<2>;\nld.param.u64 %d1, [p]; ld.global.u32 %r1, [%d1]; ret;\n}\n\0"
  container
  ptx ".extern .func (.param .b64 func_retval0) malloc\n(\n.param .b64 p\n)\n;\n\0"
  .section .note.GNU-stack, "", @progbits
