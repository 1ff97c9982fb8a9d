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

}  // namespace

const char* learner_text(Router::Learner learner) {
  return kLearners[static_cast<int>(learner)];
}

std::size_t PlanWorths::best(std::size_t row, double price) const {
  std::size_t best = row * plans;
  for (std::size_t at = best + 1; at < (row + 1) * plans; ++at)
    if (utility(at, price) > utility(best, price)) best = at;
  return best - row * plans;
}

PlanWorths PlanWorths::of_plans(const std::vector<std::size_t>& some) const {
  PlanWorths out{some.size(), {}, {}};
  for (std::size_t row = 0; row < quality.size() / plans; ++row)
    for (const std::size_t p : some) {
      out.quality.push_back(quality[row * plans + p]);
      out.dollars.push_back(dollars[row * plans + p]);
    }
  return out;
}

namespace {

// rows x n for n x rows.
std::vector<double> transposed(const std::vector<double>& numbers, std::size_t n) {
  std::vector<double> out;
  out.reserve(numbers.size());
  const std::size_t rows = numbers.size() / n;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t k = 0; k < n; ++k) out.push_back(numbers[k * rows + row]);
  return out;
}

}  // namespace

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

PlanWorths Router::predict(std::span<const float> psi) const {
  if (learner == Learner::neighbours)
    return mean_of(known, nearest_prompts(prompts, std::vector<double>(psi.begin(), psi.end()), nearest, false));
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

PlanWorths Router::predict_all(std::span<const float> psi) const {
  PlanWorths out{known.plans, {}, {}};
  const auto add = [&](const PlanWorths& one) {
    out.quality.insert(out.quality.end(), one.quality.begin(), one.quality.end());
    out.dollars.insert(out.dollars.end(), one.dollars.begin(), one.dollars.end());
  };
  if (learner == Learner::neighbours)
    NearestPrompts(prompts, features)
        .find(std::vector<double>(psi.begin(), psi.end()), nearest, false,
              [&](std::size_t, std::span<const std::size_t> rows) { add(mean_of(known, rows)); });
  else
    for (; !psi.empty(); psi = psi.subspan(features)) add(predict(psi.first(features)));
  return out;
}

Router Router::with_plans(const std::vector<std::size_t>& plans) const {
  Router out = *this;
  out.known = known.of_plans(plans);
  return out;
}

Json Router::to_json() const {
  Json out = {{"learner", learner_text(learner)}, {"quality", known.quality}, {"dollars", known.dollars}};
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
