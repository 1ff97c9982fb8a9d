#include "host/outcomes/routing/nearest_prompts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace pandora {
namespace {

// The k-th smallest of numbers that are not negative, by a histogram of them all and a search in one of its bins.
double kth_smallest(std::span<const double> numbers, std::size_t k) {
  constexpr std::size_t kBins = 512;
  const double most = *std::max_element(numbers.begin(), numbers.end()), scale = (kBins - 1) / most;
  std::vector<double> among;
  if (most > 0.0 && std::isfinite(scale)) {
    std::size_t count[kBins] = {}, bin = 0;
    for (const double x : numbers) ++count[static_cast<std::size_t>(scale * x)];
    for (; k > count[bin]; ++bin) k -= count[bin];
    for (const double x : numbers)
      if (static_cast<std::size_t>(scale * x) == bin) among.push_back(x);
  } else {
    among.assign(numbers.begin(), numbers.end());
  }
  const auto found = among.begin() + static_cast<std::ptrdiff_t>(k) - 1;
  std::nth_element(among.begin(), found, among.end());
  return *found;
}

std::size_t count_up_to(std::span<const float> numbers, float most) {
  std::int32_t count = 0;
  for (const float x : numbers) count += x <= most;
  return static_cast<std::size_t>(count);
}

// Two numbers between which the k-th smallest lies, the first one below it, with few others.
std::pair<float, float> around_kth(std::span<const float> numbers, std::size_t k) {
  constexpr std::size_t kFew = 8;
  const Eigen::Map<const Eigen::ArrayXf> all(numbers.data(), static_cast<Eigen::Index>(numbers.size()));
  float low = std::nextafter(all.minCoeff(), -std::numeric_limits<float>::infinity()), high = all.maxCoeff();
  for (std::size_t below = 0, up_to = numbers.size(); up_to - below > kFew;) {
    const float middle = 0.5f * low + 0.5f * high;
    if (!(middle > low && middle < high)) break;
    const std::size_t count = count_up_to(numbers, middle);
    (count >= k ? high : low) = middle;
    (count >= k ? up_to : below) = count;
  }
  return {low, high};
}

}  // namespace

std::vector<std::size_t> nearest_prompts(std::span<const double> prompts, std::span<const double> psi,
                                         std::size_t count, bool nearest_first) {
  const std::size_t m = psi.size(), rows = prompts.size() / m;
  std::vector<double> away(rows, 0.0);
  for (std::size_t j = 0; j < m; ++j) {
    const double* const of = prompts.data() + j * rows;
    const double own = psi[j];
    for (std::size_t row = 0; row < rows; ++row) away[row] += (of[row] - own) * (of[row] - own);
  }
  count = std::min(count, rows);
  const double last = kth_smallest(away, count);
  auto as_far = static_cast<std::ptrdiff_t>(count) - std::ranges::count_if(away, [&](double x) { return x < last; });
  std::vector<std::size_t> out;
  for (std::size_t row = 0; row < rows; ++row)
    if (away[row] < last || (away[row] == last && as_far-- > 0)) out.push_back(row);
  if (nearest_first)
    std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) { return away[a] < away[b]; });
  return out;
}

NearestPrompts::NearestPrompts(std::span<const double> prompts, std::size_t m)
    : m_(m),
      prompts_(prompts.size() / m),
      columns_(prompts.begin(), prompts.end()),
      rows_(prompts.size()),
      factors_(static_cast<Eigen::Index>(prompts_), static_cast<Eigen::Index>(m + 1)) {
  std::vector<double> square(prompts_, 0.0);
  for (std::size_t j = 0; j < m; ++j)
    for (std::size_t row = 0; row < prompts_; ++row) {
      const double x = columns_[j * prompts_ + row];
      rows_[row * m + j] = x;
      square[row] += x * x;
      factors_(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(j)) = static_cast<float>(-2.0 * x);
    }
  for (std::size_t row = 0; row < prompts_; ++row) {
    factors_(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(m)) = static_cast<float>(square[row]);
    most_square_ = std::max(most_square_, square[row]);
  }
}

double NearestPrompts::distance(const double* psi, std::size_t prompt) const {
  const double* const of = rows_.data() + prompt * m_;
  double away = 0.0;  // added up as nearest_prompts() does
  for (std::size_t j = 0; j < m_; ++j) away += (of[j] - psi[j]) * (of[j] - psi[j]);
  return away;
}

void NearestPrompts::choose(const double* psi, std::span<const float> away, float error, std::size_t count,
                            std::vector<std::uint32_t>& near, std::vector<std::size_t>& out) const {
  const auto [low, high] = around_kth(away, count);
  const float surely = low - 2.0f * error, perhaps = high + 2.0f * error;
  std::size_t found = 0;
  for (std::size_t row = 0; row < prompts_; ++row) {  // no branch
    near[found] = static_cast<std::uint32_t>(row);
    found += away[row] <= perhaps;
  }
  out.assign(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(found));
  std::vector<std::pair<double, std::size_t>> between;
  for (const std::size_t row : out)
    if (!(away[row] < surely)) between.emplace_back(distance(psi, row), row);
  const std::size_t sure = out.size() - between.size();
  std::sort(between.begin(), between.end());
  between.resize(std::min(between.size(), count - sure));
  std::vector<std::size_t> taken;
  for (const auto& [unused, row] : between) taken.push_back(row);
  std::sort(taken.begin(), taken.end());
  auto next = taken.begin();
  std::erase_if(out, [&](std::size_t row) {
    if (away[row] < surely) return false;
    if (next == taken.end() || *next != row) return true;
    ++next;
    return false;
  });
}

void NearestPrompts::find(std::span<const double> psi, std::size_t count, bool nearest_first,
                          const std::function<void(std::size_t, std::span<const std::size_t>)>& found) const {
  constexpr std::size_t kBlock = 32;  // distances of so many stay in the cache
  constexpr double kGreatest = 1e30;  // of squares that floats hold, with room
  const std::size_t many = psi.size() / m_;
  count = std::min(count, prompts_);
  Eigen::MatrixXf own, away;
  std::vector<std::uint32_t> near(prompts_);
  std::vector<std::size_t> rows;
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t first = 0; first < many; first += kBlock) {
    const std::size_t block = std::min(kBlock, many - first);
    own.setOnes(factors_.cols(), static_cast<Eigen::Index>(block));
    for (std::size_t i = 0; i < block; ++i)
      for (std::size_t j = 0; j < m_; ++j)
        own(static_cast<Eigen::Index>(j), static_cast<Eigen::Index>(i)) = static_cast<float>(psi[(first + i) * m_ + j]);
    away.noalias() = factors_ * own;
    for (std::size_t i = 0; i < block; ++i) {
      const std::span<const double> of = psi.subspan((first + i) * m_, m_);
      double squares = most_square_;
      for (const double x : of) squares += x * x;
      if (!(squares < kGreatest)) {
        found(first + i, nearest_prompts(columns_, of, count, nearest_first));
        continue;
      }
      // m + 1 products of sizes that add up to at most `squares`, and roundings of factors: 2^-24 of each.
      const double error = static_cast<double>(m_ + 8) * 0x1p-23 * squares + 1e-30;
      choose(of.data(), {away.col(static_cast<Eigen::Index>(i)).data(), prompts_}, static_cast<float>(error), count,
             near, rows);
      if (nearest_first) {
        order.clear();
        for (const std::size_t row : rows) order.emplace_back(distance(of.data(), row), row);
        std::sort(order.begin(), order.end());
        for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = order[k].second;
      }
      found(first + i, rows);
    }
  }
}

}  // namespace pandora
