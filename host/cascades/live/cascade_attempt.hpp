// A change of a cascade that happens whole or not at all.
#pragma once

#include <optional>

#include "host/cascades/live/cascade_state.hpp"

namespace pandora {

/// Takes back what happened to the estimator since it was made, unless keep() was called; with `models` also what
/// happened to models, price and rules. Requests and counts are changed last, by what does not throw.
class Cascade::State::Attempt {
 public:
  explicit Attempt(State& state, bool models = false) : state_(state), current_(state.current) {
    if (models) models_ = {state.options, state.calibration, state.names, state.rules, state.most_held};
    if (state.learns()) state.estimator->mark();
  }
  ~Attempt() {
    if (kept_) {
      if (state_.learns()) state_.estimator->commit();
      return;
    }
    if (state_.learns()) state_.estimator->roll_back();
    state_.current = current_;
    if (!models_) return;
    state_.options = std::move(models_->options);
    state_.calibration = std::move(models_->calibration);
    state_.names = std::move(models_->names);
    state_.rules = std::move(models_->rules);
    state_.most_held = models_->most_held;
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  void keep() { kept_ = true; }

 private:
  struct Models {
    CascadeOptions options;
    std::vector<IsotonicMap> calibration;
    std::vector<CascadeModel> names;
    std::shared_ptr<const LaneSpec> rules;
    int most_held;
  };

  State& state_;
  const std::uint64_t current_;
  std::optional<Models> models_;
  bool kept_ = false;
};

}  // namespace pandora
