#include "cli/http_service.hpp"

#include "cli/metrics_text.hpp"
#include "cli/run_json.hpp"
#include "formats/insight_text.hpp"

#include <httplib.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace stagecall::cli {
namespace {

constexpr std::size_t kThreads = 2;
constexpr std::chrono::seconds kPatience{5};
constexpr std::size_t kBodyMax = 1'024;  // nobody needs to send one

struct Address {
  std::string host;
  int port = 0;
};

/// `ADDRESS:PORT`, as the options have checked it.
Address address_of(const std::string& text) {
  const auto colon = text.rfind(':');
  Address address{text.substr(0, colon)};
  std::from_chars(text.data() + colon + 1, text.data() + text.size(), address.port);
  return address;
}

void give(httplib::Response& response, const Json& value) {
  response.set_content(value.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n",
                       "application/json");
}

void refuse(httplib::Response& response, const Error& error) {
  response.status = error.code == ErrorCode::not_found ? 404 : 503;
  give(response, error_json(error));
}

}  // namespace

struct HttpService::Body {
  explicit Body(Engine& asked) : engine(asked) {
    server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server.set_read_timeout(kPatience);
    server.set_write_timeout(kPatience);
    server.set_keep_alive_timeout(kPatience.count());
    server.set_payload_max_length(kBodyMax);
    // Its default would let two processes listen on one port.
    server.set_socket_options([](int socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    server.Get("/health", [this](const auto&, auto& response) { health(response); });
    server.Get("/inspect", [this](const auto&, auto& response) {
      response.set_content(insight_text(engine.inspect()) + "\n", "application/json");
    });
    server.Get("/metrics", [this](const auto&, auto& response) {
      response.set_content(metrics_text(engine.inspect()), "text/plain; version=0.0.4");
    });
    server.Get("/runs", [this](const auto&, auto& response) { runs(response); });
    server.Get("/runs/(.+)", [this](const httplib::Request& request, auto& response) {
      run(request.matches[1], response);
    });
  }
  ~Body() {
    server.stop();
    if (thread.joinable()) {
      thread.join();
    }
  }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  void health(httplib::Response& response) {
    const EngineInsight insight = engine.inspect();
    Json troubles = Json::array();
    for (const ActorInsight& actor : insight.actors) {
      const auto unavailable = actor.counters.find("unavailable_now");
      if (actor.is_busy && actor.kind != "pipeline") {
        troubles.push_back(actor.kind + " does not answer");
      } else if (unavailable != actor.counters.end() && unavailable->second > 0) {
        troubles.push_back("the lease store does not answer");
      }
    }
    response.status = troubles.empty() ? 200 : 503;
    give(response, {{"status", troubles.empty() ? "ok" : "degraded"},
                    {"replica", insight.replica},
                    {"runs", insight.runs},
                    {"troubles", troubles}});
  }

  void runs(httplib::Response& response) {
    const auto all = engine.runs();
    if (!all) {
      refuse(response, all.error());
      return;
    }
    Json runs = Json::array();
    for (const RunStatus& status : *all) {
      runs.push_back(run_json({.status = status}));
    }
    give(response, {{"runs", std::move(runs)}});
  }

  void run(const std::string& text, httplib::Response& response) {
    const auto id = RunId::parse(text);
    const auto status =
        id ? engine.status(*id)
           : Result<RunStatus>{fail(ErrorCode::not_found, "\"" + text + "\" names no run")};
    if (status) {
      give(response, run_json({.status = *status, .quarantined = status->quarantined}));
    } else {
      refuse(response, status.error());
    }
  }

  Engine& engine;
  httplib::Server server;
  std::thread thread;
};

HttpService::HttpService(std::unique_ptr<Body> body) : body_(std::move(body)) {}
HttpService::~HttpService() = default;

Result<std::unique_ptr<HttpService>> HttpService::open(const Session& session, Engine& engine) {
  if (session.options.http.empty()) {
    return nullptr;
  }
  Address address = address_of(session.options.http);
  auto body = std::make_unique<Body>(engine);
  errno = 0;
  if (address.port == 0) {
    address.port = body->server.bind_to_any_port(address.host);
  } else if (!body->server.bind_to_port(address.host, address.port)) {
    address.port = -1;
  }
  if (address.port < 0) {
    return fail(ErrorCode::invalid_argument,
                "cannot listen on " + session.options.http +
                    (errno == 0 ? std::string{} : ": " + std::string{std::strerror(errno)}));
  }
  body->thread = std::thread{[&server = body->server] { server.listen_after_bind(); }};
  while (!body->server.is_running()) {
    std::this_thread::yield();  // before that it would not hear that it is to stop
  }
  session.output.note("answers http://" + address.host + ":" + std::to_string(address.port));
  return std::unique_ptr<HttpService>{new HttpService{std::move(body)}};
}

}  // namespace stagecall::cli
