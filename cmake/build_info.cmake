# Generates remora_build_info.h, included by dispatch/build_info.cpp alone. Version, compiler and flags are known
# here; the commit is looked up by every build, and the header rewritten only when it differs, so a commit recompiles
# one file.

list(JOIN REMORA_NUMERIC_FLAGS " " numeric_flags)
list(JOIN REMORA_KERNEL_FLAGS " " kernel_flags)
foreach(level IN LISTS REMORA_SIMD_LEVELS)
  string(APPEND kernel_flags " ${REMORA_KERNEL_FLAGS_${level}}")
endforeach()
string(STRIP "${CMAKE_CXX_FLAGS} ${numeric_flags} kernels: ${kernel_flags}" REMORA_BUILD_NUMERIC_FLAGS)
if(REMORA_SANITIZE)
  string(APPEND REMORA_BUILD_NUMERIC_FLAGS " sanitize: ${REMORA_SANITIZE}")
endif()

set(REMORA_BUILD_INFO_DIR ${PROJECT_BINARY_DIR}/build_info)
set(REMORA_BUILD_INFO_HEADER ${REMORA_BUILD_INFO_DIR}/remora_build_info.h)
configure_file(${PROJECT_SOURCE_DIR}/cmake/build_info.h.in ${REMORA_BUILD_INFO_DIR}/build_info.h.in @ONLY)
set(write_build_info ${CMAKE_COMMAND} -D SOURCE_DIR=${PROJECT_SOURCE_DIR}
  -D TEMPLATE=${REMORA_BUILD_INFO_DIR}/build_info.h.in -D OUTPUT=${REMORA_BUILD_INFO_HEADER}
  -P ${PROJECT_SOURCE_DIR}/cmake/write_build_info.cmake)
execute_process(COMMAND ${write_build_info} COMMAND_ERROR_IS_FATAL ANY)
add_custom_target(remora_build_info BYPRODUCTS ${REMORA_BUILD_INFO_HEADER} COMMAND ${write_build_info}
  COMMENT "" VERBATIM)
