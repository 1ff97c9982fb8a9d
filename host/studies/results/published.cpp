#include "host/studies/results/published.hpp"

#include <cmath>

#include "host/ground/base/split.hpp"
#include "published_data.hpp"

namespace pandora {
namespace {

constexpr double kRounding = 0.005;  // half a unit in the last printed place

PublishedValue value(const std::string& number, const std::string& half_width) {
  return {number_of(number).value(), number_of(half_width).value()};
}

}  // namespace

std::vector<std::vector<std::string>> csv_rows(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : split(text, '\n'))
    if (!line.empty()) rows.push_back(split(line, ','));
  if (!rows.empty()) rows.erase(rows.begin());  // the names of the columns
  return rows;
}

std::optional<PublishedValue> published_regret(const std::string& regime, const std::string& environment, int T0,
                                               const std::string& policy, const std::string& reward) {
  static const auto rows = csv_rows(published::kRegret);
  if (policy == "static_plugin" && reward != "unknown") return std::nullopt;
  for (const auto& row : rows)  // regime,environment,policy,reward,T0,regret_x1000,half_width_95_x1000,bold
    if (row[0] == regime && row[1] == environment && row[2] == policy && (row[3] == reward || row[3] == "unstated") &&
        std::stoi(row[4]) == T0)
      return value(row[5], row[6]);
  return std::nullopt;
}

std::optional<PublishedOracle> published_oracle(const std::string& regime, const std::string& environment) {
  static const auto rows = csv_rows(published::kOracle);
  for (const auto& row : rows)  // regime,environment,u,oracle_utility_x1000,half_width_95_x1000,boxes_queried
    if (row[0] == regime && row[1] == environment)
      return PublishedOracle{number_of(row[2]).value(), value(row[3], row[4]), {number_of(row[5]).value(), kRounding}};
  return std::nullopt;
}

std::optional<PublishedOrder> published_order(const std::string& regime, const std::string& environment) {
  static const auto rows = csv_rows(published::kOrder);
  for (const auto& row : rows)  // environment,regime, then value and half-width of the three statistics
    if (row[0] == environment && row[1] == regime)
      return PublishedOrder{value(row[2], row[3]), value(row[4], row[5]), value(row[6], row[7])};
  return std::nullopt;
}

bool inside_joint_95(double a, double half_width_a, const PublishedValue& b) {
  // Where both sides are exact (one permutation in regime A), allow for the rounding of the printed number.
  return std::abs(a - b.value) <= std::max(std::hypot(half_width_a, b.half_width_95), kRounding);
}

}  // namespace pandora
