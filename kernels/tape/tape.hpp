// The exogenous randomness of a replication that all its lanes share.
//
// Rows: 0 is the initial context x_0, 1..C the calibration periods, then the T online periods. Where a box can be opened
// N times in a period, the rows of the T periods come N times, with the same contexts and the outputs of the first,
// second, ... openings. A learning policy's sample is a (row, box) pair, so that nothing is copied.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/aligned.hpp"
#include "kernels/tape/instance.hpp"

namespace pandora {

/// Contexts and everything that depends on them alone. Row-major, one row per context.
struct Contexts {
  int rows = 0;
  int boxes = 0;
  int index_size = 0;    ///< m
  int index_stride = 0;  ///< m rounded up to whole vectors of 64 bytes; the padding is zero
  int reward_features = 0;
  int locations = 1;                  ///< L: 1 if all boxes share Q, A if each has its own
  SimdVector<float> psi;              ///< rows x index_stride: psi(x)
  std::vector<float> reward_context;  ///< rows x L x d: Q x
  std::vector<double> reward_shift;   ///< rows x L: theta_*' Q x, the l of (eq:sigma)
  std::vector<double> scale;          ///< rows x A: s_a(x) = 0.5 + G(alpha_a' x)
  std::vector<double> context_cost;   ///< rows x A: c_{0,a} G(beta_{0,a}' x); the whole of c_a(x) if indices are drawn
  std::vector<double> index;          ///< rows x A: Lambda(rho_a' psi(x)); empty where costs are drawn

  /// Which of the rows x L locations a box has in a row.
  std::size_t location_at(std::size_t row, int box) const {
    return row * static_cast<std::size_t>(locations) + static_cast<std::size_t>(locations == 1 ? 0 : box);
  }
  const float* psi_row(int row) const { return psi.data() + static_cast<std::size_t>(row) * index_stride; }
};

/// Consecutive periods of one purpose.
struct ContextSegment {
  Purpose purpose;
  std::uint32_t first_period;
  std::uint32_t count;
};

/// The linear maps of a context as rows of length d_x: Q (of each location), alpha, beta_0 and, where indices are
/// drawn, rho_a without its intercept. Squares among the index features have no slopes.
std::vector<double> context_maps(const Instance& instance);

Contexts draw_contexts(const Instance& instance, const std::vector<ContextSegment>& segments);

/// The box for turn number `turn`, when the boxes in the set take turns.
PANDORA_HD constexpr int nth_box(unsigned boxes, int A, int turn) {
  int left = turn % count_of(boxes, A), box = 0;
  for (;; ++box)
    if (holds(boxes, box) && left-- == 0) return box;
}

/// What learners are told of the rewards of online periods, and when, if that differs from everything at once.
/// Otherwise it is empty. All lanes share it.
struct Feedback {
  std::vector<int> first;   ///< T + 1: where the entries of a period begin in `period`
  std::vector<int> period;  ///< the online periods (0, 1, ...) whose rewards come at the end of a period, ascending
  std::vector<float> told;  ///< rows x A, the value that is told in place of the reward; empty: the reward itself
  bool late = false;        ///< whether some rewards come after their own period
  bool restarts = false;    ///< whether learners lose recently learned data (Forgetting::restart_at)

  bool at_once() const { return first.empty(); }
  /// The periods whose rewards come at the end of period t.
  std::vector<int> told_at(int t) const {
    if (at_once()) return {t};
    const auto part = [&](int of) { return period.begin() + first[static_cast<std::size_t>(of)]; };
    return {part(t), part(t + 1)};
  }
};

struct Tape {
  Contexts contexts;
  int calibration_rows = 0;  ///< C, at least the largest T_0
  int online_rows = 0;       ///< T
  std::vector<float> phi;    ///< rows x A x d: phi(x, omega_a) = Q x + D omega_a (Q_a if each box has its own)
  std::vector<double> mu;    ///< rows x A: mu*(x, omega_a) = G(theta_*' phi), (eq:reward:function)
  std::vector<double> cost;  ///< rows x A: c_a(x, omega_a)
  /// rows x A: the value that is told if this output is deployed, in [0, 1]; in the paper's model the Bernoulli(mu*)
  /// reward
  std::vector<float> reward;
  Feedback feedback;
  /// rows: which boxes are there, bit a for box a; empty: all of them, always. x_0 and the calibration have the boxes
  /// that are there from the start.
  std::vector<std::uint16_t> there_by_row;

  unsigned there(int row) const {
    return there_by_row.empty() ? kAllBoxes : there_by_row[static_cast<std::size_t>(row)];
  }
  /// The box of a calibration period: the boxes that are there take turns.
  int calibration_box(int period) const { return nth_box(there(0), boxes(), period); }
  float told(std::size_t at) const { return feedback.told.empty() ? reward[at] : feedback.told[at]; }
  int calibration_row(int period) const { return 1 + period; }
  int online_row(int period) const { return 1 + calibration_rows + period; }
  int boxes() const { return contexts.boxes; }
  std::size_t at(int row, int box) const { return static_cast<std::size_t>(row) * contexts.boxes + box; }
  const float* phi_of(int row, int box) const { return phi.data() + at(row, box) * contexts.reward_features; }
};

/// The parameters of a replication while its online periods pass.
struct Course {
  virtual ~Course() = default;
  /// Advances the parameters to online period `period` (0, 1, ...) and returns the first later period with other
  /// parameters. It is called with 0 and then with each period that it returned. theta_*, D and Q stay.
  virtual int advance(int period, Instance& instance) = 0;
};

/// Draws the tape of a replication. The draws of a period do not depend on `calibration_periods` or `periods`. `course`
/// is null if parameters do not change. `openings`: how often a box can be opened in a period; 1 with a course.
Tape draw_tape(const Instance& instance, int calibration_periods, int periods, Course* course = nullptr,
               int openings = 1);

}  // namespace pandora
