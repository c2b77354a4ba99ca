# REMORA_STATIC: every library but glibc's own is linked from its archive. What packages export names shared objects,
# with the right dependencies between them, so only the file behind each imported target is exchanged. A library without
# an archive is no error here but fails tests/portable, which reads what the programs need.

# remora_archive_of(VARIABLE library): the archive beside a shared object or behind a -lNAME, or nothing.
function(remora_archive_of variable library)
  set(archive)
  if(library MATCHES "\\.so[.0-9]*$")
    string(REGEX REPLACE "\\.so[.0-9]*$" ".a" candidate "${library}")
    if(EXISTS ${candidate})
      set(archive ${candidate})
    endif()
  elseif(library MATCHES "^-l[^ ]+$" AND NOT library MATCHES "^-l(c|dl|m|pthread|rt)$")
    string(REGEX REPLACE "^-l" "" name ${library})
    find_library(REMORA_ARCHIVE_${name} lib${name}.a)
    mark_as_advanced(REMORA_ARCHIVE_${name})
    if(REMORA_ARCHIVE_${name})
      set(archive ${REMORA_ARCHIVE_${name}})
    endif()
  endif()
  set(${variable} ${archive} PARENT_SCOPE)
endfunction()

# Targets made of pkg-config's answers list files instead of having one.
function(remora_link_archives target)
  foreach(property IN ITEMS IMPORTED_LOCATION IMPORTED_LOCATION_NONE IMPORTED_LOCATION_RELEASE)
    get_target_property(file ${target} ${property})
    remora_archive_of(archive "${file}")
    if(archive)
      set_target_properties(${target} PROPERTIES ${property} ${archive})
    endif()
  endforeach()
  get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
  set(exchanged)
  foreach(library IN LISTS libraries)
    remora_archive_of(archive "${library}")
    if(archive)
      list(APPEND exchanged ${archive})
    else()
      list(APPEND exchanged ${library})
    endif()
  endforeach()
  if(exchanged)
    set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${exchanged}")
  endif()
endfunction()

get_property(imported_targets DIRECTORY PROPERTY IMPORTED_TARGETS)
foreach(target IN LISTS imported_targets)
  get_target_property(type ${target} TYPE)
  if(type MATCHES "LIBRARY")
    remora_link_archives(${target})
  endif()
endforeach()

# Its LAPACK is Fortran. Debian's shared OpenBLAS brings the run-time library along, the archive does not.
if(REMORA_HAVE_CPU)
  foreach(name IN ITEMS gfortran quadmath)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=lib${name}.a OUTPUT_VARIABLE archive
      OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT IS_ABSOLUTE "${archive}")
      message(FATAL_ERROR "REMORA_STATIC=ON needs lib${name}.a (Debian: gfortran); ${CMAKE_CXX_COMPILER} does not find it")
    endif()
    set_property(TARGET PkgConfig::openblas APPEND PROPERTY INTERFACE_LINK_LIBRARIES ${archive})
  endforeach()
endif()

# OpenBLAS chooses among the kernels of every x86 core of the last twenty years. Where the cpu backend works at all there
# is AVX2, so the tables of older cores lead to Haswell's, and their kernels, 14 MB, are not linked.
if(REMORA_HAVE_CPU AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  foreach(core IN ITEMS PRESCOTT CORE2 PENRYN DUNNINGTON NEHALEM OPTERON OPTERON_SSE3 BARCELONA BOBCAT ATOM NANO
      SANDYBRIDGE BULLDOZER PILEDRIVER STEAMROLLER)
    set_property(TARGET PkgConfig::openblas APPEND PROPERTY
      INTERFACE_LINK_OPTIONS -Wl,--defsym=gotoblas_${core}=gotoblas_HASWELL)
  endforeach()
endif()

# Debian's spdlog, fmt and toml++ have no archives, but all work from their headers alone.
if(REMORA_HAVE_SERVER)
  get_target_property(libraries spdlog::spdlog_header_only INTERFACE_LINK_LIBRARIES)
  list(TRANSFORM libraries REPLACE "^fmt::fmt$" "fmt::fmt-header-only")
  set_target_properties(spdlog::spdlog_header_only PROPERTIES INTERFACE_LINK_LIBRARIES "${libraries}")
  set(REMORA_SPDLOG spdlog::spdlog_header_only)
endif()
if(TARGET PkgConfig::tomlplusplus)
  set_target_properties(PkgConfig::tomlplusplus PROPERTIES INTERFACE_LINK_LIBRARIES "" INTERFACE_COMPILE_OPTIONS "")
endif()

add_link_options(-static-libstdc++ -static-libgcc)
