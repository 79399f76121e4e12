// An executor that does what the test says: takes launches and keeps them until told what became of
// them. For what a real one will not do on demand.
#pragma once

#include "stagecall/executor.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecall::testing {

class ScriptedExecutor final : public Executor {
 public:
  /// Called for each launch, within submit(); may report.
  std::function<void(const Launch&)> on_submit = [](const Launch&) {};
  /// What a query answers.
  AttemptNews answer = SaysAlive{};
  std::function<AttemptNews(const AttemptQuery&)> on_query = [this](const auto&) { return answer; };
  /// Called for each cancel, within cancel(); may report.
  std::function<void(const Cancel&)> on_cancel = [](const Cancel&) {};
  /// Called before and after the work of each call but open and close; may throw.
  std::function<void(bool is_done)> on_call = [](bool) {};
  bool runs_everything = true;

  std::vector<Launch> launches;
  std::vector<Cancel> cancels;
  std::vector<AttemptQuery> queries;
  std::vector<AttemptKey> acknowledged;

  std::string_view name() const override { return "scripted"; }
  Result<void> open(ReportSink& sink) override {
    sink_ = &sink;
    return {};
  }
  bool can_run(const NodeSpec&) const override { return runs_everything; }
  void submit(std::vector<Launch> batch) override {
    on_call(false);
    for (Launch& launch : batch) {
      launches.push_back(launch);
      on_submit(launch);
    }
    on_call(true);
  }
  void cancel(std::vector<Cancel> batch) override {
    on_call(false);
    cancels.insert(cancels.end(), batch.begin(), batch.end());
    std::for_each(batch.begin(), batch.end(), on_cancel);
    on_call(true);
  }
  void query(std::vector<AttemptQuery> batch) override {
    on_call(false);
    std::vector<AttemptReport> reports;
    for (const AttemptQuery& query : batch) {
      reports.push_back({query.key, on_query(query)});
    }
    queries.insert(queries.end(), batch.begin(), batch.end());
    sink_->report(std::move(reports));
    on_call(true);
  }
  void acknowledge(std::vector<AttemptKey> keys) override {
    on_call(false);
    acknowledged.insert(acknowledged.end(), keys.begin(), keys.end());
    on_call(true);
  }
  void close(Duration) override {}

  void report(const AttemptKey& key, AttemptNews news) { sink_->report({{key, std::move(news)}}); }
  /// Ends the node's latest launch.
  void end(const std::string& node, Outcome outcome = {}) {
    const auto found = std::find_if(launches.rbegin(), launches.rend(),
                                    [&](const Launch& launch) { return launch.key.node == node; });
    if (found != launches.rend()) {
      report(found->key, SaysEnded{std::move(outcome), {}});
    }
  }
  std::vector<std::string> launched_nodes() const {
    std::vector<std::string> nodes;
    for (const Launch& launch : launches) {
      nodes.push_back(launch.key.node);
    }
    return nodes;
  }

 private:
  ReportSink* sink_ = nullptr;
};

}  // namespace stagecall::testing
