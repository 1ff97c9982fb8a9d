// Fixed cascades: their search, and what all of their thresholds come to.
#include <fmt/format.h>

#include "beside.hpp"
#include "host/outcomes/routing/fit_fixed_cascade.hpp"
#include "host/outcomes/routing/threshold_sums.hpp"
#include "host/outcomes/tables/trace_table.hpp"
#include "rows.hpp"

namespace pandora::python {
namespace {

// A position of an order: how many of its thresholds each row reaches.
Array<double> sums_of(const nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>& reached,
                      const std::vector<std::size_t>& counts,
                      const nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>& values) {
  constexpr std::size_t kMostCombinations = std::size_t{1} << 28;
  const std::size_t positions = values.shape(0), kinds = values.shape(1), rows = values.shape(2);
  if (positions == 0 || counts.size() + 1 != positions || reached.shape(0) != counts.size() || reached.shape(1) != rows)
    throw misuse("give L positions of values and, of each but the last, counts and what n rows reach");
  std::size_t combinations = 1;
  for (const std::size_t count : counts) {
    combinations *= count;
    if (count == 0 || combinations > kMostCombinations)
      throw misuse(
          fmt::format("each position has a threshold at least; {} combinations are the most", kMostCombinations));
  }
  std::vector<double> sums = beside([&](Beside& work) {
    std::vector<std::vector<std::uint32_t>> of_rows;
    for (std::size_t j = 0; j < counts.size(); ++j) {
      std::vector<std::uint32_t>& of_position = of_rows.emplace_back();
      for (const std::int64_t r : span_of(reached).subspan(j * rows, rows)) {
        if (r < 0 || static_cast<std::size_t>(r) > counts[j])
          throw misuse(fmt::format("a row reaches {} of {} thresholds", r, counts[j]));
        of_position.push_back(static_cast<std::uint32_t>(r));
      }
    }
    std::vector<double> out, one;
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      const auto at = [&](std::size_t j) { return span_of(values).subspan((j * kinds + kind) * rows, rows); };
      ThresholdSums sums(rows), next(0);
      for (std::size_t j = 0; j < counts.size(); ++j) {
        if (work.interrupted) throw Error(ExitCode::interrupted, "interrupted");
        next.follow(sums, of_rows[j], counts[j], at(j));
        std::swap(sums, next);
      }
      sums.total(at(counts.size()), one);
      out.insert(out.end(), one.begin(), one.end());
    }
    return out;
  });
  std::vector<std::size_t> shape = {kinds};
  shape.insert(shape.end(), counts.begin(), counts.end());
  return array_of(std::move(sums), shape);
}

}  // namespace

void bind_searches(nb::module_& module) {
  module.def(
      "fit_thresholds",
      [](const Cells& seen, const Cells& quality, const Cells& usd, double price, std::size_t most_prompts,
         double most_steps, std::optional<std::size_t> first, bool both) {
        const std::size_t rows = quality.shape(0), models = quality.shape(1);
        require_shape("seen", seen, rows, models);
        require_shape("usd", usd, rows, models);
        if (quality.size() == 0 || most_prompts == 0) throw misuse("give a row, a model and most_prompts at least");
        if (!(price >= 0.0 && price <= kMostPrice)) throw misuse("the price is a number from 0 to 1e9");
        if (!(most_steps >= 0.0 && most_steps <= 1e18)) throw misuse("most_steps is a number from 0 to 1e18");
        if (first && *first >= models) throw misuse(fmt::format("there is no model {}", *first));
        const FixedCascade found = beside([&](Beside& work) {
          const CascadeEffort effort{most_prompts, static_cast<std::uint64_t>(most_steps), both, &work.interrupted};
          return fit_fixed_cascade({models, span_of(seen), span_of(quality), span_of(usd)}, price, effort, first);
        });
        return std::pair(numbers_of(found.order), array_of(found.thresholds, {found.thresholds.size()}));
      },
      nb::arg("seen"), nb::arg("quality"), nb::arg("usd"), nb::arg("price"), nb::arg("most_prompts"),
      nb::arg("most_steps"), nb::arg("first").none() = nb::none(), nb::arg("both") = false,
      "The cascade of thresholds with the greatest mean of quality - price x usd: order i64[L], thresholds f64[L-1]. "
      "seen, quality, usd: f64[n,A]; an answer is accepted where seen reaches its model's threshold, and the best seen "
      "one is deployed. Of more rows most_prompts are looked at, spread evenly; all orders are tried while that takes "
      "most_steps, else a beam. both: the better of a beam and, where they take no more additions than most_steps, of all "
      "orders. first: among cascades of two models and more that begin with it. Interrupted raises.");
  module.def(
      "threshold_sums", &sums_of, nb::arg("reached"), nb::arg("counts"), nb::arg("values"),
      "For every combination of thresholds of an order of L positions the sums over n rows of K values: "
      "f64[K, counts...]. A row reaches the first reached[j] (i64[L-1,n], from 0 to counts[j]) of the thresholds of "
      "position j: with threshold k it ends there where reached[j] > k, unless it has ended before, and counts for "
      "values[j] (f64[L,K,n]); all end at the last position.");
}

}  // namespace pandora::python
