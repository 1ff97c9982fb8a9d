// How far a fit is: it is made of many, for folds, without each model, at other prices.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <mutex>

namespace pandora {

class FitProgress {
 public:
  /// `told(done, total)` is called after each of the fits, by any thread of them, one at a time. What it throws ends
  /// the whole fit.
  explicit FitProgress(std::function<void(std::size_t done, std::size_t total)> told) : told_(std::move(told)) {}

  void expect(std::size_t more) {
    const std::lock_guard lock(mutex_);
    total_ += more;
  }
  void step() {
    const std::lock_guard lock(mutex_);
    total_ = std::max(total_, ++done_);
    told_(done_, total_);
  }

 private:
  std::mutex mutex_;
  std::function<void(std::size_t, std::size_t)> told_;
  std::size_t done_ = 0, total_ = 0;
};

}  // namespace pandora
