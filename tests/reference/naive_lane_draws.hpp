// What a lane draws for itself in a period, one word after the other, and of which rewards it is told.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/random/distributions.hpp"
#include "kernels/random/philox.hpp"
#include "kernels/tape/tape.hpp"

namespace pandora::naive {

/// Of period t, from 0.
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

  /// The period's numbers in (0, 1): 0 says whether the order is random, 1 whether all boxes are opened.
  double uniform(int t, int which) const { return open_uniform(word(Purpose::exploration, 0, t, 1, which)); }

  /// Boxes are queried in random order from the largest of these on.
  double place(int t, int a) const {
    return word(Purpose::random_order, static_cast<std::uint32_t>(a / 4), t, 0, a % 4);
  }
};

/// The online periods whose rewards are told at the end of period t: its own, or what the tape says.
inline std::vector<int> told_at(const Tape& tape, int t) {
  const Feedback& feedback = tape.feedback;
  if (feedback.first.empty()) return {t};
  std::vector<int> out;
  for (int k = 0; k < static_cast<int>(feedback.period.size()); ++k)
    if (k >= feedback.first[static_cast<std::size_t>(t)] && k < feedback.first[static_cast<std::size_t>(t) + 1])
      out.push_back(feedback.period[static_cast<std::size_t>(k)]);
  return out;
}

}  // namespace pandora::naive
