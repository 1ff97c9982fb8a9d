#include "tests/reference/null_worlds.hpp"

#include <fmt/format.h>

#include <cmath>

#include "host/cascades/fits/trained_table.hpp"
#include "host/ground/base/in_parallel.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora::test {
namespace {

constexpr double kPrice = 50.0, kMeanDollars = 0.001, kMeanQuality = 0.7;
constexpr std::size_t kContext = 6, kFreshPrompts = 4000;

// Prompts differ in how hard they are, so that answers to one prompt go together; which model is asked makes no difference.
TraceTable null_table(const NullCell& cell, std::size_t prompts, std::uint64_t seed) {
  Random random(seed);
  TraceTable out;
  out.source = "null world";
  out.named_prompts = true;
  out.scores = {{"score", {}}};
  for (std::size_t m = 0; m < cell.models; ++m) out.models.push_back(fmt::format("model {}", m + 1));
  for (std::size_t j = 0; j < kContext; ++j)
    out.columns.push_back({fmt::format("x{}", j + 1), PromptColumn::Kind::number, 1, {}, {}});
  for (std::size_t row = 0; row < prompts; ++row) {
    out.prompts.push_back(fmt::format("{}-{}", seed, row));
    for (PromptColumn& column : out.columns) column.numbers.push_back(random.uniform(-1.0, 1.0));
    const double ease = random.uniform(2.0 * kMeanQuality - 1.0, 1.0);
    for (std::size_t m = 0; m < cell.models; ++m) {
      const double quality = random.uniform(0.0, 1.0) < ease ? 1.0 : 0.0;
      out.quality.push_back(random.uniform(0.0, 1.0) < cell.known ? quality : NAN);
      out.cost.push_back(kMeanDollars * random.uniform(0.2, 1.8));
      out.scores[0].values.push_back(random.uniform(0.0, 1.0));
    }
  }
  return out;
}

CascadeFitSettings null_settings(const std::string& kind) {
  CascadeFitSettings out;
  out.aim.value = kPrice;
  out.evaluator = "score";
  out.threads = 1;
  out.other_fits = false;
  out.set_kind(kind);
  if (kind != "thresholds")
    for (std::size_t j = 0; j < kContext; ++j) out.context.push_back(fmt::format("x{}", j + 1));
  return out;
}

// Every answer is worth as much whatever is known of it, and calls are what differs.
double expected_calls(const Cascade& cascade, const NullCell& cell, std::uint64_t seed) {
  const TraceTable fresh = null_table({cell.models, kFreshPrompts}, kFreshPrompts, seed);
  Cascade copy = Cascade::parse(cascade.text(), "null world");
  const Routed routed = run_prompts(copy, cascade_input(copy.options(), fresh, 0.0), all_rows(fresh.rows()));
  double calls = 0.0;
  for (const double of_prompt : routed.calls) calls += of_prompt;
  return calls / static_cast<double>(kFreshPrompts);
}

struct World {
  bool sure = false, gain = false, utility = false;
  double more = 0.0, half_width = 0.0;
};

World world_of(const std::string& kind, const NullCell& cell, std::uint64_t seed) {
  const CascadeFit fit = fit_cascade(null_table(cell, cell.prompts, seed), null_settings(kind));
  const double calls = fit.choice.kind == CascadeKind::single ? 1.0 : expected_calls(*fit.cascade, cell, seed + 1);
  const double gain = -kPrice * kMeanDollars * (calls - 1.0), utility = kMeanQuality - kPrice * kMeanDollars * calls;
  const auto holds = [](const Interval& promised, double truth) {
    constexpr double kRounding = 1e-12;  // of a model's gain over itself
    return promised.low <= truth + kRounding && truth - kRounding <= promised.high;
  };
  const Interval &promised = fit.promise.gain, &worth = fit.promise.utility;
  return {fit.choice.pays || promised.low > 0.0, holds(promised, gain), holds(worth, utility), promised.value - gain,
          0.5 * (promised.high - promised.low)};
}

}  // namespace

std::vector<NullCell> null_cells(const std::string& kind) {
  std::vector<NullCell> out = {{2, 200}, {3, 400}, {5, 400}, {3, 1000}, {3, 3000}};
  if (kind != "indices") out.insert(out.end(), {{2, 4000, 0.05}, {3, 1000, 0.2}});
  return out;
}

NullCount& NullCount::operator+=(const NullCount& other) {
  const double own = static_cast<double>(worlds), others = static_cast<double>(other.worlds), all = own + others;
  bias_error = std::hypot(own * bias_error, others * other.bias_error) / all;
  bias = (own * bias + others * other.bias) / all;
  spread = (own * spread + others * other.spread) / all;
  worlds += other.worlds;
  sure += other.sure;
  gain_covered += other.gain_covered;
  utility_covered += other.utility_covered;
  return *this;
}

NullCount count_null_worlds(const std::string& kind, const NullCell& cell, std::size_t worlds, unsigned threads) {
  std::uint64_t first = 0;  // of kind and cell, so that no two tables are the same
  for (const char letter : kind) first = 31 * first + static_cast<unsigned char>(letter);
  first = (first % 1000 * 100 + cell.models) * 10'000 + cell.prompts + static_cast<std::uint64_t>(100.0 * cell.known);
  std::vector<World> seen(worlds);
  in_parallel(threads, worlds, [&](std::size_t w) { seen[w] = world_of(kind, cell, 1'000'000 * first + 2 * w); });
  NullCount out{kind, cell, worlds};
  double squares = 0.0;
  const double n = static_cast<double>(worlds);
  for (const World& world : seen) {
    out.sure += world.sure;
    out.gain_covered += world.gain;
    out.utility_covered += world.utility;
    out.bias += world.more / n;
    squares += world.more * world.more / n;
    out.spread += world.half_width / n;
  }
  out.bias_error = std::sqrt(std::max(0.0, squares - out.bias * out.bias) / (n - 1.0));
  return out;
}

std::string csv_header() {
  return "kind,models,prompts,known,worlds,sure,gain_covered,utility_covered,bias,bias_error,half_width\n";
}

std::string csv_row(const NullCount& c) {
  const std::string cell =
      c.cell.models == 0 ? "all,all,all" : fmt::format("{},{},{:g}", c.cell.models, c.cell.prompts, c.cell.known);
  return fmt::format("{},{},{},{},{},{},{:.5f},{:.5f},{:.5f}\n", c.kind, cell, c.worlds, c.sure, c.gain_covered,
                     c.utility_covered, c.bias, c.bias_error, c.spread);
}

}  // namespace pandora::test
