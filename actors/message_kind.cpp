#include "actors/message_kind.hpp"

#include <caf/type_nr.hpp>
#include <cxxabi.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>

namespace stagecall {
namespace {

std::string readable(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> made{
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free};
  std::string name = status == 0 ? made.get() : type.name();
  for (const std::string_view space : {"stagecall::", "caf::"}) {
    if (name.starts_with(space)) {
      name.erase(0, space.size());
    }
  }
  return name;
}

std::string make_name(const MessageType& type) {
  if (type.name != nullptr) {
    return readable(*type.name);
  }
  return type.number == 0 ? "nothing" : caf::numbered_type_names[type.number - 1];
}

/// Never destroyed: an engine may end after the statics of its process. As many as there are types.
const std::string& keep(std::string name) {
  static auto* const mutex = new std::mutex;
  static auto* const names = new std::unordered_set<std::string>;
  const std::lock_guard lock{*mutex};
  return *names->insert(std::move(name)).first;
}

}  // namespace

std::string_view name_of(const MessageType& type) {
  thread_local std::map<std::pair<std::uint16_t, const std::type_info*>, std::string_view> known;
  auto& name = known[{type.number, type.name}];
  if (name.empty()) {
    name = keep(make_name(type));
  }
  return name;
}

}  // namespace stagecall
