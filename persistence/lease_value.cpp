#include "persistence/lease_value.hpp"

#include "persistence/percent.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <utility>

namespace stagecall {
namespace {

/// `2026-11-30T12:00:00.000Z`
std::string text_of(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", int{date.year()},
                unsigned{date.month()}, unsigned{date.day()},
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()),
                static_cast<int>(clock.subseconds().count()));
  return text;
}

template <class Whole>
Whole number_of(const std::string& text) {
  Whole number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

std::string lease_mark(const LeaseToken& token) {
  return "token=" + percent_encoded(token) + " ";
}

std::string lease_holder_text(const ReplicaIdentity& holder, WallTime since) {
  return "v=1 replica=" + percent_encoded(holder.replica) +
         " incarnation=" + percent_encoded(holder.incarnation) +
         " host=" + percent_encoded(holder.process.host) +
         " boot=" + percent_encoded(holder.process.boot_id) +
         " pid=" + std::to_string(holder.process.pid) +
         " start=" + std::to_string(holder.process.start_time) + " since=" + text_of(since);
}

std::optional<LeaseValue> parse_lease_value(std::string_view text) {
  std::map<std::string_view, std::string> members;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) {
      return std::nullopt;
    }
    auto value = percent_decoded(word.substr(equals + 1));
    if (!value) {
      return std::nullopt;
    }
    members[word.substr(0, equals)] = std::move(*value);
  }
  if (members["token"].empty() || members["incarnation"].empty()) {
    return std::nullopt;
  }
  return LeaseValue{
      .token = members["token"],
      .holder = {.replica = members["replica"],
                 .incarnation = members["incarnation"],
                 .process = {.host = members["host"],
                             .boot_id = members["boot"],
                             .pid = number_of<std::int64_t>(members["pid"]),
                             .start_time = number_of<std::uint64_t>(members["start"])}}};
}

}  // namespace stagecall
