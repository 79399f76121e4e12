// stagecall: parses its command line and dispatches.
#include "cli/dispatch.hpp"

int main(int argc, char** argv) {
  return static_cast<int>(stagecall::cli::dispatch(argc, argv));
}
