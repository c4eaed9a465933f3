// SPDX-License-Identifier: Apache-2.0
// A library with static variables as nvcc makes them for the host, and PTX that declares the device's, in one fat binary.
  .macro variable name, bytes
  .type \name, @object
  .size \name, \bytes
  .balign 8
\name: .zero \bytes
  .endm
  .data
  variable _ZL5table, 256
  variable _ZN5namesL6hiddenE, 64
  variable _ZL6tables, 256
  variable _ZL6scalar, 4
  variable _ZL7managed, 8
  variable _ZL10host_table, 64
  variable _ZL5coefs, 32
  variable _ZL4twin, 16
  variable twin, 16
  variable _ZL6lonely, 24

  .section .nv_fatbin, "a"
  .balign 8
  .long 0xba55ed50, 0x00100001
  .quad 4f - 3f
3:.long 0x01010001, 64
  .quad 2f - 1f
  .long 0, 0, 0x00010008, 90, 0, 0
  .quad 0x11, 0, 0
1:.ascii ".version 9.0\n.target sm_90\n.address_size 64\n"
  .ascii ".global .align 4 .b8 table[256];\n"
  .ascii ".visible .global .align 4 .u32 scalar;\n"
  .ascii ".const .align 4 .b8 _ZN37_INTERNAL_12345678_6_name_cu_012345675names6hiddenE[64];\n"
  .ascii ".global .attribute(.managed) .align 4 .u64 managed;\n"
  .ascii ".const .align 8 .b8 coefs[64];\n"
  .ascii ".global .align 4 .b8 twin[16];\n"
  .ascii ".global .align 4 .b8 __nv_static_23__7be093d0_4_c_cu__Z1kPf_lonely[24];\n"
  .ascii ".visible .entry host_table(\n)\n{ ret; }\n\0"
  .balign 8
2:
4:
  .section .note.GNU-stack, "", @progbits
