// What `--http ADDRESS:PORT` serves: questions to one engine, answered as JSON, and its metrics.
// Reads only; whoever reaches the address may ask.
#pragma once

#include "cli/session.hpp"
#include "stagecall/engine.hpp"

#include <memory>
#include <optional>
#include <string>

namespace stagecall::cli {

/// Serves on threads of its own until destroyed. The engine and the session outlive it.
class HttpService {
 public:
  /// Listens where the options say; none: nowhere. invalid_argument: it cannot listen there.
  static Result<std::unique_ptr<HttpService>> open(const Session& session, Engine& engine);
  ~HttpService();
  HttpService(const HttpService&) = delete;
  HttpService& operator=(const HttpService&) = delete;

 private:
  struct Body;
  explicit HttpService(std::unique_ptr<Body> body);

  std::unique_ptr<Body> body_;
};

}  // namespace stagecall::cli
