// How long a cascade that runs takes for a request: begin, the calls, deploy and feedback together.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

#include "pandora/cascade.hpp"

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

void shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Args({3, 101})->Args({16, 101})->ArgNames({"A", "m"})->Unit(benchmark::kMillisecond)->Iterations(1);
}
BENCHMARK_CAPTURE(requests, dow / known, dow_rules(false, 0.1, 0.0))->Apply(shapes);
BENCHMARK_CAPTURE(requests, dow / unknown, dow_rules(true, 0.1, 0.1))->Apply(shapes);
BENCHMARK_CAPTURE(requests, shrunk_weitzman / unknown, shrunk_rules(true, 0.2))->Apply(shapes);

}  // namespace
}  // namespace pandora
