// Counts how often a warp's access to shared memory takes several cycles, because several threads want the same bank.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

namespace stand_in {

/// The accesses of a launch. The k-th accesses of a warp's threads at one place of the code count as one instruction.
class BankTraffic {
 public:
  struct Sum {
    double wavefronts = 0.0;  ///< cycles in which the memory serves the instructions
    double ideal = 0.0;       ///< the cycles without conflicts
  };

  void add(unsigned block, unsigned thread, const void* pc, std::size_t at, std::size_t bytes) {
    Place& place = places_[pc][std::uint64_t{block} << 32 | thread / 32];
    const unsigned lane = thread % 32, k = place.done[lane]++;
    if (k >= place.first + place.open.size()) place.open.emplace_back();
    Access& access = place.open[k - place.first];
    access.bytes = bytes;
    access.at[lane] = static_cast<std::uint32_t>(at);
    access.lanes |= 1u << lane;
    if (access.lanes != 0xffffffffu || k != place.first) return;
    count(sums_[pc], access);
    place.open.erase(place.open.begin());
    ++place.first;
  }

  /// The sums by place in the code.
  const std::map<const void*, Sum>& finish() {
    for (auto& [pc, warps] : places_)
      for (auto& [warp, place] : warps)
        for (const Access& access : place.open) count(sums_[pc], access);
    places_.clear();
    return sums_;
  }

 private:
  struct Access {
    std::size_t bytes = 4;
    unsigned lanes = 0;
    std::uint32_t at[32] = {};
  };
  struct Place {
    unsigned done[32] = {}, first = 0;  // `first`: the number of the first open access
    std::vector<Access> open;
  };

  // There are 32 banks of four bytes. Wide accesses are served for half or a quarter of a warp at a time.
  static void count(Sum& sum, const Access& access) {
    const unsigned words = std::max<unsigned>(1, static_cast<unsigned>(access.bytes) / 4),
                   lanes = 32 / std::min(words, 4u);
    for (unsigned first = 0; first < 32; first += lanes) {
      std::map<unsigned, std::set<std::uint32_t>> wanted;
      for (unsigned lane = first; lane < first + lanes; ++lane)
        if ((access.lanes >> lane & 1) != 0)
          for (unsigned w = 0; w < words; ++w) wanted[(access.at[lane] / 4 + w) % 32].insert(access.at[lane] / 4 + w);
      std::size_t deepest = 0, all = 0;
      for (const auto& [bank, words_of_bank] : wanted) {
        deepest = std::max(deepest, words_of_bank.size());
        all += words_of_bank.size();
      }
      sum.wavefronts += static_cast<double>(deepest);
      sum.ideal += static_cast<double>((all + 31) / 32);
    }
  }

  std::unordered_map<const void*, std::unordered_map<std::uint64_t, Place>> places_;
  std::map<const void*, Sum> sums_;
};

}  // namespace stand_in
