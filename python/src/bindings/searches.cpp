// The search for fixed cascades, and their walks over rows.
#include <fmt/format.h>
#include <nanobind/stl/tuple.h>

#include "beside.hpp"
#include "host/outcomes/search/fit_fixed_cascade.hpp"
#include "host/outcomes/tables/trace_table.hpp"
#include "rows.hpp"

namespace pandora::python {
namespace {

using Order = std::vector<std::int64_t>;
using Walked = std::tuple<Array<std::int64_t>, Array<std::int64_t>, Array<double>, std::optional<Array<double>>>;

// What becomes of each row when models are called in an order until an answer reaches its model's threshold.
Walked walk_order(const Cells& seen, const Cells& quality, const Cells& usd, double judge_usd,
                  const std::optional<Cells>& latency, const Order& order, const std::vector<double>& thresholds) {
  const std::size_t rows = quality.shape(0), models = quality.shape(1), length = order.size();
  require_shape("seen", seen, rows, models);
  require_shape("usd", usd, rows, models);
  if (latency) require_shape("latency", *latency, rows, models);
  for (const std::int64_t model : order)
    if (model < 0 || static_cast<std::size_t>(model) >= models)
      throw misuse(fmt::format("there is no model {}", model));
  if (order.empty() || thresholds.size() >= length) throw misuse("give models in order, and fewer thresholds");
  std::vector<std::int64_t> called(rows * length, -1), deployed(rows, order[0]);
  std::vector<double> numbers(3 * rows, 0.0), seconds(latency ? rows : 0, 0.0);
  for (std::size_t row = 0; row < rows; ++row) {
    double best = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < length; ++k) {
      const std::size_t at = row * models + static_cast<std::size_t>(order[k]);
      const double here = seen.data()[at];
      called[row * length + k] = order[k];
      numbers[rows + row] += usd.data()[at] + judge_usd;
      numbers[2 * rows + row] += 1.0;
      if (latency) seconds[row] += latency->data()[at];
      if (here > best) {
        best = here;
        deployed[row] = order[k];
      }
      if (k < thresholds.size() && here >= thresholds[k]) break;  // NaN reaches none
    }
    numbers[row] = quality.data()[row * models + static_cast<std::size_t>(deployed[row])];
  }
  std::optional<Array<double>> of_latency;
  if (latency) of_latency = array_of(std::move(seconds));
  return {array_of(std::move(called), {rows, length}), array_of(std::move(deployed)),
          array_of(std::move(numbers), {3, rows}), std::move(of_latency)};
}

}  // namespace

void bind_searches(nb::module_& module) {
  module.def(
      "walk_order", &walk_order, nb::arg("seen"), nb::arg("quality"), nb::arg("usd"), nb::arg("judge_usd"),
      nb::arg("latency").none(), nb::arg("order"), nb::arg("thresholds"),
      "What becomes of each row: called i64[n,L], -1 where none was; deployed i64[n]; quality, dollars and calls "
      "f64[3,n]; seconds f64[n] or None. An answer is accepted where seen reaches its model's threshold; the best "
      "seen one is deployed, of equal ones the first called. seen, quality, usd, latency: f64[n,A].");
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
}

}  // namespace pandora::python
