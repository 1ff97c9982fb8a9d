// The learners of a router, in closed forms: what depends on the prompts alone serves all plans and prices.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "host/outcomes/routing/router.hpp"

namespace pandora {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr std::size_t kNearest[] = {10, 30, 100, 300};
constexpr double kTie = 1e-9;  // of mean utilities

// With the digits that a file shows, so that it holds them exactly: the double nearest to a decimal number, which a
// quotient of whole numbers is too. Where a product cannot tell how the sixth digit rounds, text does.
double with_five_digits(double x) {
  static constexpr double kTens[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14};
  const double size = std::abs(x);
  if (size == 0.0 || (size < 1e5 && size == std::floor(size))) return x;
  if (size >= 1e-9 && size < 1e4) {
    std::size_t places = 0;  // behind the point, of the fifth digit
    while (size * kTens[places] < 1e4) ++places;
    const double scaled = size * kTens[places], whole = std::round(scaled);
    if (std::abs(std::abs(scaled - whole) - 0.5) > 1e-6 && scaled > 10000.000001)
      return std::copysign(whole / kTens[places], x);
  }
  return std::strtod(fmt::format("{:.5g}", x).c_str(), nullptr);
}

std::vector<std::size_t> spread(std::size_t rows, std::size_t most) {
  std::vector<std::size_t> out(std::min(rows, most));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = i * rows / out.size();
  return out;
}

PlanWorths rows_of(const PlanWorths& worths, const std::vector<std::size_t>& rows) {
  PlanWorths out{worths.plans, {}, {}};
  for (const std::size_t row : rows)
    for (std::size_t at = row * worths.plans; at < (row + 1) * worths.plans; ++at) {
      out.quality.push_back(worths.quality[at]);
      out.dollars.push_back(worths.dollars[at]);
    }
  return out;
}

VectorXd of_plan(const std::vector<double>& numbers, std::size_t plans, std::size_t p) {
  VectorXd out(static_cast<Index>(numbers.size() / plans));
  for (Index i = 0; i < out.size(); ++i) out(i) = numbers[static_cast<std::size_t>(i) * plans + p];
  return out;
}

void put(std::vector<double>& numbers, std::size_t plans, std::size_t p, const VectorXd& values) {
  numbers.resize(static_cast<std::size_t>(values.size()) * plans);
  for (Index i = 0; i < values.size(); ++i) numbers[static_cast<std::size_t>(i) * plans + p] = values(i);
}

std::vector<std::size_t> asked_of(const std::vector<std::size_t>& remembered, std::size_t most) {
  std::vector<std::size_t> out;
  for (const std::size_t k : spread(remembered.size(), most)) out.push_back(remembered[k]);
  return out;
}

}  // namespace

PlanPredictors::Prompts::Prompts(std::span<const float> psi, std::size_t m)
    : features(m),
      remembered(spread(psi.size() / m, kMostNeighbours)),
      asked(asked_of(remembered, kMostAsked)),
      linear(psi, m, asked) {
  for (std::size_t j = 0; j < m; ++j)
    for (const std::size_t row : remembered) remembered_psi.push_back(with_five_digits(psi[row * m + j]));
  const std::vector<std::size_t> places = spread(remembered.size(), kMostAsked);
  std::vector<double> own;
  for (const std::size_t k : places)
    for (std::size_t j = 0; j < m; ++j) own.push_back(remembered_psi[j * remembered.size() + k]);
  NearestPrompts(remembered_psi, m)
      .find(own, std::end(kNearest)[-1] + 1, true, [&](std::size_t i, std::span<const std::size_t> rows) {
        std::erase(near.emplace_back(rows.begin(), rows.end()), places[i]);
      });
}

PlanPredictors::PlanPredictors(std::span<const float> psi, std::size_t m, PlanWorths worths)
    : prompts_(std::make_shared<const Prompts>(psi, m)), worths_(std::move(worths)) {
  fit();
}

