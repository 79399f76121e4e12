#include "persistence/memory_tables.hpp"

#include "persistence/codec.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>

namespace stagecall {
namespace {

constexpr auto kCountMax = std::uint64_t{std::numeric_limits<std::int64_t>::max()};

tl::unexpected<Error> broken(const std::string& constraint) {
  return fail(ErrorCode::internal, "cannot write to the store in memory: " + constraint);
}

}  // namespace

std::optional<NodeOutput> latest_output(const MemoryRun& run, NodeIndex node) {
  const auto after = run.outputs.lower_bound({NodeIndex{node.value + 1}, Attempt{}});
  if (after == run.outputs.begin() || std::prev(after)->first.first != node) {
    return std::nullopt;
  }
  const auto& [key, body] = *std::prev(after);
  return NodeOutput{node, key.second, body};
}

// ---- Taking back ----

void MemoryTables::roll_back_to(std::size_t savepoint) {
  while (reverses_.size() > savepoint) {
    reverses_.back()();
    reverses_.pop_back();
  }
}

template <class Map>
void MemoryTables::keep(Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  if (found == map.end()) {
    reverses_.emplace_back([&map, key] { map.erase(key); });
  } else if constexpr (requires { found->second; }) {
    reverses_.emplace_back(
        [&map, key, value = found->second] { map.insert_or_assign(key, value); });
  } else {
    reverses_.emplace_back([&map, key] { map.insert(key); });
  }
}

void MemoryTables::keep_value(auto& value) {
  reverses_.emplace_back([&value, before = value] { value = before; });
}

// ---- Looking up ----

MemoryRun* MemoryTables::find(const RunId& run) {
  const auto key = content_.keys.find(run);
  return key == content_.keys.end() ? nullptr : &at(key->second);
}

Result<std::optional<RunRow>> MemoryTables::find_run(const RunId& run) {
  const MemoryRun* found = find(run);
  return found == nullptr ? std::nullopt : std::optional{found->row};
}

Result<std::optional<RunHead>> MemoryTables::find_head(const RunId& run) {
  const MemoryRun* found = find(run);
  if (found == nullptr) {
    return std::nullopt;
  }
  const RunRow& row = found->row;
  return RunHead{content_.keys.at(run), row.term,          row.last_seq,
                 row.last_checksum,     row.summary.state, row.owner};
}

Result<LiveCount> MemoryTables::count_live(const std::string& pipeline) {
  LiveCount count;
  for (auto live = content_.live.lower_bound({pipeline, 0});
       live != content_.live.end() && live->pipeline == pipeline; ++live) {
    ++count.runs;
    count.newest = live->iteration;
  }
  return count;
}

Result<std::optional<RunId>> MemoryTables::find_start_request(const std::string& request_id) {
  const auto found = content_.start_requests.find(request_id);
  return found == content_.start_requests.end() ? std::nullopt
                                                : std::optional{at(found->second).row.run};
}

Result<bool> MemoryTables::knows_inbox_request(RunKey run, const std::string& request_id) {
  return at(run).inbox_requests.contains(request_id);
}

Result<std::vector<EndedRun>> MemoryTables::find_ended(WallTime before, std::size_t limit) {
  std::vector<std::pair<WallTime, EndedRun>> ended;
  for (const auto& [run, key] : content_.keys) {
    const RunRow& row = at(key).row;
    if (is_terminal(row.summary.state) && row.summary.ended_at && *row.summary.ended_at < before &&
        at(key).leftovers.empty()) {
      ended.push_back({*row.summary.ended_at, {key, run, row.definition}});
    }
  }
  // They come in the order of their ids, which decides among those that ended at the same time.
  std::stable_sort(ended.begin(), ended.end(),
                   [](const auto& one, const auto& other) { return one.first < other.first; });
  std::vector<EndedRun> first;
  for (std::size_t i = 0; i < std::min(limit, ended.size()); ++i) {
    first.push_back(std::move(ended[i].second));
  }
  return first;
}

Result<std::uint64_t> MemoryTables::count_events(RunKey run) {
  std::uint64_t events = 0;
  for (const RawPass& pass : at(run).passes) {
    events += stagecall::count_events(pass.events);
  }
  return events;
}

// ---- Runs ----

Result<std::uint64_t> MemoryTables::take_iteration(const std::string& pipeline) {
  if (pipeline.empty()) {
    return broken("a pipeline without a name");
  }
  keep(content_.iterations, pipeline);
  return ++content_.iterations[pipeline];
}

Result<void> MemoryTables::put_definition(const DefinitionHash& hash, const std::string& text) {
  keep(content_.definitions, hash);
  content_.definitions.try_emplace(hash, text);
  return {};
}

Result<RunKey> MemoryTables::insert_run(const RunRow& row) {
  const RunKey key{++content_.last_key};
  keep(content_.keys, row.run);
  content_.keys.emplace(row.run, key);
  reverses_.emplace_back([this, key] { content_.runs.erase(key); });
  content_.runs.emplace(key, MemoryRun{row});
  set_live(row);
  return key;
}

Result<void> MemoryTables::put_start_request(const std::string& request_id, RunKey run) {
  keep(content_.start_requests, request_id);
  content_.start_requests.try_emplace(request_id, run);
  return {};
}

Result<void> MemoryTables::insert_pass(RunKey run, const RawPass& pass) {
  auto& passes = at(run).passes;
  reverses_.emplace_back([&passes, size = passes.size()] { passes.resize(size); });
  passes.push_back(pass);
  return {};
}

Result<void> MemoryTables::set_head(const RunHead& head, const RunSummary& summary) {
  if (summary.passes.tick > kCountMax || summary.passes.event > kCountMax) {
    return broken("a count of passes out of range");
  }
  RunRow& row = at(head.key).row;
  keep_value(row);
  row.last_seq = head.last_seq;
  row.last_checksum = head.last_checksum;
  row.summary = summary;
  set_live(row);
  return {};
}

void MemoryTables::set_live(const RunRow& row) {
  keep(content_.live, row.run);
  if (is_terminal(row.summary.state)) {
    content_.live.erase(row.run);
  } else {
    content_.live.insert(row.run);
  }
}

Result<void> MemoryTables::set_holder(RunKey run, Term term, const std::string& owner) {
  RunRow& row = at(run).row;
  keep_value(row);
  row.term = term;
  row.owner = owner;
  row.parked.clear();
  return {};
}

Result<void> MemoryTables::set_parked(RunKey run, const std::string& reason) {
  RunRow& row = at(run).row;
  keep_value(row);
  row.parked = reason;
  return {};
}

Result<void> MemoryTables::put_output(RunKey run, const NodeOutput& output) {
  if (output.attempt == Attempt{}) {
    return broken("an output without an attempt");
  }
  auto& outputs = at(run).outputs;
  const std::pair key{output.node, output.attempt};
  keep(outputs, key);
  outputs.insert_or_assign(key, output.body);
  return {};
}

Result<void> MemoryTables::copy_output(RunKey from, RunKey into, NodeIndex node) {
  const auto latest = latest_output(at(from), node);
  return latest ? put_output(into, *latest) : Result<void>{};
}

Result<void> MemoryTables::put_leftover(RunKey run, const Leftover& leftover) {
  auto& leftovers = at(run).leftovers;
  const std::pair key{leftover.mark.node, leftover.mark.attempt};
  keep(leftovers, key);
  leftovers.try_emplace(key, leftover);
  return {};
}

Result<void> MemoryTables::delete_leftover(RunKey run, Nonce nonce) {
  auto& leftovers = at(run).leftovers;
  const auto found = std::find_if(leftovers.begin(), leftovers.end(), [nonce](const auto& entry) {
    return entry.second.mark.nonce == nonce;
  });
  if (found != leftovers.end()) {
    keep(leftovers, found->first);
    leftovers.erase(found);
  }
  return {};
}

Result<void> MemoryTables::delete_run(RunKey run) {
  auto& requests = content_.start_requests;
  for (auto request = requests.begin(); request != requests.end();) {
    if (request->second == run) {
      keep(requests, request->first);
      request = requests.erase(request);
    } else {
      ++request;
    }
  }
  const RunId id = at(run).row.run;
  keep(content_.live, id);
  content_.live.erase(id);
  keep(content_.keys, id);
  content_.keys.erase(id);
  // The very element comes back: reverses noted before point into it.
  const auto gone = std::make_shared<decltype(content_.runs)::node_type>();
  reverses_.emplace_back([this, gone] { content_.runs.insert(std::move(*gone)); });
  *gone = content_.runs.extract(run);
  return {};
}

Result<void> MemoryTables::delete_unused_definition(const DefinitionHash& hash) {
  const bool is_used =
      std::any_of(content_.runs.begin(), content_.runs.end(),
                  [&hash](const auto& entry) { return entry.second.row.definition == hash; });
  if (!is_used) {
    keep(content_.definitions, hash);
    content_.definitions.erase(hash);
  }
  return {};
}

// ---- Inbox ----

Result<bool> MemoryTables::insert_inbox(RunKey run, const InboxEntry& entry) {
  MemoryRun& into = at(run);
  if (entry.subject) {
    if (into.inbox_subjects.contains(*entry.subject)) {
      return false;
    }
    keep(into.inbox_subjects, *entry.subject);
    into.inbox_subjects.insert(*entry.subject);
  }
  const std::int64_t id = ++content_.last_inbox_id;
  keep(into.inbox, id);
  into.inbox.emplace(id, entry);
  return true;
}

Result<void> MemoryTables::put_inbox_request(RunKey run, const std::string& request_id) {
  auto& requests = at(run).inbox_requests;
  keep(requests, request_id);
  requests.insert(request_id);
  return {};
}

Result<void> MemoryTables::delete_inbox(RunKey run, std::int64_t id) {
  MemoryRun& from = at(run);
  const auto found = from.inbox.find(id);
  if (found == from.inbox.end()) {
    return {};
  }
  if (const auto& subject = found->second.subject) {
    keep(from.inbox_subjects, *subject);
    from.inbox_subjects.erase(*subject);
  }
  keep(from.inbox, id);
  from.inbox.erase(found);
  return {};
}

Result<void> MemoryTables::delete_whole_inbox(RunKey run) {
  MemoryRun& from = at(run);
  keep_value(from.inbox);
  keep_value(from.inbox_subjects);
  from.inbox.clear();
  from.inbox_subjects.clear();
  return {};
}

}  // namespace stagecall
