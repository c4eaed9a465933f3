// SPDX-License-Identifier: Apache-2.0
// Encodings of instructions and what they mean, for the test of the decoder. Collected from kernels
// compiled with nvcc 13.0.88 and from CUDA 13's libraries; its meaning is what nvdisasm 13.5.37
// prints (cut).
#pragma once

#include <array>
#include <cstdint>

#include "analyzer/device_code/instruction.h"

namespace gmt::test {

struct Encoding {
  unsigned architecture;
  std::uint64_t low, high;
};
struct MemoryEncoding {
  unsigned architecture;
  std::uint64_t low, high;
  MemoryOp op;
  MemorySpace space;
  std::uint32_t bytes, address_register;
  std::int32_t address_offset;
};

using enum MemoryOp;
using enum MemorySpace;
inline constexpr std::uint32_t kNone = Instruction::kNoRegister;

inline constexpr auto kMemoryEncodings = std::to_array<MemoryEncoding>({
  {75, 0x14147381, 0xa800001ee100, kLoad, kGlobal, 1, 20, 0},        // LDG.E.U8.SYS R20, [R20]
  {75, 0x20002067381, 0xe200001ee500, kLoad, kGlobal, 2, 2, 2},      // LDG.E.U16.SYS R6, [R2+0x2]
  {75, 0x10000060c7381, 0xee800001ee900, kLoad, kGlobal, 4, 6, 256}, // LDG.E.SYS R12, [R6+0x100]
  {75, 0x80002067381, 0xe200001eeb00, kLoad, kGlobal, 8, 2, 8},      // LDG.E.64.SYS R6, [R2+0x8]
  {75, 0x1000020c7381, 0xe200001eed00, kLoad, kGlobal, 16, 2, 16},   // LDG.E.128.SYS R12, [R2+0x10]
  {80, 0x2097381, 0x42400001e0900, kLoad, kGlobal, 4, 2, 0},         // LDG.E R9, [R2]
  {75, 0x2402007385, 0x1e4000010e905, kStore, kGeneric, 4, 2, 36},   // ST.E.SYS [R2+0x24], R5
  {75, 0x90b02007386, 0x2fe8000010e100, kStore, kGlobal, 1, 2, 9},   // STG.E.U8.SYS [R2+0x9], R11
  {75, 0x20702007386, 0x3e2000010e500, kStore, kGlobal, 2, 2, 2},    // STG.E.U16.SYS [R2+0x2], R7
  {75, 0x4ac0b04007386, 0x4fea000010e900, kStore, kGlobal, 4, 4, 1196}, // STG.E.SYS [R4+0x4ac], R11
  {75, 0x2001202007386, 0xfe8000010eb00, kStore, kGlobal, 8, 2, 512},   // STG.E.64.SYS [R2+0x200],
                                                                        // R18
  {75, 0x901404007386, 0x2fe8000010ed00, kStore, kGlobal, 16, 4, 144},  // STG.E.128.SYS [R4+0x90],
                                                                        // R20
  {75, 0x5007387, 0xfe80000100000, kStore, kLocal, 1, 5, 0},            // STL.U8 [R5], R0
  {75, 0x1613007387, 0xfe80000100400, kStore, kLocal, 2, 19, 0},        // STL.U16 [R19], R22
  {75, 0x140801007387, 0x3e20000100800, kStore, kLocal, 4, 1, 20},      // STL [R1+0x14], R8
  {75, 0x81201007387, 0x3e20000100a00, kStore, kLocal, 8, 1, 8},        // STL.64 [R1+0x8], R18
  {75, 0x101801007387, 0x8fe80000100c00, kStore, kLocal, 16, 1, 16},    // STL.128 [R1+0x10], R24
  {75, 0x5060f007388, 0x8fe80000000000, kStore, kShared, 1, 15, 5},     // STS.U8 [R15+0x5], R6
  {75, 0xa060f007388, 0x8fe80000000400, kStore, kShared, 2, 15, 10},    // STS.U16 [R15+0xa], R6
  {75, 0x14060f007388, 0x8fe80000004800, kStore, kShared, 4, 15, 20},   // STS [R15.X4+0x14], R6
  {75, 0x280613007388, 0x8fe80000008a00, kStore, kShared, 8, 19, 40},   // STS.64 [R19.X8+0x28], R6
  {75, 0x500c07007388, 0x8fe8000000cc00, kStore, kShared, 16, 7, 80}, // STS.128 [R7.X16+0x50], R12
  {75, 0x24050200738a, 0x4ea200001149ff, kAtomic, kGeneric, 4, 2,
   36},                                                            // ATOM.E.ADD.F16x2.RN.STRONG.GPU
  {75, 0xd0600738b, 0xe2400001f410f, kAtomic, kGeneric, 4, 6, 0},  // ATOM.E.CAS.STRONG.GPU
  {75, 0x130a0d738c, 0xe2400008040ff, kAtomic, kShared, 4, 10, 0}, // ATOMS.MIN R13, [R10.X4], R19
  {75, 0x101502738c, 0xe2200040084ff, kAtomic, kShared, 8, 21, 0}, // ATOMS.EXCH.64 R2, [R21.X8],
                                                                   // R16
  {75, 0x41509738d, 0x10f220000004005, kAtomic, kShared, 4, 21, 0}, // ATOMS.CAS R9, [R21.X4], R4,
                                                                    // R5
  {75, 0xc0806738d, 0xe24000180840e, kAtomic, kShared, 8, 8, 0}, // ATOMS.CAST.SPIN.64 R6, [R8.X8],
                                                                 // R12, R14
  {75, 0x2405060b73a8, 0xea200009f41ff, kAtomic, kGlobal, 4, 6, 36}, // ATOMG.E.MIN.STRONG.GPU
  {75, 0x480c040c73a8, 0xea200009f45ff, kAtomic, kGlobal, 8, 4, 72}, // ATOMG.E.MIN.64.STRONG.GPU
  {75, 0x5020d73a9, 0xe2400001f4106, kAtomic, kGlobal, 4, 2, 0},     // ATOMG.E.CAS.STRONG.GPU
  {75, 0x10080873a9, 0xea200001f4512, kAtomic, kGlobal, 8, 8, 0},    // ATOMG.E.CAS.64.STRONG.GPU
  {90, 0x1808140073b4, 0x3e2000806102c, kBulkCopy, kGlobal, 0, kNone, 0}, // UTMALDG.5D.IM2COL
  {90, 0x100a0073b5, 0x3e40008008000, kBulkCopy, kGlobal, 0, kNone, 0}, // UTMASTG.2D [UR16], [UR10]
  {90, 0x100a0073b6, 0x3f00008008000, kBulkCopy, kGlobal, 0, kNone, 0}, // UTMAREDG.2D.ADD [UR16],
                                                                        // [UR10]
  {90, 0x4080073ba, 0x43d8000800020c, kBulkCopy, kGlobal, 0, kNone, 0}, // UBLKCP.S.G [UR4], [UR8],
                                                                        // UR12
  {90, 0x8040073bb, 0x3d8000800040c, kBulkCopy, kGlobal, 0, kNone, 0},  // UBLKRED.G.S.ADD [UR8],
                                                                        // [UR4], UR12
  {100, 0x240e0600758d, 0xe24000180000f, kAtomic, kShared, 4, 6, 36},   // ATOMS.CAST.SPIN
  {100, 0x18080f00758d, 0xe24000180040a, kAtomic, kShared, 8, 15, 24},  // ATOMS.CAST.SPIN.64
  {90, 0x40a0075b4, 0x3f40008008000, kBulkCopy, kGlobal, 0, kNone, 0},  // UTMALDG.2D [UR4], [UR10]
  {75, 0x2000000b783b, 0xea20000000000, kLoad, kShared, 4, 0, 32},   // LDSM.16.M88 R11, [R0+0x20]
  {75, 0x10000008783b, 0xe680000004100, kLoad, kShared, 8, 0, 16},   // LDSM.16.MT88.2 R8, [R0+0x10]
  {75, 0x4783b, 0xe300000000200, kLoad, kShared, 16, 0, 0},          // LDSM.16.M88.4 R4, [R0]
  {90, 0x40080f007844, 0xfe80000004000, kStore, kShared, 4, 15, 64}, // STSM.16.MT88 [R15+0x40], R8
  {90, 0x100004c9007844, 0x3e20000000200, kStore, kShared, 16, 201, 4096}, // STSM.16.M88.4
                                                                           // [R201+0x1000], R4
  {100, 0xfe0002040208797e, 0x4ea2000812190c, kLoad, kGlobal, 32, 2, 64},  // LDG.E.ENL2.256
  {120, 0xfe0002040404797e, 0x4ea20008121908, kLoad, kGlobal, 32, 4, 64},  // LDG.E.ENL2.256
  {100, 0xf8000308040c797f, 0x4fe2000f121804, kStore, kGlobal, 32, 4, 96}, // STG.E.ENL2.256
  {120, 0xf80003040208797f, 0x4fe2000f121804, kStore, kGlobal, 32, 2, 96}, // STG.E.ENL2.256
  {75, 0x2402007980, 0xea4000010e900, kLoad, kGeneric, 4, 2, 36},          // LD.E.SYS R0, [R2+0x24]
  {80, 0x240404097980, 0xea4000c101900, kLoad, kGeneric, 4, 4, 36},        // LD.E R9, [R4.64+0x24]
  {90, 0x2404060c7980, 0x20ea4000c101900, kLoad, kGeneric, 4, 6, 36},      // LD.E R12,
                                                                           // desc[UR4][R6.64+0x24]
  {100, 0x2404060e7980, 0x20ea4000c101900, kLoad, kGeneric, 4, 6, 36},     // LD.E R14,
                                                                           // desc[UR4][R6.64+0x24]
  {120, 0x2404060e7980, 0x20ea4000c101900, kLoad, kGeneric, 4, 6, 36},     // LD.E R14,
                                                                           // desc[UR4][R6.64+0x24]
  {75, 0x10404067981, 0xe2000c1ee100, kLoad, kGlobal, 1, 4, 1}, // LDG.E.U8.SYS R6, [R4.64+UR4+0x1]
  {75, 0x406ff047981, 0xee2000c1f6500, kLoad, kGlobal, 2, kNone, 4}, // LDG.E.U16.STRONG.SYS R4,
                                                                     // [UR6+0x4]
  {75, 0x40406097981, 0xea2000c1ee900, kLoad, kGlobal, 4, 6, 4}, // LDG.E.SYS R9, [R6.64+UR4+0x4]
  {75, 0x804ff047981, 0xf62000c1eeb00, kLoad, kGlobal, 8, kNone, 8}, // LDG.E.64.SYS R4, [UR4+0x8]
  {75, 0x1008ff247981, 0x1f68000c1eed00, kLoad, kGlobal, 16, kNone, 16}, // LDG.E.128.SYS R36,
                                                                         // [UR8+0x10]
  {80, 0x10c10107981, 0xea2000c1e1100, kLoad, kGlobal, 1, 16, 1}, // LDG.E.U8 R16, [R16.64+0x1]
  {80, 0xfffe7e06020c7981, 0x168000c1e1500, kLoad, kGlobal, 2, 2, -386}, // LDG.E.U16 R12,
                                                                         // [R2.64+-0x182]
  {80, 0xfffcfc0602087981, 0x168000c1e1900, kLoad, kGlobal, 4, 2, -772}, // LDG.E R8, [R2.64+-0x304]
  {80, 0x82406047981, 0x162000c1e1b00, kLoad, kGlobal, 8, 6, 8},         // LDG.E.64 R4, [R6.64+0x8]
  {80, 0x100402187981, 0x2122000c1e1d00, kLoad, kGlobal, 16, 2, 16},  // LDG.E.128 R24, [R2.64+0x10]
  {90, 0x10c0a007981, 0x1ea2000c1e1100, kLoad, kGlobal, 1, 10, 1},    // LDG.E.U8 R0,
                                                                      // desc[UR12][R10.64+0x1]
  {90, 0x19004020e7981, 0x1168000c1e1500, kLoad, kGlobal, 2, 2, 400}, // LDG.E.U16 R14,
                                                                      // desc[UR4][R2.64+0x190]
  {90, 0xc2f7000404057981, 0x2ee2000c1e1900, kLoad, kGlobal, 4, 4, -4000000}, // LDG.E
  {90, 0x82406047981, 0x1162000c1e1b00, kLoad, kGlobal, 8, 6, 8},             // LDG.E.64 R4,
                                                                  // desc[UR36][R6.64+0x8]
  {90, 0x100418187981, 0x2f68000c1e1d00, kLoad, kGlobal, 16, 24, 16},    // LDG.E.128 R24,
                                                                         // desc[UR4][R24.64+0x10]
  {100, 0xfffff70406077981, 0xea2000c1e1100, kLoad, kGlobal, 1, 6, -9},  // LDG.E.U8 R7,
                                                                         // desc[UR4][R6.64+-0x9]
  {100, 0xffffee0406077981, 0xea2000c1e1500, kLoad, kGlobal, 2, 6, -18}, // LDG.E.U16
  {100, 0xc2f7000404057981, 0x1ee2000c1e1900, kLoad, kGlobal, 4, 4, -4000000}, // LDG.E
  {100, 0xffffb80408087981, 0xea2000c1e1b00, kLoad, kGlobal, 8, 8, -72},       // LDG.E.64
  {100, 0xffff70040a0c7981, 0xea2000c1e1d00, kLoad, kGlobal, 16, 10, -144},    // LDG.E.128
  {120, 0xfffff70404057981, 0xea2000c1e1100, kLoad, kGlobal, 1, 4, -9},        // LDG.E.U8 R5,
                                                                        // desc[UR4][R4.64+-0x9]
  {120, 0xffffee0406077981, 0xea2000c1e1500, kLoad, kGlobal, 2, 6, -18},       // LDG.E.U16
  {120, 0xc2f7000408097981, 0x1ea2000c1e1900, kLoad, kGlobal, 4, 8, -4000000}, // LDG.E
  {120, 0xffffb80408087981, 0xea2000c1e1b00, kLoad, kGlobal, 8, 8, -72},       // LDG.E.64
  {120, 0xffff70040a0c7981, 0xea2000c1e1d00, kLoad, kGlobal, 16, 10, -144},    // LDG.E.128
  {75, 0x2027983, 0xea80000100000, kLoad, kLocal, 1, 2, 0},                    // LDL.U8 R2, [R2]
  {75, 0xb007983, 0xea80000100400, kLoad, kLocal, 2, 11, 0},                   // LDL.U16 R0, [R11]
  {75, 0x1000013d7983, 0xea20000300800, kLoad, kLocal, 4, 1, 16},    // LDL.LU R61, [R1+0x10]
  {75, 0x800013a7983, 0x1ee60000300a00, kLoad, kLocal, 8, 1, 8},     // LDL.LU.64 R58, [R1+0x8]
  {75, 0x4047983, 0xea80000100c00, kLoad, kLocal, 16, 4, 0},         // LDL.128 R4, [R4]
  {75, 0x57984, 0x1e220000001000, kLoad, kShared, 1, 0, 0},          // LDS.U.U8 R5, [R0]
  {75, 0x9097984, 0xe220000001400, kLoad, kShared, 2, 9, 0},         // LDS.U.U16 R9, [R9]
  {75, 0x7057984, 0xe280000005800, kLoad, kShared, 4, 7, 0},         // LDS.U R5, [R7.X4]
  {75, 0x80c7984, 0x1e240000009a00, kLoad, kShared, 8, 8, 0},        // LDS.U.64 R12, [R8.X8]
  {75, 0x6107984, 0xe30000000dc00, kLoad, kShared, 16, 6, 0},        // LDS.U.128 R16, [R6.X16]
  {80, 0x240704007985, 0x1e4000c101904, kStore, kGeneric, 4, 4, 36}, // ST.E [R4.64+0x24], R7
  {90, 0x240b06007985, 0x1e4000c101904, kStore, kGeneric, 4, 6, 36}, // ST.E desc[UR4][R6.64+0x24],
                                                                     // R11
  {100, 0x206007985, 0x41d8000c101118, kStore, kGeneric, 1, 6, 0}, // ST.E.U8 desc[UR24][R6.64], R2
  {100, 0x240b06007985, 0x1e4000c101904, kStore, kGeneric, 4, 6, 36}, // ST.E desc[UR4][R6.64+0x24],
                                                                      // R11
  {100, 0x2000802007985, 0x81e8000c101d18, kStore, kGeneric, 16, 2, 512}, // ST.E.128
  {75, 0x103ff007986, 0x8fe2000c10e104, kStore, kGlobal, 1, kNone, 1}, // STG.E.U8.SYS [UR4+0x1], R3
  {75, 0x204ff007986, 0xfe2000c10e504, kStore, kGlobal, 2, kNone, 2}, // STG.E.U16.SYS [UR4+0x2], R4
  {75, 0xfffff400ff007986, 0x1e8000c10e904, kStore, kGlobal, 4, kNone, -12}, // STG.E.SYS
                                                                             // [UR4+-0xc], R0
  {75, 0x804ff007986, 0x8fe2000c10eb04, kStore, kGlobal, 8, kNone, 8}, // STG.E.64.SYS [UR4+0x8], R4
  {75, 0x1008ff007986, 0x8fe2000c10ed04, kStore, kGlobal, 16, kNone, 16}, // STG.E.128.SYS
                                                                          // [UR4+0x10], R8
  {80, 0x10904007986, 0x8fe2000c10110c, kStore, kGlobal, 1, 4, 1}, // STG.E.U8 [R4.64+0x1], R9
  {80, 0x20904007986, 0xfe8000c101504, kStore, kGlobal, 2, 4, 2},  // STG.E.U16 [R4.64+0x2], R9
  {80, 0xfffff40c0e007986, 0x3e8000c101906, kStore, kGlobal, 4, 14, -12}, // STG.E [R14.64+-0xc],
                                                                          // R12
  {80, 0x2001204007986, 0xfe8000c101b04, kStore, kGlobal, 8, 4, 512}, // STG.E.64 [R4.64+0x200], R18
  {80, 0x100802007986, 0x8fe2000c101d04, kStore, kGlobal, 16, 2, 16}, // STG.E.128 [R2.64+0x10], R8
  {90, 0x40502007986, 0x87e8000c101114, kStore, kGlobal, 1, 2, 4},    // STG.E.U8
                                                                      // desc[UR20][R2.64+0x4], R5
  {90, 0x20904007986, 0x1fee000c101506, kStore, kGlobal, 2, 4, 2},    // STG.E.U16
                                                                      // desc[UR6][R4.64+0x2], R9
  {90, 0x40902007986, 0x4fe8000c115904, kStore, kGlobal, 4, 2, 4},    // STG.E.STRONG.SYS
  {90, 0x2001204007986, 0xfe8000c101b06, kStore, kGlobal, 8, 4, 512}, // STG.E.64
                                                                      // desc[UR6][R4.64+0x200], R18
  {90, 0x10081c007986, 0x10fe2000c101d04, kStore, kGlobal, 16, 28, 16}, // STG.E.128
  {120, 0x150c007987, 0xfe80008100007, kStore, kLocal, 1, 12, 0},       // STL.U8 [R12+UR7], R21
  {90, 0x5060f007988, 0x8fe20008000004, kStore, kShared, 1, 15, 5},     // STS.U8 [R15+UR4+0x5], R6
  {90, 0x19007988, 0x4fe20008000804, kStore, kShared, 4, 25, 0},        // STS [R25+UR4], R0
  {90, 0x570c8ff00a988, 0x7e20008000a04, kStore, kShared, 8, kNone, 1392}, // STS.64 [UR4+0x570],
                                                                           // R200
  {90, 0x24008089007988, 0x5e20008000c24, kStore, kShared, 16, 137, 9216}, // STS.128
                                                                           // [R137+UR36+0x2400],
                                                                           // R128
  {100, 0x5060f007988, 0x10fe20008000004, kStore, kShared, 1, 15, 5},   // STS.U8 [R15+UR4+0x5], R6
  {100, 0xa0609007988, 0x10fe20008000404, kStore, kShared, 2, 9, 10},   // STS.U16 [R9+UR4+0xa], R6
  {100, 0x140609007988, 0x10fe20008000804, kStore, kShared, 4, 9, 20},  // STS [R9+UR4+0x14], R6
  {100, 0x280613007988, 0x10fe20008000a04, kStore, kShared, 8, 19, 40}, // STS.64 [R19+UR4+0x28], R6
  {100, 0x501402007988, 0xfe20008000c04, kStore, kShared, 16, 2, 80}, // STS.128 [R2+UR4+0x50], R20
  {80, 0x24070409798a, 0x4ea4000810e9c4, kAtomic, kGeneric, 4, 4,
   36}, // ATOM.E.ADD.F16x2.RN.STRONG.GPU
  {90, 0x6ff08098a, 0x10ea200081ee106, kAtomic, kGeneric, 4, kNone, 0},  // ATOM.E.ADD.STRONG.GPU
  {100, 0x6ff08098a, 0x8ea200081ee108, kAtomic, kGeneric, 4, kNone, 0},  // ATOM.E.ADD.STRONG.GPU
  {120, 0x4ff07098a, 0x10ee200081ee104, kAtomic, kGeneric, 4, kNone, 0}, // ATOM.E.ADD.STRONG.GPU
  {90, 0x40fff05798c, 0xe280009800004, kAtomic, kShared, 4, kNone, 4},   // ATOMS.INC R5, [UR4+0x4],
                                                                         // R15
  {100, 0x40fff05798c, 0xe280009800004, kAtomic, kShared, 4, kNone, 4},  // ATOMS.INC R5, [UR4+0x4],
                                                                         // R15
  {75, 0xf0800798e, 0xfe80000914100, kReduction, kGlobal, 4, 8, 0},   // RED.E.MIN.STRONG.GPU [R8],
                                                                      // R15
  {75, 0x100a00798e, 0x1e80000914500, kReduction, kGlobal, 8, 10, 0}, // RED.E.MIN.64.STRONG.GPU
                                                                      // [R10], R16
  {80, 0x170800798e, 0xfe8000c90e186, kReduction, kGlobal, 4, 8, 0},  // RED.E.MIN.STRONG.GPU
                                                                      // [R8.64], R23
  {80, 0x10080600098e, 0xfe2000c10a586, kReduction, kGlobal, 8, 6, 16}, // RED.E.ADD.64.STRONG.SM
  {90, 0x110600798e, 0xfe8000c90e186, kReduction, kGlobal, 4, 6, 0},    // REDG.E.MIN.STRONG.GPU
  {90, 0xe0800798e, 0x8fe8000d114588, kReduction, kGlobal, 8, 8, 0},    // REDG.E.MAX.64.STRONG.SYS
  {90, 0x240b060c79a2, 0x4164000810e7c4, kAtomic, kGeneric, 4, 6,
   36}, // ATOM.E.ADD.BF16x2.RN.STRONG.GPU
  {100, 0x8000240b060e79a2, 0x4164000c10e704, kAtomic, kGeneric, 4, 6,
   36}, // ATOM.E.ADD.BF16x2.RN.STRONG.GPU
  {90, 0x2413080979a3, 0xea200081ef3c4, kAtomic, kGlobal, 4, 8,
   36}, // ATOMG.E.ADD.F32.FTZ.RN.STRONG.GPU
  {90, 0x28160a1879a3, 0xea400081ef5c8, kAtomic, kGlobal, 8, 10,
   40}, // ATOMG.E.ADD.F32x2.FTZ.RN.STRONG.GPU
  {90, 0x4081479a3, 0xea400081ef7c8, kAtomic, kGlobal, 16, 8,
   0}, // ATOMG.E.ADD.F32x4.FTZ.RN.STRONG.GPU
  {100, 0x800024170a0b79a3, 0xea2000c1ef304, kAtomic, kGlobal, 4, 10, 36},
  {100, 0x800028160a1879a3, 0xea4000c1ef508, kAtomic, kGlobal, 8, 10, 40},
  {100, 0x80000004081479a3, 0xea4000c1ef708, kAtomic, kGlobal, 16, 8, 0},
  {90, 0xff0979a5, 0xeaa0008015904, kLoad, kGlobal, 4, kNone, 0}, // LDGMC.E.ADD.F32.RN.STRONG.SYS
  {100, 0x20000300879a5, 0xee2000b834d0a, kLoad, kGlobal, 16, 48,
   512}, // LDGMC.E.HPADD.E4M3x16.RN.STRONG.SYS
  {90, 0x809060079a6, 0xfe8000c115384, kReduction, kGlobal, 4, 6,
   8}, // REDG.E.ADD.F32.FTZ.RN.STRONG.SYS
  {90, 0x38160a0079a6, 0xfe2000c10f588, kReduction, kGlobal, 8, 10,
   56}, // REDG.E.ADD.F32x2.FTZ.RN.STRONG.GPU
  {90, 0x10040a0079a6, 0xfe8000c10f788, kReduction, kGlobal, 16, 10, 16},
  {75, 0xfffff408ff0479a8, 0xee200099f4144, kAtomic, kGlobal, 4, kNone,
   -12},                                                                  // ATOMG.E.INC.STRONG.GPU
  {80, 0xfffff413040b79a8, 0xee200099ee1c4, kAtomic, kGlobal, 4, 4, -12}, // ATOMG.E.INC.STRONG.GPU
  {80, 0x4808040879a8, 0xea200089ee5c4, kAtomic, kGlobal, 8, 4, 72}, // ATOMG.E.MIN.64.STRONG.GPU
  {90, 0xfffff811080979a8, 0x6e2000a1ee1c6, kAtomic, kGlobal, 4, 8, -8}, // ATOMG.E.DEC.STRONG.GPU
  {90, 0x480e0c0e79a8, 0xee200089ee5c8, kAtomic, kGlobal, 8, 12, 72}, // ATOMG.E.MIN.64.STRONG.GPU
  {100, 0xfffff811080979a8, 0x6e2000a1ef106, kAtomic, kGlobal, 4, 8, -8}, // ATOMG.E.DEC.STRONG.GPU
  {100, 0x8000480e0c0e79a8, 0xea200089ef508, kAtomic, kGlobal, 8, 12,
   72}, // ATOMG.E.MIN.64.STRONG.GPU
  {120, 0xfffff811040579a8, 0x722000a1ef106, kAtomic, kGlobal, 4, 4, -8}, // ATOMG.E.DEC.STRONG.GPU
  {120, 0x80004806020679a8, 0xea200089ef508, kAtomic, kGlobal, 8, 2,
   72},                                                                // ATOMG.E.MIN.64.STRONG.GPU
  {90, 0x22047dae, 0x5e20008920d4b, kCopy, kGlobal, 16, 34, 0},        // LDGSTS.E.LTC128B.128
  {90, 0x50a007dbd, 0xfe8000c00083f, kStore, kShared, 4, 10, 0},       // STAS [R10.64], R5
  {90, 0x50c007dbe, 0xfe8000800013f, kReduction, kShared, 4, 12, 0},   // REDAS.ADD [R12.64], R5
  {80, 0x4008002077fae, 0xfe20008121844, kCopy, kGlobal, 4, 2, 128},   // LDGSTS.E [R7+0x40],
                                                                       // [R2.64+0x80], P0
  {80, 0x4008002077fae, 0xfe20008121a44, kCopy, kGlobal, 8, 2, 128},   // LDGSTS.E.64
  {80, 0x4008002077fae, 0xfe20008121c44, kCopy, kGlobal, 16, 2, 128},  // LDGSTS.E.128
  {90, 0x4008002077fae, 0xfe20008121844, kCopy, kGlobal, 4, 2, 128},   // LDGSTS.E
  {90, 0x4008002077fae, 0xfe20008121a44, kCopy, kGlobal, 8, 2, 128},   // LDGSTS.E.64
  {90, 0x4008002077fae, 0xfe20008121c44, kCopy, kGlobal, 16, 2, 128},  // LDGSTS.E.128
  {100, 0x4008002077fae, 0xfe800081a1006, kCopy, kGlobal, 4, 2, 128},  // LDGSTS.E
  {100, 0x4008002077fae, 0xfe800081a1406, kCopy, kGlobal, 8, 2, 128},  // LDGSTS.E.64
  {100, 0x4008002077fae, 0xfe800081a1806, kCopy, kGlobal, 16, 2, 128}, // LDGSTS.E.128
  {120, 0x4008004037fae, 0xfe800081a1006, kCopy, kGlobal, 4, 4, 128},  // LDGSTS.E
  {120, 0x4008004037fae, 0xfe800081a1406, kCopy, kGlobal, 8, 4, 128},  // LDGSTS.E.64
  {120, 0x4008004037fae, 0xfe800081a1806, kCopy, kGlobal, 16, 4, 128}, // LDGSTS.E.128
  {90, 0x1300004050075a7, 0x2a6000800017f, kAtomic, kShared, 8, 5, 77824},     // SYNCS.PHASECHK
                                                                               // [R5+URZ+0x13000]
  {90, 0x1300005ffff89a7, 0x7e40008000006, kAtomic, kShared, 8, kNone, 77824}, // SYNCS.ARRIVE
                                                                               // [UR6+0x13000]
  {100, 0x40dff75b2, 0x2a40008000100, kAtomic, kShared, 8, kNone, 0}, // SYNCS.EXCH.64 URZ, [UR13],
                                                                      // UR4
});

// These use no memory that is an access.
inline constexpr auto kOtherEncodings = std::to_array<Encoding>({
  {75, 0xc0000008087abb, 0xfe40008000800},  // ULDC UR8, c[0x3][UR8]
  {80, 0x7992, 0xfec0000003000},            // MEMBAR.SC.SYS
  {80, 0x79ab, 0xfc00000000000},            // ERRBAR
  {80, 0x79af, 0xe220000000000},            // LDGDEPBAR
  {80, 0x7b1d, 0xfec0000010000},            // BAR.SYNC.DEFER_BLOCKING 0x0
  {80, 0x573c4, 0xe620000010000},           // REDUX.MIN UR5, R0
  {80, 0x6ff73aa, 0x1e240000000500},        // QSPC.E.S P0, RZ, [R6]
  {80, 0xff00798f, 0xfca0002000000},        // CCTL.IVALL
  {80, 0x60c10723c, 0x44ff000000018ff},     // HMMA.16816.F32 R16, R12.reuse, R6, RZ
  {80, 0x460000047ab9, 0xfc60000000a00},    // ULDC.64 UR4, c[0x0][0x118]
  {80, 0xc0000006067abb, 0xfe20008000800},  // ULDC UR6, c[0x3][UR6]
  {80, 0x1000000000c7b82, 0x2a20000000a00}, // LDC.64 R12, c[0x4][R0]
  {90, 0x840000047ab9, 0xfe40000000a00},    // ULDC.64 UR4, c[0x0][0x210]
  {90, 0x400070000751d, 0x5e20000010000},   // BAR.SYNC.DEFER_BLOCKING R7, 0x100
  {100, 0x7992, 0xfec0000003000},           // MEMBAR.SC.SYS
  {100, 0x79ab, 0xfc00000000000},           // ERRBAR
  {100, 0x79af, 0xe240000000000},           // LDGDEPBAR
  {100, 0x79b7, 0x1e20000000000},           // UTMACMDFLUSH
  {100, 0x7b1d, 0xff00000010000},           // BAR.SYNC.DEFER_BLOCKING 0x0
  {100, 0x40073bc, 0x3e2000800000a},        // UBLKPF.L2 [UR4], UR10
  {100, 0xaff73aa, 0xe240000000500},        // QSPC.E.S P0, RZ, [R10]
  {100, 0x120473c4, 0xe260000000000},       // REDUX UR4, R18
  {100, 0x120572cc, 0xfe20000008000},       // CREDUX.MIN UR5, R18
  {100, 0xff00798f, 0xfe80002000000},       // CCTL.IVALL
  {100, 0x60c08723c, 0x44ff000000018ff},    // HMMA.16816.F32 R8, R12.reuse, R6, RZ
  {100, 0x10060075b8, 0x7e20008008000},     // UTMAPF.L2.2D [UR16], [UR6]
  {100, 0x7000ff0877ac, 0xe620008000c00},   // LDCU.128 UR8, c[0x0][0x380]
  {100, 0xdf00ff017b82, 0xfe20000000800},   // LDC R1, c[0x0][0x37c]
  {120, 0x7992, 0xfec0000003000},           // MEMBAR.SC.SYS
  {120, 0x79ab, 0xfc00000000000},           // ERRBAR
  {120, 0x79af, 0xe220000000000},           // LDGDEPBAR
  {120, 0x79b7, 0x1e20000000000},           // UTMACMDFLUSH
  {120, 0x7b1d, 0xff00000010000},           // BAR.SYNC.DEFER_BLOCKING 0x0
  {120, 0x80073bc, 0x2fe2000800000c},       // UBLKPF.L2 [UR8], UR12
  {120, 0x8ff73aa, 0xe240000000500},        // QSPC.E.S P0, RZ, [R8]
  {120, 0x140573c4, 0xe620000010000},       // REDUX.MIN UR5, R20
  {120, 0xff00798f, 0xfe80002000000},       // CCTL.IVALL
  {120, 0xc0810723c, 0x4fde00000018ff},     // HMMA.16816.F32 R16, R8, R12, RZ
  {120, 0xe060075b8, 0x5e20008008000},      // UTMAPF.L2.2D [UR14], [UR6]
  {120, 0x7000ff0877ac, 0xe620008000c00},   // LDCU.128 UR8, c[0x0][0x380]
  {120, 0xdf00ff017b82, 0xfe20000000800},   // LDC R1, c[0x0][0x37c]
});

} // namespace gmt::test
