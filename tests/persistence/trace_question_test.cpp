#include "persistence/trace_question.hpp"

#include <doctest/doctest.h>

using namespace stagecall;

TEST_CASE("a question about a trace is one line, whatever its file and runs are named") {
  for (const TraceQuestion& question :
       {TraceQuestion{}, TraceQuestion{.wish = TraceWish::stop, .incarnation = "1f"},
        TraceQuestion{.wish = TraceWish::start,
        .incarnation = "1f",
        .file = "/a b/\n%41\xff/t.json",
        .kinds = {"store", "pipeline"},
        .runs = {"kind=x y/1", "\xc3\xa4/22"}}}) {
    const std::string line = line_of(question);
    CAPTURE(line);
    CHECK(line.find('\n') == std::string::npos);
    CHECK(read_trace_question(line) == question);
  }
}

TEST_CASE("an answer about a trace is one line, with the refusal in it") {
  for (const TraceAnswer& answer :
       {TraceAnswer{"r", 7, "1f"},
        TraceAnswer{"a b", 4'000'000, "1f", "/t %.json", "cannot write /t\n: No such file"}}) {
    const std::string line = line_of(answer);
    CAPTURE(line);
    CHECK(line.find('\n') == std::string::npos);
    CHECK(read_trace_answer(line) == answer);
  }
}

TEST_CASE("what is no word about a trace is told apart") {
  for (const std::string line :
       {"", "inspect", "trace", "trace start", "trace begin x y", "trace start 1f /t x=y",
        "trace start 1f /t%4", "traced r 7 1f p"}) {
    CAPTURE(line);
    CHECK_FALSE(read_trace_question(line));
    CHECK_FALSE(read_trace_answer(line));
  }
  CHECK_FALSE(read_trace_answer("traced r 7x 1f p q"));
}
