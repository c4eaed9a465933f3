# SPDX-License-Identifier: Apache-2.0
# The unwinder that the interposer opens: the distribution's libunwind.so.8 and the liblzma.so.5 that it needs, copied
# beside the interposer under names of their own. With its own soname neither can be taken for the library that the
# program itself asks for later, which may have to be a newer one; and $ORIGIN finds the second from the first wherever
# the install is moved to. Without patchelf the unwinder is copied as it is and uses the system's liblzma.so.5.
# Included by interposer/CMakeLists.txt.
find_library(GMT_LIBUNWIND libunwind.so.8 REQUIRED)
find_library(GMT_LIBLZMA liblzma.so.5)
find_program(GMT_PATCHELF patchelf)

# patchelf is called once for each change: 0.14 mixes up the strings of several changes in one call.
function(gmt_patch_elf file)
  foreach(change IN LISTS ARGN)
    separate_arguments(words NATIVE_COMMAND "${change}")
    execute_process(COMMAND ${GMT_PATCHELF} ${words} ${file} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endfunction()

# gmt_private_library(<original> <name> <changes of patchelf...>): makes <build>/interposer/<name>, only when it is
# missing or older than the original, because programs that are running may have it mapped.
function(gmt_private_library original name)
  set(copy ${CMAKE_BINARY_DIR}/interposer/${name})
  set(stamp ${CMAKE_BINARY_DIR}/interposer/${name}.made-from)
  file(REAL_PATH ${original} real)
  set(made_from "${real} ${ARGN}")
  set(known "")
  if(EXISTS ${copy} AND EXISTS ${stamp} AND ${copy} IS_NEWER_THAN ${real})
    file(READ ${stamp} known)
  endif()
  if(NOT known STREQUAL made_from)
    file(COPY_FILE ${real} ${copy}.new)
    file(CHMOD ${copy}.new PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    gmt_patch_elf(${copy}.new ${ARGN})
    file(RENAME ${copy}.new ${copy})
    file(TOUCH ${copy})
    file(WRITE ${stamp} "${made_from}")
  endif()
  install(FILES ${copy} DESTINATION lib/gpumemtrace)
endfunction()

file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/interposer)
if(GMT_PATCHELF AND GMT_LIBLZMA)
  gmt_private_library(${GMT_LIBLZMA} libgpumemtrace-lzma.so.5 "--set-soname libgpumemtrace-lzma.so.5")
  gmt_private_library(${GMT_LIBUNWIND} libunwind.so.8 "--set-soname libgpumemtrace-unwind.so.8"
    "--replace-needed liblzma.so.5 libgpumemtrace-lzma.so.5" "--set-rpath $ORIGIN")
else()
  message(STATUS "patchelf not found: the install's unwinder will use the liblzma.so.5 of the machine it runs on")
  gmt_private_library(${GMT_LIBUNWIND} libunwind.so.8)
endif()
