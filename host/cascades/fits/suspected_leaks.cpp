// A context that says what only the outcomes can have told.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "host/cascades/fits/fit_cascade.hpp"

namespace pandora {
namespace {

// By row and model: whether the answer is the best one.
std::vector<char> best_answers_of(const TraceTable& table, double price) {
  const std::size_t models = table.models.size();
  const Outcomes outcomes{models, table.quality, table.quality, table.cost};
  std::vector<char> out(table.quality.size());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto worth = [&](std::size_t m) { return outcomes.utility(row * models + m, price); };
    double best = worth(0);
    for (std::size_t m = 1; m < models; ++m) best = std::max(best, worth(m));
    for (std::size_t m = 0; m < models; ++m) out[row * models + m] = worth(m) == best;
  }
  return out;
}

// The share of rows whose best model is the one that is best most often where the value is the same, in other folds.
double share_told(const std::vector<std::string>& value, const std::vector<char>& best, std::size_t models) {
  std::map<std::string, std::vector<double>> all;  // how often each model is the best one; also by fold
  std::vector<std::map<std::string, std::vector<double>>> in(kCascadeFolds);
  const auto count = [&](std::vector<double>& counts, std::size_t row) {
    counts.resize(models);
    for (std::size_t m = 0; m < models; ++m) counts[m] += best[row * models + m];
  };
  for (std::size_t row = 0; row < value.size(); ++row) {
    count(all[value[row]], row);
    count(in[row % kCascadeFolds][value[row]], row);
  }
  double right = 0.0;
  for (std::size_t row = 0; row < value.size(); ++row) {
    std::vector<double> others = all[value[row]];
    for (std::size_t m = 0; m < models; ++m) others[m] -= in[row % kCascadeFolds][value[row]][m];
    const auto most = std::max_element(others.begin(), others.end());
    // A value that other folds do not have tells nothing.
    right += *most > 0.0 && best[row * models + static_cast<std::size_t>(most - others.begin())];
  }
  return right / static_cast<double>(value.size());
}

}  // namespace

std::vector<std::string> suspected_leaks(const TraceTable& table, const std::vector<std::string>& context,
                                         double price) {
  constexpr double kNearlyAlways = 0.95, kMisses = 0.25;
  std::vector<std::string> out;
  const std::size_t rows = table.rows(), models = table.models.size();
  for (const std::string& spec : context) {
    const std::string name = spec.starts_with("raw:") ? spec.substr(4) : spec;
    const PromptColumn* const column = find_column(table, name);
    if (column == nullptr || column->kind == PromptColumn::Kind::vector) continue;
    std::vector<std::string> value;
    for (std::size_t row = 0; row < rows; ++row)
      value.push_back(column->kind == PromptColumn::Kind::text ? std::string(column->texts[row])
                                                               : fmt::format("{}", column->numbers[row]));
    for (const double at : {0.0, price}) {
      const std::vector<char> best = best_answers_of(table, at);
      const double told = share_told(value, best, models),
                   one = share_told(std::vector<std::string>(rows), best, models);
      if (told < kNearlyAlways || 1.0 - told > kMisses * (1.0 - one) || one == 1.0) continue;
      out.push_back(
          fmt::format("context {} tells the best model of {:.1f}% of the prompts (one model for all: {:.1f}%): was it "
                      "computed from the outcomes? What is not known before a call makes promises that nothing keeps",
                      name, 100.0 * told, 100.0 * one));
      break;
    }
  }
  return out;
}

}  // namespace pandora
