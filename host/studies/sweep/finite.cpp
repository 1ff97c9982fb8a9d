#include "host/studies/sweep/finite.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace pandora {
namespace {

// Of whole words, so that it needs no branch per number: exponents of ones alone are infinity and NaN.
template <class Word, class Real>
bool all_finite(const Real* values, std::size_t n) {
  constexpr Word kExponent = sizeof(Word) == 4 ? Word{0x7f800000} : static_cast<Word>(0x7ff0000000000000);
  Word found = 0;
  for (std::size_t i = 0; i < n; ++i)
    found |= static_cast<Word>((std::bit_cast<Word>(values[i]) & kExponent) == kExponent);
  return found == 0;
}

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

template <class Vector>
std::size_t first_not_finite(const Vector& values, std::size_t from = 0) {
  using Real = typename Vector::value_type;
  using Word = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
  if (values.size() <= from || all_finite<Word>(values.data() + from, values.size() - from)) return kNone;
  while (std::isfinite(values[from])) ++from;
  return from;
}

}  // namespace

std::string period_of(const Tape& tape, std::size_t row) {
  const std::size_t online = static_cast<std::size_t>(tape.online_row(0));
  return row == 0       ? "the initial context"
         : row < online ? fmt::format("calibration period {}", row)
                        : fmt::format("online period {}", row - online + 1);
}

std::string not_finite(const Replication& replication) {
  const Instance& instance = replication.instance;
  const Tape& tape = replication.tape;
  const Contexts& contexts = tape.contexts;
  std::string found;
  const auto parameter = [&found](const char* name, const std::vector<double>& values) {
    if (!found.empty()) return;
    if (const std::size_t at = first_not_finite(values); at != kNone) found = fmt::format("number {} of {}", at, name);
  };
  // `size`: numbers per row, or per row and box.
  const auto rows = [&](const char* name, const auto& values, std::size_t size, bool boxes, int first = 0) {
    const std::size_t A = boxes ? static_cast<std::size_t>(contexts.boxes) : 1;
    if (!found.empty() || size == 0 || A == 0) return;
    if (const std::size_t at = first_not_finite(values, static_cast<std::size_t>(first) * A * size); at != kNone)
      found = fmt::format("{}{} in {}", name, boxes ? fmt::format(" of box {}", at / size % A + 1) : "",
                          period_of(tape, at / size / A));
  };
  for (const InstanceField& field : kInstanceFields) parameter(field.symbol, instance.*field.member);
  rows("psi", contexts.psi, static_cast<std::size_t>(contexts.index_stride), false);
  rows("Q x", contexts.reward_context, contexts.location_at(1, 0) * static_cast<std::size_t>(contexts.reward_features),
       false);
  rows("l", contexts.reward_shift, contexts.location_at(1, 0), false);
  rows("s", contexts.scale, 1, true);
  rows("the context's cost", contexts.context_cost, 1, true);
  rows("phi", tape.phi, static_cast<std::size_t>(contexts.reward_features), true);
  rows("mu", tape.mu, 1, true);
  rows("the cost", tape.cost, 1, true);
  rows("the reward", tape.reward, 1, true);
  rows("the oracle's index", replication.sigma, 1, true, tape.online_row(0));
  return found;
}

bool sums_are_finite(const LaneTally& tally) {
  bool finite = true;
  for_each_number(tally, kMaxBoxes, tally.recorded,
                  [&finite](double number, int) { finite = finite && is_sum(number); });
  return finite;
}

void fail_sums_not_finite(std::span<LaneTally> lanes) {
  for (LaneTally& tally : lanes)
    if (tally.failure == Failure::none && !sums_are_finite(tally)) tally.fail(Failure::not_finite, tally.periods);
}

bool fail_all_if_not_finite(const Replication& replication, std::size_t count, UnitResult& result) {
  const std::string what = not_finite(replication);
  if (what.empty()) return false;
  result.resize(count);
  for (std::size_t lane = 0; lane < count; ++lane) {
    result.lanes[lane].start(replication.tape.online_rows);
    result.lanes[lane].fail(Failure::not_finite, 0);
    result.notes[lane].message = what;
  }
  return true;
}

}  // namespace pandora
