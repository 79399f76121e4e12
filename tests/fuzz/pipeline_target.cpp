// The bytes are a pipeline file.
#include "tests/fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  stagecall::fuzzing::judge_reading({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
