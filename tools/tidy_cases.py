"""Small trees for `tools/tidy --self-test`: the rule that a tree breaks ("" = none), its files."""

HEADER = "// Says what it is for.\n#pragma once\n"


def body(lines, start="int f() {\n", end="}\n"):
    """A function of so many lines."""
    return start + "  g();\n" * (lines - 2) + end


TRICKY = HEADER + r"""
#define UNBALANCED {
namespace stagecall {
// Never sleep_for(1s); steady_clock::now() and rand() in a comment do no harm.
const char* const kText = "std::this_thread::sleep_for(1s) { rand()";
const char* const kRaw = R"x(" usleep(1); { )x";
constexpr int kMillion = 1'000'000;
constexpr char kBrace = '{';
constexpr int kTable[] = {
""" + "    1,\n" * 80 + r"""};
template <class T, class U = Pair<T, T>>
struct Box : Base<T> {
 public:
  explicit Box(T value) : first_{value}, second_{value, {}} {
    run(value, [&] { return 1; });
  }
""" + "  int x() const { return 1; }\n" * 80 + r"""
  T first_{};
  U second_{};
};
WallTime time(const Clock& clock);
Duration spent = clock.time(0);
}  // namespace stagecall
"""

INITIALISERS = HEADER + (
    "struct Box {\n  explicit Box(int value) : first_{value}, second_{value} {\n"
    + "    g();\n" * 70 + "  }\n  int first_;\n};\n")

CASES = [
    ("", {"core/tricky.hpp": TRICKY}),
    ("", {"core/f.cpp": body(70), "tests/core/f_test.cpp": '#include "core/f.hpp"\n'}),
    ("", {"tests/core/a_test.cpp": 'TEST_CASE("same") {}\n',
          "tests/cli/a_test.cpp": 'TEST_CASE("same") {}\n'}),
    ("", {"persistence/sqlite_db.cpp": '#include "sql/store_sql.hpp"\n#include <sqlite3.h>\n',
          "actors/lock_manager.hpp": HEADER + "#include <caf/actor.hpp>\nclass LockManager;\n"}),

    ("", {f"include/stagecall/{name}{i}.hpp": HEADER
          for name, count in (("a", 12), ("testing/a", 2)) for i in range(count)}),

    ("layer", {"include/stagecall/a.hpp": HEADER + '#include "messages/b.hpp"\n'}),
    ("layer", {"messages/a.hpp": HEADER + '#include "platform/b.hpp"\n'}),
    ("layer", {"core/a.cpp": '#include "persistence/store.hpp"\n'}),
    ("layer", {"executors/a.cpp": '#include "core/graph.hpp"\n'}),
    ("layer", {"actors/a.cpp": '#include "cli/options.hpp"\n'}),
    ("layer", {"executors/a.cpp": '#include "sql/store_sql.hpp"\n'}),
    ("layer", {"executors/a.cpp": '#include "lua/lease_scripts.hpp"\n'}),
    ("layer", {"misplaced/a.cpp": "int x;\n"}),
    ("header-home", {"core/a.cpp": "#include <caf/actor.hpp>\n"}),
    ("header-home", {"core/a.cpp": '#include "messages/run_actor.hpp"\n'}),
    ("header-home", {"core/a.cpp": "#include <mutex>\n"}),
    ("header-home", {"persistence/sqlite_store.cpp": "#include <sqlite3.h>\n"}),
    ("header-home", {"persistence/lease_store.cpp": "#include <hiredis/hiredis.h>\n"}),
    ("header-home", {"actors/a.cpp": "#include <nlohmann/json.hpp>\n"}),
    ("include-path", {"core/a.cpp": '#include "graph.hpp"\n'}),
    ("include-count", {"core/a.cpp": "".join(f'#include "core/a{i}.hpp"\n' for i in range(9))}),

    ("sleep", {"tests/core/a.cpp": "void f() { std::this_thread::sleep_for(1s); }\n"}),
    ("sleep", {"actors/a.cpp": "void f() { ::sleep(1); }\n"}),
    ("clock", {"core/a.cpp": "auto t = std::chrono::steady_clock::now();\n"}),
    ("clock", {"persistence/a.cpp": "auto t = std::time(nullptr);\n"}),
    ("clock", {"executors/a.cpp": "void f() { ::clock_gettime(CLOCK_REALTIME, &t); }\n"}),
    ("", {"tests/core/a.cpp": "std::mt19937 random{1};\nint x = pick(random());\n"}),
    ("random", {"core/a.cpp": "int x = std::rand();\n"}),
    ("random", {"tests/core/a.cpp": "std::random_device device;\n"}),
    ("skipped-test", {"tests/core/a.cpp": 'TEST_CASE("x" * doctest::should_fail()) {}\n'}),
    ("skipped-test", {"tests/core/a.cpp": 'TEST_CASE("x" * doctest::skip()) {}\n'}),
    ("vague-name", {"core/a.cpp": "struct RunInfo {};\n"}),
    ("vague-name", {"core/string_utils.cpp": "int x;\n"}),

    ("function-length", {"core/a.cpp": body(71)}),
    ("function-length", {"core/a.cpp": "namespace n {\n" + body(71) + "}\n"}),
    ("function-length", {"core/a.hpp": INITIALISERS}),
    ("function-length", {"tests/core/a.cpp": body(71, 'TEST_CASE("long") {\n')}),
    ("function-length", {"core/a.cpp": body(72, "template <class T>\nvoid f(T t) {\n  if (t) {\n",
                                            "  }\n}\n")}),
    ("pragma-once", {"core/a.hpp": "// Says what it is for.\nint x;\n"}),
    ("purpose", {"core/a.hpp": "#pragma once\n"}),
    ("purpose", {"core/a.hpp": "// On and on.\n" * 7 + "#pragma once\n"}),
    ("file-length", {"core/a.cpp": "int x;\n" * 501}),
    ("columns", {"core/a.cpp": "// " + "x" * 98 + "\n"}),
    ("words", {"docs/A.md": "TODO: say more\n"}),
    ("machine", {"tools/a": "cd /" + "work/main\n"}),
    ("public-headers", {f"include/stagecall/a{i}.hpp": HEADER for i in range(13)}),
    ("test-name", {"tests/core/a.cpp": 'TEST_CASE("same") {}\nTEST_CASE("sa" "me") {}\n'}),
    ("test-name", {"tests/core/a.cpp": 'TEST_CASE("a; b") {}\n'}),
    ("error-table", {"include/stagecall/error.hpp": HEADER + "enum class ErrorCode { told, new };",
                     "docs/OPERATIONS.md": "| `told` | a | b |\n"}),
    ("exception", {"core/a.cpp": "int x;\n"}),
]
