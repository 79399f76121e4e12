#include "cli/metrics_text.hpp"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecall::cli {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

/// These go up and down; every other counter of an actor only goes up.
constexpr std::array<std::string_view, 6> kLevels{"slots", "free", "in_custody",
                                                  "runs",  "held", "unavailable_now"};

bool is_level(std::string_view counter) {
  return std::find(kLevels.begin(), kLevels.end(), counter) != kLevels.end();
}

class Families {
 public:
  void add(const std::string& name, MetricType type, const std::string& help,
           const std::vector<prometheus::ClientMetric::Label>& labels, std::uint64_t value) {
    MetricFamily& family = families_[name];
    family.name = name;
    family.help = help;
    family.type = type;
    prometheus::ClientMetric metric;
    metric.label = labels;
    (type == MetricType::Gauge ? metric.gauge.value : metric.counter.value) =
        static_cast<double>(value);
    family.metric.push_back(std::move(metric));
  }

  std::string text() const {
    std::vector<MetricFamily> all;
    for (const auto& [name, family] : families_) {
      all.push_back(family);
    }
    return prometheus::TextSerializer{}.Serialize(all);
  }

 private:
  std::map<std::string, MetricFamily> families_;
};

}  // namespace

std::string metrics_text(const EngineInsight& engine) {
  Families families;
  const prometheus::ClientMetric::Label replica{"replica", engine.replica};
  families.add("stagecall_runs_held", MetricType::Gauge, "Runs that this replica schedules.",
               {replica}, engine.runs);
  for (const ActorInsight& actor : engine.actors) {
    if (actor.kind == "pipeline") {
      continue;
    }
    const prometheus::ClientMetric::Label name{"actor", actor.kind};
    families.add("stagecall_actor_busy", MetricType::Gauge,
                 "1: the actor has not answered within half a second.", {replica, name},
                 actor.is_busy ? 1 : 0);
    if (actor.is_busy) {
      continue;
    }
    families.add("stagecall_messages_total", MetricType::Counter, "Messages handled.",
                 {replica, name}, actor.handled);
    families.add("stagecall_mailbox", MetricType::Gauge, "Messages waiting.", {replica, name},
                 actor.waiting);
    for (const auto& [counter, value] : actor.counters) {
      const bool level = is_level(counter);
      families.add("stagecall_" + actor.kind + '_' + counter + (level ? "" : "_total"),
                   level ? MetricType::Gauge : MetricType::Counter,
                   "As `stagecall inspect` shows it.", {replica}, value);
    }
  }
  return families.text();
}

}  // namespace stagecall::cli
