# One library per layer; who may link whom is who may include whom (tools/tidy checks the includes).

# stagecall_layer(NAME LINKS target…): every .cpp of the folder NAME, its own CMakeLists.txt aside.
function(stagecall_layer name)
  cmake_parse_arguments(LAYER "" "" "LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${name}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "main\\.cpp$")
  if(sources)
    add_library(stagecall_${name} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(stagecall_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(stagecall_${name} ${scope} "${PROJECT_SOURCE_DIR}"
                                                        "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(stagecall_${name} ${scope} tl::expected ${LAYER_LINKS})
endfunction()

stagecall_layer(messages)
stagecall_layer(platform LINKS stagecall_messages)
stagecall_layer(core LINKS stagecall_messages)
stagecall_layer(formats LINKS stagecall_core nlohmann_json::nlohmann_json)
stagecall_layer(persistence LINKS stagecall_messages stagecall_platform SQLite::SQLite3
                PkgConfig::XXHASH)
stagecall_layer(executors LINKS stagecall_messages stagecall_platform nlohmann_json::nlohmann_json
                PkgConfig::XXHASH Threads::Threads)
foreach(part IN ITEMS executors persistence)
  if(EXISTS "${PROJECT_SOURCE_DIR}/${part}/CMakeLists.txt")
    add_subdirectory(${part})
  endif()
endforeach()
stagecall_layer(actors LINKS stagecall_core stagecall_formats stagecall_persistence
                stagecall_executors CAF::core spdlog::spdlog)
if(STAGECALL_SANITIZE MATCHES "undefined")
  # CAF's mailbox casts the end of its list to a message, without ever using it as one.
  target_compile_options(stagecall_actors PRIVATE -fno-sanitize=vptr)
endif()
stagecall_layer(cli LINKS stagecall_actors CLI11::CLI11 tomlplusplus::tomlplusplus
                nlohmann_json::nlohmann_json PkgConfig::HTTPLIB PkgConfig::PROMETHEUS)
set_property(TARGET stagecall_cli APPEND PROPERTY COMPILE_DEFINITIONS
                                                   STAGECALL_VERSION="${PROJECT_VERSION}")

if(EXISTS "${PROJECT_SOURCE_DIR}/cli/main.cpp")
  add_executable(stagecall cli/main.cpp)
  target_link_libraries(stagecall PRIVATE stagecall_cli)
  set_target_properties(stagecall PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
endif()
