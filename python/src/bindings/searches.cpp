// The search for fixed cascades.
#include <fmt/format.h>

#include "beside.hpp"
#include "host/outcomes/search/fit_fixed_cascade.hpp"
#include "host/outcomes/tables/trace_table.hpp"
#include "rows.hpp"

namespace pandora::python {

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
}

}  // namespace pandora::python
