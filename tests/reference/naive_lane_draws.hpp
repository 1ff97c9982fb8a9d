// A lane's own draws in a period, one word after the other; the rewards that it is told; and the boxes that are there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/random/distributions.hpp"
#include "kernels/random/philox.hpp"
#include "kernels/rules/spec.hpp"
#include "kernels/tape/tape.hpp"

namespace pandora::naive {

/// The draws of a lane in period t, which counts from 0.
struct LaneDraws {
  const Instance& instance;

  std::uint32_t word(Purpose purpose, std::uint32_t block, int t, std::uint32_t box, int which) const {
    std::uint32_t words[4][1];
    pandora::philox<1>(instance.stream(purpose), {block}, {static_cast<std::uint32_t>(t)}, {box}, words);
    return words[which][0];
  }

  /// A standard normal number for box a.
  double normal(int t, int a) const {
    float pair[2];
    const int first = a % 4 < 2 ? 0 : 2;
    const auto block = static_cast<std::uint32_t>(a / 4);
    two_normals(word(Purpose::exploration, block, t, 0, first), word(Purpose::exploration, block, t, 0, first + 1),
                pair[0], pair[1]);
    return pair[a % 2];
  }

  /// The period's numbers in (0, 1). Number 0 decides whether the order is random, and 1 whether all boxes are opened.
  double uniform(int t, int which) const { return open_uniform(word(Purpose::exploration, 0, t, 1, which)); }

  /// A random order queries boxes by this number, the largest first.
  double place(int t, int a) const {
    return word(Purpose::random_order, static_cast<std::uint32_t>(a / 4), t, 0, a % 4);
  }
};

/// The online periods whose rewards are told at the end of period t: t itself, or the periods that the tape lists.
inline std::vector<int> told_at(const Tape& tape, int t) {
  const Feedback& feedback = tape.feedback;
  if (feedback.first.empty()) return {t};
  std::vector<int> out;
  for (int k = 0; k < static_cast<int>(feedback.period.size()); ++k)
    if (k >= feedback.first[static_cast<std::size_t>(t)] && k < feedback.first[static_cast<std::size_t>(t) + 1])
      out.push_back(feedback.period[static_cast<std::size_t>(k)]);
  return out;
}

/// The boxes that are there in a row.
inline std::vector<int> boxes_there(const Tape& tape, int row) {
  std::vector<int> out;
  for (int a = 0; a < tape.boxes(); ++a)
    if (tape.there_by_row.empty() || tape.there_by_row[static_cast<std::size_t>(row)] >> a & 1) out.push_back(a);
  return out;
}

/// The boxes of an order that are there. If none of them is there, the first box that is.
inline std::vector<int> those_there(const Tape& tape, int row, std::vector<int> order) {
  const std::vector<int> there = boxes_there(tape, row);
  std::erase_if(order, [&](int a) { return std::count(there.begin(), there.end(), a) == 0; });
  return order.empty() ? std::vector<int>{there[0]} : order;
}

/// The thresholds of those boxes of a list that are there. With another order, all thresholds.
inline std::vector<double> thresholds_there(const Tape& tape, int row, const LaneSpec& spec) {
  if (spec.order != Order::listed) return {std::begin(spec.threshold), std::end(spec.threshold)};
  std::vector<double> out;
  const std::vector<int> there = boxes_there(tape, row);
  for (int p = 0; p < spec.length; ++p)
    if (std::count(there.begin(), there.end(), spec.list[p]) > 0) out.push_back(spec.threshold[p]);
  return out;
}

}  // namespace pandora::naive
