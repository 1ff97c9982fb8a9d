// How long a cascade is fitted on a table with texts and a judge: processor time of all threads.
#include <benchmark/benchmark.h>

#include <cmath>
#include <random>

#include "host/cascades/fits/fit_cascade.hpp"

namespace pandora {
namespace {

// Made up: texts of some 36 words on twelve topics, answers that are right or wrong by topic and hardness.
TraceTable made_up_table(std::size_t rows, std::size_t models) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  TraceTable table;
  for (std::size_t m = 0; m < models; ++m) table.models.push_back("m" + std::to_string(m));
  table.scores.push_back({"score", {}});
  PromptColumn prompt{"prompt", PromptColumn::Kind::text, 1, {}, {}};
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t topic = random() % 12, words = 12 + random() % 48;
    std::string text;
    for (std::size_t k = 0; k < words; ++k) {
      const bool common = unit(random) < 0.5;
      const double place = unit(random);
      text += common ? "common" + std::to_string(random() % 14) + " "
                     : "t" + std::to_string(topic) + "w" + std::to_string(static_cast<int>(60 * place * place)) + " ";
    }
    prompt.texts.push_back(text + std::to_string(row));
    table.prompts.push_back(std::to_string(row));
    const double hardness = normal(random);
    for (std::size_t m = 0; m < models; ++m) {
      const double share = static_cast<double>(m) / static_cast<double>(models - 1),
                   z = -1.2 + 2.6 * share - 1.1 * hardness + 0.6 * std::sin(static_cast<double>(topic * (m + 1)));
      const bool right = unit(random) < 1.0 / (1.0 + std::exp(-z));
      table.quality.push_back(right ? 1.0 : 0.0);
      table.cost.push_back(2e-4 * std::pow(100.0, share) * std::exp(0.3 * normal(random)));
      table.scores[0].values.push_back(1.0 / (1.0 + std::exp(-(right ? 1.5 : -1.5) - 1.2 * normal(random))));
    }
  }
  table.columns.push_back(std::move(prompt));
  table.text_column = 0;
  return table;
}

void FitCascade(benchmark::State& state) {
  const TraceTable table =
      made_up_table(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  CascadeFitSettings settings;
  settings.aim.value = 20.0;
  settings.evaluator = "score";
  settings.context = {"text:16"};
  for (auto _ : state) benchmark::DoNotOptimize(fit_cascade(table, settings));
}
BENCHMARK(FitCascade)
    ->Args({10'000, 4})
    ->Args({40'000, 11})
    ->ArgNames({"prompts", "models"})
    ->Unit(benchmark::kSecond)
    ->MeasureProcessCPUTime()
    ->Iterations(1);

}  // namespace
}  // namespace pandora