PlanPredictors::PlanPredictors(const PlanPredictors& some, PlanWorths worths)
    : prompts_(some.prompts_), worths_(std::move(worths)), fits_(some.fits_) {
  fit();
}

void PlanPredictors::fit() {
  const std::size_t plans = worths_.plans;
  while (fits_.size() < plans) {
    const VectorXd quality = of_plan(worths_.quality, plans, fits_.size());
    PlanFits& now = fits_.emplace_back();
    now.quality = prompts_->linear.ridge(quality);
    now.dollars = prompts_->linear.ridge(of_plan(worths_.dollars, plans, fits_.size() - 1));
    const bool shares = quality.minCoeff() >= 0.0 && quality.maxCoeff() <= 1.0;
    if (prompts_->features <= kMostLogistic && shares) now.logistic = prompts_->linear.logistic(quality);
  }
  add_linear();
  add_neighbours();
}

void PlanPredictors::add_linear() {
  const std::size_t plans = worths_.plans;
  for (const Router::Learner learner : {Router::Learner::ridge, Router::Learner::logistic}) {
    const bool logistic = learner == Router::Learner::logistic;
    if (logistic && !std::ranges::all_of(fits_, [](const PlanFits& of) { return of.logistic.has_value(); })) continue;
    Router router{learner, prompts_->features, {plans, {}, {}}, {}, 0};
    PlanWorths left_out{plans, {}, {}};
    for (std::size_t p = 0; p < plans; ++p) {
      const LinearFit& quality = logistic ? *fits_[p].logistic : fits_[p].quality;
      put(router.known.quality, plans, p, quality.weights);
      put(left_out.quality, plans, p, quality.left_out);
      put(router.known.dollars, plans, p, fits_[p].dollars.weights);
      put(left_out.dollars, plans, p, fits_[p].dollars.left_out);
    }
    add(std::move(router), std::move(left_out));
  }
}

void PlanPredictors::add_neighbours() {
  const std::size_t plans = worths_.plans, remembered = prompts_->remembered.size();
  Router router{Router::Learner::neighbours, prompts_->features, rows_of(worths_, prompts_->remembered),
                prompts_->remembered_psi, 0};
  for (std::vector<double>* const numbers : {&router.known.quality, &router.known.dollars})
    for (double& x : *numbers) x = with_five_digits(x);
  for (const std::size_t count : kNearest) {
    if (count >= remembered) break;
    router.nearest = count;
    PlanWorths left_out{plans, {}, {}};
    for (const std::vector<std::size_t>& found : prompts_->near) {
      const PlanWorths mean = mean_of(router.known, std::span(found).first(count));
      left_out.quality.insert(left_out.quality.end(), mean.quality.begin(), mean.quality.end());
      left_out.dollars.insert(left_out.dollars.end(), mean.dollars.begin(), mean.dollars.end());
    }
    add(router, std::move(left_out));
  }
}

void PlanPredictors::add(Router router, PlanWorths left_out) {
  routers_.push_back(std::move(router));
  left_out_.push_back(std::move(left_out));
}

RoutedPlans PlanPredictors::best(double price) const {
  std::size_t best = 0;
  double most = -HUGE_VAL;
  for (std::size_t k = 0; k < routers_.size(); ++k) {
    double sum = 0.0;
    for (std::size_t i = 0; i < asked().size(); ++i)
      sum += worths_.utility(asked()[i] * worths_.plans + left_out_[k].best(i, price), price);
    if (!(sum > most + kTie * static_cast<double>(asked().size()))) continue;
    most = sum;
    best = k;
  }
  std::vector<char> is_chosen(worths_.plans, false);
  for (std::size_t i = 0; i < asked().size(); ++i) is_chosen[left_out_[best].best(i, price)] = true;
  RoutedPlans out;
  for (std::size_t p = 0; p < is_chosen.size(); ++p)
    if (is_chosen[p]) out.plans.push_back(p);
  out.router = routers_[best].with_plans(out.plans);
  out.learner = best;
  return out;
}

}  // namespace pandora
