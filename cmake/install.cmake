# What `cmake --install` lays down, in three components that are also the Debian packages: dev (library, public headers,
# CMake and pkg-config files), worker (the daemon, its unit and configuration) and tools (the tool). Included last.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(public_headers include/remora/remora.h dispatch/registry.h)
if(REMORA_HAVE_REMOTE)
  list(APPEND public_headers client/remote/private_worker.h)
endif()
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/remora)
set(staging ${PROJECT_BINARY_DIR}/install)

# Libraries that ours links, by target: name in pkg-config, Debian package, how CMake finds it (without: by pkg-config).
# Abseil's parts have their own names.
set(libraries
  "ZLIB::ZLIB|zlib|zlib1g-dev|find_dependency(ZLIB)"
  "PkgConfig::libzip|libzip|libzip-dev|"
  "PkgConfig::xxhash|libxxhash|libxxhash-dev|"
  "PkgConfig::openblas|openblas|libopenblas-dev|"
  "OpenSSL::SSL|libssl|libssl-dev|find_dependency(OpenSSL)"
  "protobuf::libprotobuf|protobuf|libprotobuf-dev|find_dependency(Protobuf)"
  "gRPC::grpc++|grpc++|libgrpc++-dev|find_dependency(gRPC CONFIG)"
  "PkgConfig::grpcpp|grpc++|libgrpc++-dev|")

# The library. What it links is known from its target: `public` libraries are in its headers, `linked` ones an archive
# passes on to whoever links it.
get_target_property(all_libraries remora_interface INTERFACE_LINK_LIBRARIES)
list(TRANSFORM all_libraries REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1")
list(REMOVE_DUPLICATES all_libraries)
set(public)
set(linked)
set(public_names)
set(linked_names)
set(debian_packages libabsl-dev)
set(REMORA_FIND_DEPENDENCIES)
foreach(library IN LISTS all_libraries)
  if(library MATCHES "^absl::(.*)$")
    list(APPEND public ${library})
    list(APPEND public_names absl_${CMAKE_MATCH_1})
  elseif(NOT library STREQUAL "Threads::Threads")
    string(REGEX REPLACE "([+])" "[\\1]" pattern ${library})
    set(row ${libraries})
    list(FILTER row INCLUDE REGEX "^${pattern}[|]")
    if(NOT row MATCHES "^[^|]*[|]([^|]*)[|]([^|]*)[|](.*)$")
      message(FATAL_ERROR "cmake/install.cmake: the library links ${library}, which has no row there")
    endif()
    list(APPEND linked ${library})
    list(APPEND linked_names ${CMAKE_MATCH_1})
    list(APPEND debian_packages ${CMAKE_MATCH_2})
    if(CMAKE_MATCH_3)
      string(APPEND REMORA_FIND_DEPENDENCIES "  ${CMAKE_MATCH_3}\n")
    else()
      set(module ${CMAKE_MATCH_1})
      string(REPLACE "PkgConfig::" "" name ${library})
      string(APPEND REMORA_FIND_DEPENDENCIES "  remora_find_module(${name} ${module})\n")
    endif()
  endif()
endforeach()

set(definitions)
foreach(backend CPU CUDA VULKAN REMOTE)
  if(REMORA_HAVE_${backend})
    list(APPEND definitions REMORA_${backend}=1)
  else()
    list(APPEND definitions REMORA_${backend}=0)
  endif()
endforeach()

foreach(library IN LISTS public ITEMS Threads::Threads)
  target_link_libraries(remora INTERFACE $<INSTALL_INTERFACE:${library}>)
endforeach()
if(NOT BUILD_SHARED_LIBS)
  foreach(library IN LISTS linked)
    target_link_libraries(remora INTERFACE $<INSTALL_INTERFACE:$<LINK_ONLY:${library}>>)
  endforeach()
endif()
target_include_directories(remora INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(remora INTERFACE $<INSTALL_INTERFACE:cxx_std_20>)
foreach(definition IN LISTS definitions)
  target_compile_definitions(remora INTERFACE $<INSTALL_INTERFACE:${definition}>)
endforeach()
install(TARGETS remora EXPORT remora-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
install(EXPORT remora-targets NAMESPACE remora:: DESTINATION ${package_dir} COMPONENT dev)

configure_package_config_file(cmake/remora-config.cmake.in ${staging}/remora-config.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${staging}/remora-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${staging}/remora-config.cmake ${staging}/remora-config-version.cmake
  DESTINATION ${package_dir} COMPONENT dev)

if(BUILD_SHARED_LIBS)
  list(JOIN public_names ", " REMORA_PC_REQUIRES)
  list(JOIN linked_names ", " REMORA_PC_REQUIRES_PRIVATE)
else()
  list(JOIN linked_names ", " REMORA_PC_REQUIRES)
  list(JOIN public_names ", " names)
  string(APPEND REMORA_PC_REQUIRES ", ${names}")
  set(REMORA_PC_REQUIRES_PRIVATE)
endif()
list(TRANSFORM definitions PREPEND -D OUTPUT_VARIABLE REMORA_PC_DEFINITIONS)
list(JOIN REMORA_PC_DEFINITIONS " " REMORA_PC_DEFINITIONS)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
  BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE REMORA_PC_PREFIX)
string(REGEX REPLACE "/$" "" REMORA_PC_PREFIX "${REMORA_PC_PREFIX}")
configure_file(cmake/remora.pc.in ${staging}/remora.pc @ONLY)
install(FILES ${staging}/remora.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

install(CODE "
  cmake_policy(PUSH)
  cmake_policy(VERSION 3.25)
  set(REMORA_SOURCE_DIR \"${PROJECT_SOURCE_DIR}\")
  set(REMORA_PUBLIC_HEADERS \"${public_headers}\")
  set(REMORA_STAGING_DIR \"${staging}/include\")
  set(REMORA_INCLUDE_DIR \"${CMAKE_INSTALL_INCLUDEDIR}\")
  include(\"${PROJECT_SOURCE_DIR}/cmake/install_headers.cmake\" NO_POLICY_SCOPE)
  cmake_policy(POP)" COMPONENT dev)

# The programs, each with what it needs to be run as a service or read about.
if(TARGET remorad)
  # By the file system's standard, programs of /usr have their configuration in /etc.
  set(sysconf_dir ${CMAKE_INSTALL_SYSCONFDIR})
  if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(sysconf_dir ${CMAKE_INSTALL_FULL_SYSCONFDIR})
  endif()
  install(TARGETS remorad RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT worker)
  install(FILES docs/deploy.md docs/worker.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/remora-worker COMPONENT worker)
  install(FILES deploy/remorad.toml DESTINATION ${sysconf_dir}/remora COMPONENT worker)
  install(CODE "
    set(REMORA_BIN_DIR \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
    set(REMORA_DOC_DIR \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/doc/remora-worker\")
    set(REMORA_SYSCONF_DIR \"${sysconf_dir}\")
    cmake_path(ABSOLUTE_PATH REMORA_SYSCONF_DIR BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\" NORMALIZE)
    configure_file(\"${PROJECT_SOURCE_DIR}/deploy/systemd/remorad.service.in\" \"${staging}/remorad.service\" @ONLY)
    file(INSTALL \"${staging}/remorad.service\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/systemd/system\")"
    COMPONENT worker)
endif()
if(TARGET remora_cli)
  install(TARGETS remora_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
endif()

include(cmake/package.cmake)
