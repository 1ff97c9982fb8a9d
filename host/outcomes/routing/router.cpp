#include "host/outcomes/routing/router.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "host/ground/files/sealed_file.hpp"

namespace pandora {
namespace {

using Json = nlohmann::json;

constexpr const char* kLearners[] = {"ridge", "logistic", "neighbours"};

void require(bool holds, const char* problem) {
  if (!holds) throw Damaged(problem);
}

std::size_t size_in(const Json& json, const char* name) {
  const auto found = json.find(name);
  require(found != json.end() && found->is_number_unsigned(), "has a router without a size");
  return found->get<std::size_t>();
}

std::vector<double> numbers_in(const Json& json, const char* name) {
  const auto found = json.find(name);
  require(found != json.end() && found->is_array(), "has a router without its numbers");
  std::vector<double> out;
  for (const Json& number : *found) {
    require(number.is_number() && std::isfinite(number.get<double>()), "has a router with a value that is no number");
    out.push_back(number.get<double>());
  }
  return out;
}

// rows x n for n x rows.
std::vector<double> transposed(const std::vector<double>& numbers, std::size_t n) {
  std::vector<double> out;
  out.reserve(numbers.size());
  const std::size_t rows = numbers.size() / n;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t k = 0; k < n; ++k) out.push_back(numbers[k * rows + row]);
  return out;
}

// The `count` of the prompts (m x prompts) that are nearest to psi by Euclidean distance, of equal ones the first; in
// their order.
std::vector<std::size_t> nearest_prompts(std::span<const double> prompts, std::span<const float> psi,
                                         std::size_t count) {
  const std::size_t rows = prompts.size() / psi.size();
  std::vector<std::pair<double, std::size_t>> away(rows);
  for (std::size_t row = 0; row < rows; ++row) away[row].second = row;
  for (std::size_t j = 0; j < psi.size(); ++j)
    for (std::size_t row = 0; row < rows; ++row) {
      const double difference = prompts[j * rows + row] - psi[j];
      away[row].first += difference * difference;
    }
  count = std::min(count, rows);
  std::nth_element(away.begin(), away.begin() + static_cast<std::ptrdiff_t>(count) - 1, away.end());
  std::vector<std::size_t> out;
  for (std::size_t k = 0; k < count; ++k) out.push_back(away[k].second);
  std::sort(out.begin(), out.end());
  return out;
}

// Means over the rows that are named.
PlanWorths mean_of(const PlanWorths& worths, std::span<const std::size_t> rows) {
  const std::size_t plans = worths.plans;
  PlanWorths out{plans, std::vector<double>(plans, 0.0), std::vector<double>(plans, 0.0)};
  for (const std::size_t row : rows)
    for (std::size_t p = 0; p < plans; ++p) {
      out.quality[p] += worths.quality[row * plans + p];
      out.dollars[p] += worths.dollars[row * plans + p];
    }
  for (std::vector<double>* const numbers : {&out.quality, &out.dollars})
    for (double& x : *numbers) x /= static_cast<double>(rows.size());
  return out;
}

}  // namespace

PlanWorths Router::predict(std::span<const float> psi) const {
  if (learner == Learner::neighbours) return mean_of(known, nearest_prompts(prompts, psi, nearest));
  const std::size_t plans = known.plans;
  PlanWorths out{plans, std::vector<double>(plans, 0.0), std::vector<double>(plans, 0.0)};
  for (std::size_t j = 0; j < features; ++j)
    for (std::size_t p = 0; p < plans; ++p) {
      out.quality[p] += psi[j] * known.quality[j * plans + p];
      out.dollars[p] += psi[j] * known.dollars[j * plans + p];
    }
  if (learner == Learner::logistic)
    for (double& x : out.quality) x = 1.0 / (1.0 + std::exp(-x));
  return out;
}

Json Router::to_json() const {
  Json out = {
      {"learner", kLearners[static_cast<int>(learner)]}, {"quality", known.quality}, {"dollars", known.dollars}};
  if (learner == Learner::neighbours) out.update({{"nearest", nearest}, {"prompts", transposed(prompts, features)}});
  return out;
}

Router Router::from_json(const Json& json, std::size_t plans, std::size_t features) {
  require(json.is_object(), "has a router that is no object");
  const std::string name =
      json.contains("learner") && json["learner"].is_string() ? json["learner"].get<std::string>() : "";
  const auto found = std::find(std::begin(kLearners), std::end(kLearners), name);
  require(found != std::end(kLearners), "has a router that learns in an unknown way");
  Router out;
  out.learner = static_cast<Learner>(found - kLearners);
  out.features = features;
  out.known = {plans, numbers_in(json, "quality"), numbers_in(json, "dollars")};
  std::size_t rows = features;
  if (out.learner == Learner::neighbours) {
    out.prompts = numbers_in(json, "prompts");
    out.nearest = size_in(json, "nearest");
    rows = out.prompts.size() / features;
    require(rows * features == out.prompts.size() && out.nearest > 0 && out.nearest <= rows,
            "has a router with fewer prompts than it asks");
    out.prompts = transposed(out.prompts, rows);
  }
  require(out.known.quality.size() == rows * plans && out.known.dollars.size() == rows * plans,
          "has a router with too few or too many numbers");
  return out;
}

}  // namespace pandora
