// The sink that writes Chrome's trace format to a file.
#include "actors/log.hpp"
#include "formats/chrome_trace.hpp"
#include "messages/limits.hpp"
#include "platform/system_clock.hpp"
#include "platform/whole_file.hpp"
#include "stagecall/trace.hpp"

#include <string>
#include <utility>

namespace stagecall {
namespace {

class ChromeTraceFile final : public TraceSink {
 public:
  ChromeTraceFile(WholeFile file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  std::string place() const override { return path_; }

  void take(const std::vector<TraceEvent>& events) override {
    if (is_full_) {
      return;
    }
    std::string text = text_.text_of(events);
    if (file_.size() + text.size() > kLimits.trace_bytes_max) {
      is_full_ = true;
      text = text_.last_word(trace_now());
    }
    if (text.empty()) {
      return;
    }
    if (const auto written = file_.append(text); !written && !std::exchange(has_failed_, true)) {
      log().warn("trace_not_written error=\"{}\"", written.error().message);
    }
  }

 private:
  WholeFile file_;
  std::string path_;
  ChromeTraceText text_;
  bool is_full_ = false;
  bool has_failed_ = false;  // told once; later events may find room again
};

}  // namespace

Result<std::shared_ptr<TraceSink>> open_chrome_trace(const std::string& path) {
  auto file = WholeFile::open(path, {"{\"traceEvents\":[\n", ",\n", "\n]}\n"});
  if (!file) {
    file.error().message = "trace: " + file.error().message;
    return tl::unexpected<Error>{std::move(file).error()};
  }
  return std::make_shared<ChromeTraceFile>(*std::move(file), path);
}

}  // namespace stagecall
