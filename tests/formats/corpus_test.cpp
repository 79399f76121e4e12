#include "tests/support/corpus.hpp"

#include "core/utf8.hpp"
#include "formats/json_reader.hpp"
#include "tests/formats/refusals.hpp"
#include "tests/support/small_stack.hpp"

#include <map>
#include <random>
#include <set>
#include <string>

using namespace stagecall;
using testing::holds;

namespace {

/// All that a refusal can show.
std::string shown(const Error& error) {
  std::string text = error.message + '\n';
  for (const Problem& problem : error.problems) {
    text += problem.where + ' ' + problem.value + ' ' + problem.message + '\n';
  }
  for (const std::string& id : error.cycle) {
    text += id + '\n';
  }
  return text;
}

struct Shape {
  std::size_t nodes, edges, depth;
  friend bool operator==(const Shape&, const Shape&) = default;
};

Shape shape_of(const std::filesystem::path& path) {
  const std::string bytes = testing::read_file(path);
  Result<std::shared_ptr<const Definition>> read;
  testing::on_small_stack([&] { read = read_pipeline(bytes, {.stem = path.stem().string()}); });
  INFO(path.string(), (read ? std::string{} : shown(read.error())));
  REQUIRE(read.has_value());
  const Definition& definition = **read;
  CHECK(definition.spec().name == path.stem().string());
  return {definition.graph().size(), definition.graph().edges(), definition.graph().depth()};
}

/// Whatever the bytes: a pipeline, or a refusal that is fit to be shown.
void check_survives(std::string_view bytes) {
  const auto read = read_pipeline(bytes, testing::kOptions);
  if (!read) {
    REQUIRE(read.error().code == ErrorCode::invalid_pipeline);
    REQUIRE_FALSE(read.error().problems.empty());
    REQUIRE_FALSE(find_invalid_utf8(shown(read.error())));
  }
}

const std::string kSmall =
    "{\"pipeline\":\"n\\u00e9\",\"timeout\":\"6h\",\"params\":{\"d\":[1.5,-2,true,null]},\n"
    "\"nodes\":[{\"id\":\"é\U0001f680\",\"command\":[\"c\",\"\\ud83d\\ude80\"],\"env\":{\"L\":"
    "\"C\"},"
    "\"retry\":{\"max_attempts\":3,\"factor\":2.5e0}},{\"id\":\"b\",\"after\":[\"é\U0001f680\"]}]}";

}  // namespace

TEST_CASE("I1: every input of the corpus is read or refused as its manifest says") {
  const auto folder = testing::corpus_folder();
  if (!folder) {
    return;
  }
  const testing::MadeCorpus corpus{*folder};
  const auto inputs = corpus.inputs();
  CHECK(inputs.size() > 40);
  for (const testing::CorpusInput& input : inputs) {
    CAPTURE(input.path.filename().string());
    const auto read = read_pipeline(testing::read_file(input.path), testing::kOptions);
    CHECK(read.has_value() == input.is_accepted);
    if (read) {
      continue;
    }
    CHECK(read.error().code == ErrorCode::invalid_pipeline);
    const std::string text = shown(read.error());
    CAPTURE(text);
    CHECK(text.size() < 4'000);
    for (const std::string& name : input.names) {
      CHECK_MESSAGE(holds(text, name), name);
    }
    for (const std::string& name : input.silent) {
      CHECK_MESSAGE(!holds(text, name), name);
    }
  }
}

TEST_CASE("I1: the corpus graphs have their shapes, the large cycle is told whole") {
  const auto folder = testing::corpus_folder();
  if (!folder) {
    return;
  }
  const testing::MadeCorpus corpus{*folder};
  CHECK(shape_of(corpus.graph("chain_1k")) == Shape{1'000, 999, 1'000});
  CHECK(shape_of(corpus.graph("chain_10k")) == Shape{10'000, 9'999, 10'000});
  CHECK(shape_of(corpus.graph("fan_1_10k_1")) == Shape{10'002, 20'000, 3});
  CHECK(shape_of(corpus.graph("layers_20x100_full")) == Shape{2'000, 190'000, 20});
  CHECK(shape_of(corpus.graph("ladder_2x60")) == Shape{120, 236, 60});
  CHECK(shape_of(corpus.graph("wide_100k")) == Shape{100'000, 0, 1});

  const auto cycle =
      read_pipeline(testing::read_file(corpus.graph("cycle_10k")), testing::kOptions);
  REQUIRE_FALSE(cycle.has_value());
  const auto& ids = cycle.error().cycle;
  CHECK(ids.size() == 10'000);
  CHECK(std::set<std::string>(ids.begin(), ids.end()).size() == 10'000);
  CHECK(cycle.error().message.size() < 1'000);
}

TEST_CASE("I2: recorded workflows are read with the nodes and edges of their table") {
  const auto folder = testing::corpus_folder();
  if (!folder) {
    return;
  }
  const std::map<std::string, Shape> table{
      {"helloworld-forkjoin-10-chameleon", {10, 16, 3}},
      {"sarek-dirt02-001", {26, 50, 10}},
      {"fetchngs-dirt02-001", {43, 28, 3}},
      {"montage-chameleon-2mass-01d-001", {103, 231, 8}},
      {"bwa-chameleon-small-001", {104, 400, 3}},
      {"1000genome-chameleon-22ch-250k-001", {902, 1'166, 3}},
      {"bwa-chameleon-large-001", {1'004, 4'000, 3}},
      {"seismology-chameleon-1100p-001", {1'101, 1'100, 2}},
  };
  for (const auto& [name, shape] : table) {
    CAPTURE(name);
    CHECK(shape_of(*folder / "wfinstances" / (name + ".json")) == shape);
  }
}

TEST_CASE("a file cut at any byte is refused") {
  CHECK(read_pipeline(kSmall, testing::kOptions).has_value());
  for (std::size_t size = 0; size < kSmall.size(); ++size) {
    CAPTURE(size);
    const std::string_view cut = std::string_view{kSmall}.substr(0, size);
    check_survives(cut);
    CHECK_FALSE(read_pipeline(cut, testing::kOptions).has_value());
  }
}

TEST_CASE("a file with changed, doubled or missing bytes is read or refused, never worse") {
  constexpr std::uint64_t kSeed = 20261130;
  CAPTURE(kSeed);
  std::mt19937_64 random{kSeed};
  const auto below = [&random](std::size_t bound) { return random() % bound; };
  constexpr std::string_view kTelling =
      "{}[]\",:\\0\x01\xff\xc3"
      "e-.tnu";
  for (int round = 0; round < 20'000; ++round) {
    CAPTURE(round);
    std::string bytes = kSmall;
    for (std::size_t change = 1 + below(4); change > 0; --change) {
      const std::size_t at = below(bytes.size());
      switch (below(4)) {
        case 0: bytes[at] = static_cast<char>(below(256)); break;
        case 1: bytes[at] = kTelling[below(kTelling.size())]; break;
        case 2: bytes.erase(at, 1 + below(8)); break;
        default: bytes.insert(at, bytes.substr(below(bytes.size()), 1 + below(16))); break;
      }
    }
    check_survives(bytes);
  }
}
