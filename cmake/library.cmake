# The library that hosts link, made of the layers' objects: shared and static, installed with the
# public headers alone, and found by find_package(stagecall) and by pkg-config.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(objects "")
foreach(layer IN ITEMS messages platform core formats persistence executors actors)
  get_target_property(type stagecall_${layer} TYPE)
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    list(APPEND objects "$<TARGET_OBJECTS:stagecall_${layer}>")
  endif()
endforeach()

# Header-only libraries that no public header shows need not be there where a host is built.
set(parts CAF::core SQLite::SQLite3 PkgConfig::HIREDIS PkgConfig::XXHASH spdlog::spdlog
          Threads::Threads)
foreach(kind IN ITEMS SHARED STATIC)
  string(TOLOWER ${kind} suffix)
  add_library(stagecall_${suffix} ${kind} ${objects})
  target_include_directories(
    stagecall_${suffix} INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                                  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_compile_features(stagecall_${suffix} INTERFACE cxx_std_20)
  target_link_libraries(stagecall_${suffix} INTERFACE tl::expected PRIVATE ${parts})
  set_target_properties(stagecall_${suffix} PROPERTIES OUTPUT_NAME stagecall LINKER_LANGUAGE CXX)
endforeach()
# Before 1.0 a minor release may break the binary interface, so it is part of the soname.
set_target_properties(
  stagecall_shared
  PROPERTIES EXPORT_NAME stagecall
             VERSION "${PROJECT_VERSION}"
             SOVERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}"
             LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/stagecall.map")
target_link_options(stagecall_shared PRIVATE
                    "LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/stagecall.map"
                    "LINKER:--no-undefined")
set_target_properties(stagecall_static PROPERTIES EXPORT_NAME static)
add_library(stagecall::stagecall ALIAS stagecall_shared)
add_library(stagecall::static ALIAS stagecall_static)

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/stagecall")
install(TARGETS stagecall_shared EXPORT stagecall-shared)
install(TARGETS stagecall_static EXPORT stagecall-static)
install(EXPORT stagecall-shared NAMESPACE stagecall:: DESTINATION "${package_folder}")
install(EXPORT stagecall-static NAMESPACE stagecall:: DESTINATION "${package_folder}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/stagecall"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.hpp")
if(TARGET stagecall)
  install(TARGETS stagecall)
endif()

set(generated "${PROJECT_BINARY_DIR}/package")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/stagecall-config.cmake.in"
                              "${generated}/stagecall-config.cmake"
                              INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file("${generated}/stagecall-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH prefix_from_pkgconfig "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file("${PROJECT_SOURCE_DIR}/cmake/stagecall.pc.in" "${generated}/stagecall.pc" @ONLY)
install(FILES "${generated}/stagecall-config.cmake" "${generated}/stagecall-config-version.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/FindCAF.cmake" DESTINATION "${package_folder}")
install(FILES "${generated}/stagecall.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
