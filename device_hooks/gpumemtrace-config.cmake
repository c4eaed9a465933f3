# SPDX-License-Identifier: Apache-2.0
# find_package(gpumemtrace) brings
#
#   gpumemtrace_instrument(<target>)
#
# The CUDA sources of the target are compiled so that each malloc, free, new and delete in their kernels is logged when the program
# runs under gpumemtrace. No source changes, nothing is linked, host code stays as it is. Needs C++17.
# For a source that takes the address of free or malloc:
#   set_source_files_properties(<source> PROPERTIES COMPILE_DEFINITIONS GPUMEMTRACE_NO_RENAME)
get_filename_component(GPUMEMTRACE_INCLUDE_DIR "${CMAKE_CURRENT_LIST_DIR}/../../../include" ABSOLUTE)

function(gpumemtrace_instrument target)
  target_include_directories(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${GPUMEMTRACE_INCLUDE_DIR}>")
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-include \"${GPUMEMTRACE_INCLUDE_DIR}/gpumemtrace/device.h\">")
endfunction()
