// How long a cascade that runs takes for a request: begin, the calls, deploy and feedback together; and how long a store's
// begin and next take while others tell it what it learns from.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <vector>

#include "pandora/cascade.hpp"
#include "pandora/store.hpp"

namespace pandora {
namespace {

CascadeOptions options_of(int models, int m, const LaneSpec& rules) {
  CascadeOptions options;
  for (int a = 0; a < models; ++a) options.models.push_back("model" + std::to_string(a));
  options.price = 1.0;
  options.rules = rules;
  options.evaluator = rules.learns_reward() ? "score" : "quality";
  options.index_features = m;
  return options;
}

// Quantiles over the requests of one cascade that learns from nothing; `max` is that of a request that brings a refit.
void requests(benchmark::State& state, const LaneSpec& rules) {
  const int models = static_cast<int>(state.range(0)), m = static_cast<int>(state.range(1)), count = 5000;
  std::mt19937_64 random(7);
  std::uniform_real_distribution<float> context(-1.0f, 1.0f), unit(0.0f, 1.0f);
  std::vector<float> psi(static_cast<std::size_t>(m), 1.0f);
  std::vector<double> times;
  double calls = 0.0;
  for (auto _ : state) {
    Cascade cascade(options_of(models, m, rules));
    for (int k = 0; k < count; ++k) {
      for (std::size_t j = 1; j < psi.size(); ++j) psi[j] = context(random);
      const auto start = std::chrono::steady_clock::now();
      const std::uint64_t request = cascade.begin(psi);
      while (const auto model = cascade.next(request)) cascade.observe(request, *model, {0.02, {unit(random)}});
      cascade.deploy(request);
      cascade.feedback(request, unit(random));
      times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    }
    calls += static_cast<double>(cascade.counts().calls) / count;
  }
  std::sort(times.begin(), times.end());
  const auto quantile = [&times](double share) { return times[static_cast<std::size_t>(share * (times.size() - 1))]; };
  state.counters["p50_us"] = quantile(0.5);
  state.counters["p99_us"] = quantile(0.99);
  state.counters["max_us"] = times.back();
  state.counters["calls"] = calls / static_cast<double>(state.iterations());
}

// 2,000 requests, a hundred a second, of a store whose refits are made beside calls or not; the times of begin and next.
void store(benchmark::State& state, const LaneSpec& rules) {
  const int models = static_cast<int>(state.range(0)), m = static_cast<int>(state.range(1));
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "pandora_bench_store";
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> context(-1.0, 1.0), unit(0.0, 1.0);
  std::vector<double> times;
  for (auto _ : state) {
    std::filesystem::remove_all(folder);
    Store store({.folder = folder,
                 .cascade = {},
                 .text = Cascade(options_of(models, m, rules)).text(),
                 .beside = state.range(2) != 0});
    const auto ask = [&](const nlohmann::json& call) { return nlohmann::json::parse(store.call(call.dump())); };
    const auto timed = [&](const nlohmann::json& call) {
      const std::string line = call.dump();
      const auto start = std::chrono::steady_clock::now();
      const std::string answer = store.call(line);
      times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
      return nlohmann::json::parse(answer);
    };
    std::jthread teller;  // of the request before
    for (int k = 0; k < 2000; ++k) {
      const auto due = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
      std::vector<double> psi(static_cast<std::size_t>(m), 1.0);
      for (std::size_t j = 1; j < psi.size(); ++j) psi[j] = context(random);
      const nlohmann::json begun = timed({{"op", "begin"}, {"psi", psi}}), request = begun["request"];
      (void)timed({{"op", "next"}, {"request", request}});
      for (nlohmann::json model = begun["next"]; !model.is_null();)
        model = ask({{"op", "observe"},
                     {"request", request},
                     {"model", model},
                     {"dollars", 0.02},
                     {"score", unit(random)}})["next"];
      const double quality = unit(random);
      teller = std::jthread([&, request, quality] {
        (void)ask({{"op", "deploy"}, {"request", request}});
        (void)ask({{"op", "feedback"}, {"request", request}, {"quality", quality}});
      });
      std::this_thread::sleep_until(due);
    }
  }
  std::filesystem::remove_all(folder);
  std::sort(times.begin(), times.end());
  state.counters["p50_us"] = times[times.size() / 2];
  state.counters["p99_us"] = times[times.size() * 99 / 100];
  state.counters["max_us"] = times.back();
}

void store_shapes(benchmark::internal::Benchmark* benchmark) {
  for (const std::int64_t beside : {1, 0}) benchmark->Args({3, 385, beside})->Args({16, 385, beside});
  benchmark->ArgNames({"A", "m", "beside"})->Unit(benchmark::kMillisecond)->Iterations(1);
}
BENCHMARK_CAPTURE(store, dow / known, dow_rules(false, 0.1, 0.0))->Apply(store_shapes);
BENCHMARK_CAPTURE(store, dow / unknown, dow_rules(true, 0.1, 0.1))->Apply(store_shapes);

void shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Args({3, 101})->Args({16, 101})->ArgNames({"A", "m"})->Unit(benchmark::kMillisecond)->Iterations(1);
}
BENCHMARK_CAPTURE(requests, dow / known, dow_rules(false, 0.1, 0.0))->Apply(shapes);
BENCHMARK_CAPTURE(requests, dow / unknown, dow_rules(true, 0.1, 0.1))->Apply(shapes);
BENCHMARK_CAPTURE(requests, shrunk_weitzman / unknown, shrunk_rules(true, 0.2))->Apply(shapes);

}  // namespace
}  // namespace pandora
