// What comes of a unit of the plan.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/ground/base/printable.hpp"
#include "host/lanes/model/preparation.hpp"
#include "host/lanes/model/trace_world.hpp"
#include "kernels/rules/tally.hpp"

namespace pandora {

/// What is worth knowing of a lane beside its sums. Most lanes have nothing to say.
struct LaneNotes {
  // What the policy chose beforehand, Order::listed: FrugalGPT's cascade and thresholds, the best single box.
  std::vector<int> list;           ///< boxes in order, from 0
  std::vector<double> thresholds;  ///< one less than there are boxes; empty if it stops after the first
  // What it had learned in the end, if the study keeps estimates.
  std::vector<double> rho;    ///< A x m
  std::vector<double> theta;  ///< d
  std::string message;        ///< what a policy of one's own did wrong, or threw
  /// In a table of outcomes, for each of the T periods: a bit for every opened box, and the deployed box in the bits
  /// from kMaxBoxes on (packed()). Empty if the lane failed.
  std::vector<std::uint32_t> outcomes;

  friend bool operator==(const LaneNotes&, const LaneNotes&) = default;
};

/// Why the lane was stopped, with what its policy said, in one line of a sensible length.
inline std::string failure_message(const LaneTally& tally, const LaneNotes& notes) {
  constexpr std::size_t kMost = 300;
  std::string text = failure_text(tally.failure);
  if (!notes.message.empty()) text += ": " + printable(notes.message, kMost);
  return text;
}

/// An outcome of a period in one number, without the order.
inline std::uint32_t packed(const PeriodOutcome& outcome) {
  std::uint32_t out = static_cast<std::uint32_t>(outcome.deployed) << kMaxBoxes;
  for (int k = 0; k < outcome.queried; ++k) out |= 1u << outcome.order[k];
  return out;
}

/// Results of one unit, in the plan's lane order.
struct UnitResult {
  std::vector<LaneTally> lanes;      ///< empty if the study simulates no policies
  std::vector<LaneNotes> notes;      ///< one per lane
  OrderFrequencies order;            ///< if the study asks for it
  std::optional<Instance> instance;  ///< likewise
  /// In a table of outcomes: the table, and the row of it behind each of the T periods.
  std::shared_ptr<const PromptOutcomes> table;
  std::vector<std::uint32_t> prompts;

  void resize(std::size_t count) {
    lanes.resize(count);
    notes.resize(count);
  }

  friend bool operator==(const UnitResult&, const UnitResult&) = default;
};

}  // namespace pandora
