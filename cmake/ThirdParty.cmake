# SPDX-License-Identifier: Apache-2.0
# THIRD_PARTY.md: each library of others that the install contains, with its version, its licence and the licence's text,
# as the distribution's packages have them. Included by GpumemtraceInstall.cmake, when all libraries are found.
find_program(GMT_DPKG_QUERY dpkg-query)

# gmt_package_of(<file> <package> <version> <copyright>): sets three variables; empty if no package of Debian's has the file.
function(gmt_package_of file package version copyright)
  foreach(variable IN ITEMS ${package} ${version} ${copyright})
    set(${variable} "" PARENT_SCOPE)
  endforeach()
  if(NOT GMT_DPKG_QUERY OR NOT EXISTS "${file}")
    return()
  endif()
  file(REAL_PATH "${file}" real)
  string(REGEX REPLACE "^/usr/lib" "/lib" merged "${real}") # as packages list it that are older than one /usr
  execute_process(COMMAND ${GMT_DPKG_QUERY} -S "${real}" "${merged}" OUTPUT_VARIABLE owner ERROR_QUIET)
  if(NOT owner MATCHES "^([^:, ]+(:[a-z0-9]+)?): ")
    return()
  endif()
  set(found "${CMAKE_MATCH_1}")
  string(REGEX REPLACE ":.*" "" name "${found}")
  execute_process(COMMAND ${GMT_DPKG_QUERY} -W "-f=\${Version}" "${found}" OUTPUT_VARIABLE found_version ERROR_QUIET)
  set(${package} "${name}" PARENT_SCOPE)
  set(${version} "${found_version}" PARENT_SCOPE)
  if(EXISTS "/usr/share/doc/${name}/copyright")
    set(${copyright} "/usr/share/doc/${name}/copyright" PARENT_SCOPE)
  endif()
endfunction()

# gmt_third_party(<name> <licence> <where> <file>): adds a row and the licence's text. <where> is what contains it.
set(third_party_rows "")
set(third_party_texts "")
set(third_party_versions "") # "elfutils 0.188-2.1", ...
function(gmt_third_party name licence where file)
  gmt_package_of("${file}" package version copyright)
  if(version STREQUAL "")
    set(version "unknown")
  endif()
  set(text "The distribution has no file of its licence: see the library's own.\n")
  if(copyright)
    file(READ "${copyright}" text)
    if(name MATCHES "^Boost") # megabytes: of all of Boost, file by file
      string(FIND "${text}" " Boost Software License - Version 1.0" begin)
      string(SUBSTRING "${text}" ${begin} -1 text)
      string(FIND "${text}" "\nLicense:" end)
      string(SUBSTRING "${text}" 0 ${end} text)
    endif()
  endif()
  set(third_party_rows "${third_party_rows}| ${name} | ${version} | ${licence} | ${where} |\n" PARENT_SCOPE)
  set(third_party_texts "${third_party_texts}\n## ${name}\n\n```text\n${text}```\n" PARENT_SCOPE)
  list(APPEND third_party_versions "${name} ${version}")
  set(third_party_versions "${third_party_versions}" PARENT_SCOPE)
endfunction()

# The compiler's own libraries.
function(gmt_library_of_compiler variable name)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${name} OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(${variable} "${path}" PARENT_SCOPE)
endfunction()
gmt_library_of_compiler(third_party_libstdcxx libstdc++.a)
gmt_library_of_compiler(third_party_libgcc libgcc.a)
gmt_library_of_compiler(third_party_libc libc.a)
find_file(GMT_FMT_HEADER fmt/core.h)
find_file(GMT_JSON_HEADER nlohmann/json.hpp)
get_target_property(third_party_boost Boost::program_options IMPORTED_LOCATION_RELEASE)
if(NOT third_party_boost)
  get_target_property(third_party_boost Boost::program_options IMPORTED_LOCATION)
endif()

