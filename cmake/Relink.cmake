# SPDX-License-Identifier: Apache-2.0
# The target `relinked`: the command from the objects of this build with another elfutils, as the LGPL wants it. Nothing is
# compiled.
#
#   GMT_RELINK_DW=/path/libdw.a GMT_RELINK_ELF=/path/libelf.a cmake --build build --target relinked
#
# GMT_RELINK_OUTPUT: where to, instead of analyzer/gpumemtrace-relinked of the build folder.
set(relink_script ${CMAKE_BINARY_DIR}/relink)
string(CONCAT relink_objects "$<JOIN:$<TARGET_OBJECTS:gpumemtrace>, > $<JOIN:$<TARGET_OBJECTS:analyzer_command>, > "
  "$<JOIN:$<TARGET_OBJECTS:analyzer_core>, > $<JOIN:$<TARGET_OBJECTS:analyzer_report>, >")
string(CONCAT relink_archives "$<TARGET_FILE:ptx> $<TARGET_FILE:Boost::program_options> \"\${GMT_RELINK_DW:-${GMT_ARCHIVE_dw}}\" "
  "\"\${GMT_RELINK_ELF:-${GMT_ARCHIVE_elf}}\" ${GMT_ARCHIVE_lzma} ${GMT_ARCHIVE_bz2} ${GMT_ARCHIVE_zstd} ${GMT_ARCHIVE_lz4} "
  "${GMT_ARCHIVE_z} ${GMT_ARCHIVE_sqlite} -lm")
file(GENERATE OUTPUT ${relink_script} CONTENT "#!/bin/sh
# Links the command anew; cmake/Relink.cmake explains it.
exec ${CMAKE_CXX_COMPILER} $<JOIN:$<TARGET_PROPERTY:gpumemtrace,LINK_OPTIONS>, > ${CMAKE_EXE_LINKER_FLAGS} \\
  ${relink_objects} ${relink_archives} \\
  -o \"\${GMT_RELINK_OUTPUT:-${CMAKE_BINARY_DIR}/analyzer/gpumemtrace-relinked}\"
")
add_custom_target(relinked COMMAND sh ${relink_script} DEPENDS gpumemtrace VERBATIM)
