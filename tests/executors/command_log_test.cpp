// What is kept of a command's output.
#include "messages/limits.hpp"
#include "tests/executors/command_fixture.hpp"
#include "tests/support/eventually.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

using namespace stagecall;
using namespace stagecall::testing;

namespace {

/// The sizes of all logs below the folder.
std::uintmax_t log_size_below(const std::string& folder) {
  std::uintmax_t size = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{folder}) {
    if (entry.path().filename() == "log") {
      size += entry.file_size();
    }
  }
  return size;
}

constexpr std::uint64_t kKept = kLimits.output_head_bytes + kLimits.output_tail_bytes;

}  // namespace

TEST_CASE_FIXTURE(CommandFixture, "X5: all bytes are kept as they are, of both streams in order") {
  const AttemptKey key = start(shell(R"(printf 'a\000\377\n'; printf '\200b' >&2; printf c)"));
  CHECK(end_of(key).outcome == exited(0));
  const CommandLog kept = log_of(key);
  CHECK(kept.head == std::string("a\0\xff\n\x80"
                                 "bc",
                                 7));
  CHECK(kept.tail.empty());
  CHECK(kept.bytes_left_out == 0);
}

TEST_CASE_FIXTURE(CommandFixture,
                  "X1: of 100 MB on stdout, stderr and both, head and tail are kept") {
  constexpr std::uint64_t kBytes = 104'857'600;
  const std::string flood = "head -c 104857600 /dev/zero";
  const struct {
    std::string script;
    std::uint64_t bytes;
  } cases[] = {
      {flood, kBytes}, {flood + " >&2", kBytes}, {flood + "; " + flood + " >&2", 2 * kBytes}};
  for (const auto& each : cases) {
    CAPTURE(each.script);
    const AttemptKey key = start(shell("printf first; " + each.script + "; printf last"));
    CHECK(end_of(key).outcome == exited(0));
    const CommandLog kept = log_of(key);
    CHECK(kept.head.size() == kLimits.output_head_bytes);
    CHECK(kept.head.starts_with(std::string("first\0", 6)));
    CHECK(kept.tail.size() == kLimits.output_tail_bytes);
    CHECK(kept.tail.ends_with(std::string("\0last", 5)));
    CHECK(kept.bytes_left_out == each.bytes + 9 - kKept);
  }
  CHECK(log_size_below(folder) == 3 * (kKept + 8));
}

TEST_CASE_FIXTURE(CommandFixture,
                  "output of exactly head and tail is whole, one more byte leaves one out") {
  for (const std::uint64_t extra : {0, 1}) {
    const std::string size = std::to_string(kKept + extra - 2);
    const AttemptKey key = start(shell("printf a; head -c " + size + " /dev/zero; printf z"));
    CHECK(end_of(key).outcome == exited(0));
    const CommandLog kept = log_of(key);
    CHECK(kept.head.front() == 'a');
    CHECK(kept.tail.back() == 'z');
    CHECK(kept.head.size() + kept.tail.size() == kKept);
    CHECK(kept.bytes_left_out == extra);
  }
}

TEST_CASE_FIXTURE(CommandFixture,
                  "the log of a running command can be read, a silent one has none") {
  const AttemptKey silent = start(command({"true"}));
  CHECK(end_of(silent).outcome == exited(0));
  const auto none = read_command_log(folder, silent);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::not_found);

  const AttemptKey endless = start(command({"yes"}));
  CHECK(eventually([&] {
    const auto kept = read_command_log(folder, endless);
    return kept && kept->bytes_left_out > 4 * kKept;
  }));
  const CommandLog kept = log_of(endless);
  CHECK(kept.head.find_first_not_of("y\n") == std::string::npos);
  CHECK(kept.tail.find_first_not_of("y\n") == std::string::npos);
  CHECK(kept.tail.find("yy") == std::string::npos);
  CHECK(kept.tail.find("\n\n") == std::string::npos);
  executor->cancel({{endless, CancelReason::stop, 10s}});
  CHECK(end_of(endless).outcome.kind == OutcomeKind::stopped);
  CHECK(log_size_below(folder) == kKept + 8);
}

TEST_CASE_FIXTURE(CommandFixture, "after the acknowledgement only the log stays") {
  const AttemptKey loud = start(shell("echo x; echo 1 > $STAGECALL_OUTPUT"));
  const AttemptKey silent = start(command({"true"}));
  end_of(loud);
  end_of(silent);
  executor->acknowledge({loud, silent});
  executor->close(10s);
  std::size_t files = 0;
  std::size_t folders = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{folder + "/attempts"}) {
    ++(entry.is_directory() ? folders : files);
  }
  CHECK(files == 1);
  CHECK(folders == 2);
  CHECK(log_of(loud).head == "x\n");
}
