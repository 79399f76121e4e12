// A text file that grows by parts and ends in the same words after each of them, so that whoever
// reads it meanwhile, or after a crash, finds it whole. While it grows, blanks stand behind its
// end: a part is written over them, so that the size that a reader has seen stays right.
#pragma once

#include "platform/unique_fd.hpp"
#include "stagecall/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace stagecall {

/// Parts are written in one call each. Who reads the file in several is out of luck if a part comes
/// in between; a kill within the microseconds of the call may cut it short.
class WholeFile {
 public:
  /// How the file begins, what stands between two parts, how it ends.
  struct Frame {
    std::string begin;
    std::string between;
    std::string end;
  };

  /// Replaces what was there by an empty frame. invalid_argument: it cannot be written, is no
  /// regular file, or somebody else writes it.
  static Result<WholeFile> open(const std::string& path, Frame frame);
  WholeFile(WholeFile&&) = default;
  WholeFile& operator=(WholeFile&&) = delete;
  /// Takes the blanks away.
  ~WholeFile();

  /// In one write, behind what is there. store_unavailable: it is as it was.
  Result<void> append(std::string_view part);
  std::uint64_t size() const { return size_; }

 private:
  WholeFile(UniqueFd file, std::string path, Frame frame)
      : file_(std::move(file)), path_(std::move(path)), frame_(std::move(frame)) {}
  Result<void> put(const std::string& text, std::uint64_t at);
  Result<void> make_room(std::uint64_t end);

  UniqueFd file_;
  std::string path_;
  Frame frame_;
  std::uint64_t size_ = 0;  // without the blanks
  std::uint64_t room_ = 0;  // with them
  bool has_parts_ = false;
};

}  // namespace stagecall
