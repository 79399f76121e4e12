// W11: the fan of W2 and the runs of W3 at 1, 3, 10 and 30 times their size: seconds = c *
// n^exponent.
#include "bench/catalogue.hpp"
#include "bench/engine_runs.hpp"

#include <cmath>
#include <utility>

namespace stagecall::bench {
namespace {

/// The slope of log seconds over log nodes, by least squares.
double fitted_exponent(const std::vector<Measurement>& all) {
  double x_mean = 0;
  double y_mean = 0;
  for (const Measurement& each : all) {
    x_mean += std::log(static_cast<double>(each.nodes)) / static_cast<double>(all.size());
    y_mean += std::log(each.seconds) / static_cast<double>(all.size());
  }
  double both = 0;
  double square = 0;
  for (const Measurement& each : all) {
    const double x = std::log(static_cast<double>(each.nodes)) - x_mean;
    both += x * (std::log(each.seconds) - y_mean);
    square += x * x;
  }
  return both / square;
}

Measurements measure_growth(const std::string& folder, std::uint64_t n,
                            Workload (*workload_of)(std::uint64_t)) {
  std::vector<Measurement> all;
  for (const std::uint64_t times : {1, 3, 10, 30}) {
    EngineOptions options = usual_options(folder);
    options.store = folder + "/" + std::to_string(times) + ".db";
    auto engine = open_engine(options);
    if (!engine) {
      return tl::unexpected<Error>{engine.error()};
    }
    auto measured = run_all(*engine, workload_of(n * times));
    if (!measured) {
      return tl::unexpected<Error>{measured.error()};
    }
    measured->part = measured->workload;
    measured->workload = "W11";
    all.push_back(*std::move(measured));
  }
  const double exponent = fitted_exponent(all);
  for (Measurement& each : all) {
    each.more["exponent"] = exponent;
  }
  return all;
}

}  // namespace

std::vector<Case> growth_cases(const Request& request) {
  return {
      [n = request.size(10'000)](const std::string& folder) {
        return measure_growth(folder, n, fan);
      },
      [n = request.size(1'000)](const std::string& folder) {
        return measure_growth(folder, n, small_runs);
      },
  };
}

}  // namespace stagecall::bench
