#include "host/lanes/model/finite_world.hpp"

#include <algorithm>
#include <numeric>

#include "host/lanes/model/tape_writer.hpp"
#include "kernels/tape/formulas.hpp"
#include "oracle/reservation_index.hpp"

namespace pandora {
namespace {

// The value at a uniform draw u of [0, 1).
double value_at(const FiniteBox& box, double u) {
  std::size_t k = 0;
  for (double below = box.probabilities[0]; k + 1 < box.values.size() && u >= below; below += box.probabilities[k]) ++k;
  return box.values[k];
}

// The outcomes of periods 0, 1, ... when boxes are opened for the (opening + 1)-th time.
TraceTable draw_outcomes(const FiniteProblem& laws, const Stream& stream, std::size_t periods, std::uint32_t opening) {
  TraceTable out;
  out.models.resize(laws.boxes.size());
  for (std::size_t t = 0; t < periods; ++t)
    for (std::size_t a = 0; a < laws.boxes.size(); ++a) {
      std::uint32_t words[4][1];
      philox<1>(stream, {0}, {static_cast<std::uint32_t>(t)}, {draw_place(static_cast<std::uint32_t>(a), opening)},
                words);
      // 53 bits, so that the number is exact and below 1
      const std::uint64_t bits = (static_cast<std::uint64_t>(words[0][0]) << 32 | words[1][0]) >> 11;
      out.quality.push_back(value_at(laws.boxes[a], static_cast<double>(bits) * 0x1p-53));
      out.cost.push_back(laws.boxes[a].cost);
    }
  return out;
}

}  // namespace

Replication draw_from_laws(const ReplicationRequest& request) {
  const FiniteProblem& laws = *laws_of(request.environment);
  const TraceSizes sizes = sizes_of_laws(laws);
  const std::size_t C = static_cast<std::size_t>(request.calibration_periods),
                    T = static_cast<std::size_t>(request.periods),
                    N = static_cast<std::size_t>(request.actions.openings);
  TapeWriter tape(request, sizes, 1 + C + T * N);
  DrawnRows rows{1, std::vector<std::size_t>(std::max({std::size_t{1}, C, T}))};
  std::iota(rows.rows.begin(), rows.rows.end(), std::size_t{0});
  const std::vector<float> none(rows.rows.size(), 0.0f);
  const auto append = [&](Purpose values, Purpose rewards, std::size_t periods, std::size_t opening) {
    tape.append(draw_outcomes(laws, stream_of(request, values), periods, static_cast<std::uint32_t>(opening)), none,
                rows, 0, periods, rewards, opening);
  };
  append(Purpose::initial_shock, Purpose::initial_shock, 1, 0);
  append(Purpose::calibration_shock, Purpose::calibration_reward, C, 0);
  for (std::size_t k = 0; k < N; ++k) append(Purpose::online_shock, Purpose::online_reward, T, k);
  Replication out = std::move(tape).replication();
  for (std::size_t at = 0; at < out.sigma.size(); ++at) {
    const FiniteBox& box = laws.boxes[at % laws.boxes.size()];
    out.sigma[at] = index_of_values(box.values, box.cost, box.probabilities);
  }
  return out;
}

}  // namespace pandora
