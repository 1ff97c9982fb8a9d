#include "host/cascades/live/run_rows.hpp"

#include <algorithm>

#include "pandora/error.hpp"

namespace pandora {
namespace {

void end_if_set(const std::atomic<bool>* interrupted) {
  if (interrupted != nullptr && *interrupted) throw Error(ExitCode::interrupted, "interrupted");
}

}  // namespace

void RowCalls::add(std::span<const std::size_t> order, std::size_t of_deployed, bool is_judged) {
  for (const std::size_t model : order) called.push_back(static_cast<std::int8_t>(model));
  called.insert(called.end(), models - order.size(), std::int8_t{-1});
  deployed.push_back(static_cast<std::int32_t>(of_deployed));
  judged.push_back(is_judged);
}

RowCalls run_rows(Cascade& cascade, const CascadeRows& table, std::span<const std::size_t> rows,
                  const std::atomic<bool>* interrupted) {
  cascade.set_learning(false);
  RowCalls out{table.models, {}, {}, {}};
  std::vector<std::size_t> order;
  for (const std::size_t row : rows) {
    end_if_set(interrupted);
    const std::uint64_t request = cascade.begin(table.psi_of(row));
    const bool judged = cascade.needs_score(request);
    order.clear();
    while (const std::optional<std::size_t> model = cascade.next(request)) {
      const std::size_t at = row * table.models + *model;
      // An estimate may be negative; a call's dollars may not, and decide nothing here.
      cascade.observe(request, *model,
                      {std::max(0.0, table.usd[at]), judged ? std::vector{table.shown[at]} : std::vector<double>()});
      order.push_back(*model);
    }
    out.add(order, cascade.deploy(request), judged);
  }
  return out;
}

void learn_rows(Cascade& cascade, const CascadeRows& table, std::span<const std::size_t> rows,
                const std::atomic<bool>* interrupted) {
  int period = 0;
  for (const std::size_t row : rows) {
    end_if_set(interrupted);
    ++period;
    for (std::size_t a = 0; a < table.models; ++a) {
      const std::size_t at = row * table.models + a;
      cascade.calibrate(period, table.psi_of(row), a, {table.usd[at], {table.shown[at]}}, table.quality[at]);
    }
  }
}

}  // namespace pandora
