#include "tests/formats/refusals.hpp"

#include <random>
#include <string>

using namespace stagecall;
using namespace std::chrono_literals;

namespace {

/// Pipelines of every shape that may be written, from a seed.
class SpecSource {
 public:
  explicit SpecSource(std::uint64_t seed) : random_(seed) {}

  PipelineSpec pipeline() {
    PipelineSpec spec;
    spec.name = text();
    spec.on_failure = maybe() ? OnFailure::stop : OnFailure::go_on;
    spec.concurrent_runs = number(1, 1000);
    spec.timeout = maybe() ? std::optional{duration(1)} : std::nullopt;
    spec.params = params();
    for (std::uint32_t i = number(1, 6); i > 0; --i) {
      spec.nodes.push_back(node(spec.nodes));
    }
    return spec;
  }

 private:
  std::uint32_t number(std::uint32_t from, std::uint32_t to) {
    return std::uniform_int_distribution{from, to}(random_);
  }
  bool maybe() { return number(0, 1) == 1; }
  double real(double from, double to) { return std::uniform_real_distribution{from, to}(random_); }
  Duration duration(std::int64_t at_least) {
    const std::int64_t longest = maybe() ? 100'000 : 315'360'000'000;
    return Duration{std::uniform_int_distribution{at_least, longest}(random_)};
  }
  std::string text() {
    static const std::string pieces[] = {"a", "Z9", "é", "\U0001f680", "\"", "\\", "/", "~", " "};
    std::string made = std::to_string(++texts_);
    for (std::uint32_t i = number(0, 5); i > 0; --i) {
      made += pieces[number(0, 8)];
    }
    return made;
  }
  std::string params() {
    return maybe() ? ""
                   : R"({"b":[1,2.50,-3e2,"\u0001\n"],"a":{},")" + std::to_string(number(0, 9)) +
                         R"(":null})";
  }
  Action action() {
    switch (number(0, 3)) {
      case 0: return JoinAction{};
      case 1: return TaskAction{text()};
      case 2:
        return CommandAction{{text(), "", "line\n\x01\x7f", text()},
                             maybe() ? CommandExecutor::slurm : CommandExecutor::process};
      default: return ExternalAction{};
    }
  }
  RetryPolicy retry() {
    return {.attempts_max = number(1, 1000),
            .lost_max = number(0, 1000),
            .delay = duration(1),
            .factor = maybe() ? real(1, 100) : 2,
            .delay_max = duration(1),
            .jitter = maybe() ? real(0, 1) : 1e-300};
  }
  NodeSpec node(const std::vector<NodeSpec>& before) {
    NodeSpec made{.id = text()};
    for (std::uint32_t i = before.empty() ? 0 : number(0, 3); i > 0; --i) {
      made.after.push_back(before[number(0, static_cast<std::uint32_t>(before.size() - 1))].id);
    }
    made.action = action();
    made.params = params();
    if (maybe()) {
      made.env = {{text(), text()}, {text(), ""}};
      made.cwd = text();
      made.timeout = duration(1);
      made.retry = retry();
    }
    made.trigger = static_cast<Trigger>(number(0, 2));
    made.priority = static_cast<std::int32_t>(number(0, 200)) - 100;
    made.grace = maybe() ? duration(0) : 10s;
    made.lost_after = maybe() ? duration(1) : 30s;
    made.slots = number(1, 1000);
    return made;
  }

  std::mt19937_64 random_;
  int texts_ = 0;
};

}  // namespace

TEST_CASE("canonical text leaves out defaults and blanks and keeps its member order") {
  CHECK(write_pipeline({.name = "p", .nodes = {{.id = "a"}}}) ==
        R"({"pipeline":"p","nodes":[{"id":"a"}]})");
  const PipelineSpec spec{
      .name = "p\"q",
      .on_failure = OnFailure::stop,
      .concurrent_runs = 2,
      .timeout = 90min,
      .params = R"({"x":1})",
      .nodes = {{.id = "a",
                 .action = CommandAction{{"sh", "-c", "a\nb"}, CommandExecutor::slurm},
                 .env = {{"B", "2"}, {"A", "1"}},
                 .cwd = "/",
                 .timeout = 1s,
                 .retry = {.attempts_max = 2, .factor = 1.5, .jitter = 0.1},
                 .trigger = Trigger::any_failed,
                 .priority = -3,
                 .grace = 0s,
                 .lost_after = 1ms,
                 .slots = 2},
                {.id = "b", .after = {"a"}, .action = TaskAction{"t"}, .params = "{}"},
                {.id = "c", .action = ExternalAction{}}}};
  CHECK(write_pipeline(spec) ==
        R"({"pipeline":"p\"q","on_failure":"stop","concurrent_runs":2,"timeout":"1h30m",)"
        R"("params":{"x":1},"nodes":[{"id":"a","command":["sh","-c","a\nb"],"executor":"slurm",)"
        R"("env":{"A":"1","B":"2"},"cwd":"/","timeout":"1s",)"
        R"("retry":{"max_attempts":2,"factor":1.5,"jitter":0.1},"trigger":"any_failed",)"
        R"("priority":-3,"grace":"0ms","lost_after":"1ms","slots":2},)"
        R"({"id":"b","after":["a"],"task":"t","params":{}},{"id":"c","external":true}]})");
}

TEST_CASE("a value of an enum that is none of its own is refused, and read from nowhere") {
  const auto refused = [](const auto& spoil) {
    PipelineSpec spec{.name = "p", .nodes = {{.id = "a", .action = CommandAction{{"true"}}}}};
    spoil(spec);
    const auto checked = Pipeline{std::move(spec)}.check();
    REQUIRE_FALSE(checked);
    REQUIRE(checked.error().problems.size() == 1);
    return checked.error().problems.front().value;
  };
  CHECK(refused([](PipelineSpec& spec) { spec.nodes[0].trigger = static_cast<Trigger>(77); }) ==
        "77");
  CHECK(refused([](PipelineSpec& spec) { spec.on_failure = static_cast<OnFailure>(9); }) == "9");
  CHECK(refused([](PipelineSpec& spec) {
          spec.nodes[0].action = CommandAction{{"true"}, static_cast<CommandExecutor>(200)};
        }) == "200");
}

TEST_CASE("what is written reads back the same, and is written the same again") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    const PipelineSpec spec = SpecSource{seed}.pipeline();
    const std::string text = write_pipeline(spec);
    CAPTURE(text);
    const auto read = read_pipeline(text, testing::kOptions);
    INFO((read ? std::string{} : read.error().message));
    REQUIRE(read.has_value());
    REQUIRE((*read)->spec() == spec);
    REQUIRE(write_pipeline((*read)->spec()) == text);
  }
}
