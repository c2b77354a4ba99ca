# cpack -G DEB: one Debian package per component of install.cmake. `make deb` builds them with the preset `package`.

set(REMORA_PACKAGE_MAINTAINER "Remora maintainers <maintainers@remora.invalid>" CACHE STRING
  "Who a package of this build comes from: NAME <ADDRESS>")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME remora)
set(CPACK_PACKAGE_VENDOR Remora)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "tensors on local and remote devices")  # the synopsis of all
set(CPACK_PACKAGE_CONTACT ${REMORA_PACKAGE_MAINTAINER})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON)  # the configuration goes to /etc
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_COMPONENTS_ALL dev)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME remora-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
list(JOIN debian_packages ", " CPACK_DEBIAN_DEV_PACKAGE_DEPENDS)
set(CPACK_COMPONENT_DEV_DESCRIPTION "Remora is a C++20 tensor library whose devices may be anywhere: every
operation runs where its tensors live, on this machine or on a worker
reached over gRPC.
.
This package has the library, its headers, and what CMake and pkg-config
need to find it.")

if(TARGET remorad)
  list(APPEND CPACK_COMPONENTS_ALL worker)
  set(CPACK_DEBIAN_WORKER_PACKAGE_NAME remora-worker)
  set(CPACK_DEBIAN_WORKER_PACKAGE_SECTION net)
  set(CPACK_DEBIAN_WORKER_PACKAGE_DEPENDS adduser)
  set(CPACK_DEBIAN_WORKER_PACKAGE_SUGGESTS remora-tools)
  set(maintainer_scripts ${PROJECT_SOURCE_DIR}/deploy/debian/worker)
  set(CPACK_DEBIAN_WORKER_PACKAGE_CONTROL_EXTRA
    ${maintainer_scripts}/conffiles ${maintainer_scripts}/postinst ${maintainer_scripts}/prerm
    ${maintainer_scripts}/postrm)
  set(CPACK_COMPONENT_WORKER_DESCRIPTION "remorad serves the devices of this machine to programs that use the Remora
tensor library. As installed it serves the CPU on a unix socket that only
root can open; /etc/remora/remorad.toml says otherwise.")
endif()
if(TARGET remora_cli)
  list(APPEND CPACK_COMPONENTS_ALL tools)
  set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME remora-tools)
  set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION net)
  set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS remora-worker)
  set(CPACK_COMPONENT_TOOLS_DESCRIPTION "remora, the command line tool, lists devices, says which layer fails when a
worker cannot be reached, and measures the wire.")
endif()

# Every package says what it is licensed under and what changed; without a package the licence is enough.
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
  file(WRITE ${staging}/changelog.Debian "remora (${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; \
urgency=medium\n\n  * Packaged from the sources of this version; what is new is in\n    their CHANGELOG.md.\n\n\
 -- ${REMORA_PACKAGE_MAINTAINER}  ${date}\n")
  execute_process(COMMAND gzip -9nf ${staging}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
  foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    install(FILES ${staging}/changelog.Debian.gz deploy/debian/copyright
      DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/remora-${component} COMPONENT ${component})
  endforeach()
else()
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/remora COMPONENT dev)
endif()

include(CPack)