set(third_party_command "the command")
set(third_party_all "the command, the collector of `--coalescing`, the library of `--kernel-checks`, the simulated device")
# Those that read bytes of others first.
gmt_third_party(elfutils "LGPL-3.0-or-later or GPL-2.0-or-later" "${third_party_command}" "${GMT_ARCHIVE_dw}")
gmt_third_party(SQLite "public domain" "${third_party_command}" "${GMT_ARCHIVE_sqlite}")
gmt_third_party(libunwind "MIT" "`lib/gpumemtrace/libunwind.so.8`" "${GMT_LIBUNWIND}")
gmt_third_party(zstd "BSD-3-Clause" "${third_party_all}" "${GMT_ARCHIVE_zstd}")
gmt_third_party(LZ4 "BSD-2-Clause" "${third_party_all}" "${GMT_ARCHIVE_lz4}")
gmt_third_party(zlib "Zlib" "${third_party_command}" "${GMT_ARCHIVE_z}")
gmt_third_party(liblzma "public domain, 0BSD" "${third_party_command}, `lib/gpumemtrace/libgpumemtrace-lzma.so.5`" "${GMT_ARCHIVE_lzma}")
gmt_third_party(bzip2 "bzip2-1.0.6" "${third_party_command}" "${GMT_ARCHIVE_bz2}")
gmt_third_party("JSON for Modern C++" "MIT" "${third_party_command}" "${GMT_JSON_HEADER}")
gmt_third_party(fmt "MIT" "${third_party_command}" "${GMT_FMT_HEADER}")
gmt_third_party(Boost.Program_options "BSL-1.0" "${third_party_command}" "${third_party_boost}")
gmt_third_party(d3 "BSD-3-Clause" "pages of `--format html`" "${GMT_D3}")
gmt_third_party("libstdc++" "GPL-3.0-or-later with the GCC Runtime Library Exception" "the command, the library of `--kernel-checks`" "${third_party_libstdcxx}")
gmt_third_party(libgcc "GPL-3.0-or-later with the GCC Runtime Library Exception" "the command; single functions in the libraries" "${third_party_libgcc}")
gmt_third_party(glibc "LGPL-2.1-or-later" "${third_party_command}" "${third_party_libc}")

# What those texts refer to.
foreach(licence IN ITEMS GPL-3 LGPL-3 LGPL-2.1)
  if(EXISTS /usr/share/common-licenses/${licence})
    file(READ /usr/share/common-licenses/${licence} text)
    string(APPEND third_party_texts "\n## ${licence}\n\n```text\n${text}```\n")
  endif()
endforeach()

set(third_party "# Software of others in gpumemtrace

gpumemtrace itself is under the Apache License 2.0 (`LICENSE`). It contains these libraries, in the
versions of the distribution's packages that it was built from.

| library | version | licence | in |
|---|---|---|---|
${third_party_rows}
elfutils and glibc are linked into the command and under the LGPL: whoever has gpumemtrace may build
it anew with other versions of them. The target `relinked` links the command's objects with another
elfutils, `GMT_RELINK_DW=/path/libdw.a GMT_RELINK_ELF=/path/libelf.a cmake --build build --target
relinked`, and `-DGPUMEMTRACE_STATIC_COMMAND=OFF` takes the shared libraries of the machine.
${third_party_texts}")
set(third_party_file ${CMAKE_BINARY_DIR}/THIRD_PARTY.md)
set(third_party_known "")
if(EXISTS ${third_party_file})
  file(READ ${third_party_file} third_party_known)
endif()
if(NOT third_party_known STREQUAL third_party)
  file(WRITE ${third_party_file} "${third_party}")
endif()
install(FILES ${third_party_file} DESTINATION share/doc/gpumemtrace)
list(JOIN third_party_versions ", " third_party_versions)
target_compile_definitions(analyzer_command PRIVATE GPUMEMTRACE_LIBRARIES="${third_party_versions}")
