// Learns the law of each box's value, and solves the dynamic programme of every period for the laws that it has
// learned.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "linear_box.hpp"
#include "pandora/exact_programme.hpp"

namespace pandora::rivals {
namespace {

// For problems in which boxes may be deployed unopened (docs/wider.md), where no index rule is optimal. A deployment of
// an unopened box shows nothing of its law. So with probability min(1, c / sqrt(t)) a period is played as if boxes had
// to be opened before they are deployed.
class PluginProgramme : public CustomPolicy {
 public:
  PluginProgramme(const Replication& replication, double c, const EstimationOptions& options)
      : actions_(replication.actions),
        m_(replication.tape.contexts.index_size),
        c_(c),
        refit_(options.refit),
        stream_(replication.instance.stream(Purpose::custom_policy)),
        boxes_(static_cast<std::size_t>(replication.tape.boxes()), LinearBox(m_, options.index_ridges())),
        points_(boxes_.size()) {}

  bool waits_for_rewards() const override { return true; }  // it learns from mu*, not from rewards

  void calibrate(const Request& request, const Output& output, std::optional<double>) override {
    see(request);
    keep(output);
  }

  void begin(const Request& request) override {
    see(request);
    if (samples_at_fit_ == 0) fit();
    request_ = request;
    open_.clear();
    forced_.clear();
    policy_.reset();
    problem_ = {};
    numbers_.clear();
    for (std::size_t a = 0; a < boxes_.size(); ++a) {
      if (!holds(request.there, static_cast<int>(a))) continue;
      if (boxes_[a].rows.size() < kForced) forced_.push_back(static_cast<int>(a));
      numbers_.push_back(static_cast<int>(a));
    }
    if (!forced_.empty()) return;
    problem_.uninspected = actions_.uninspected && !explores();
    if (actions_.has_outside()) problem_.outside = actions_.outside;
    for (const int a : numbers_) problem_.boxes.push_back(law_of(static_cast<std::size_t>(a)));
    policy_.emplace(problem_);
  }

  int next() override {
    for (const int box : forced_)
      if (!opened(box)) return box;
    if (!policy_) return kStop;
    std::vector<int> counts;
    for (const int box : numbers_) counts.push_back(opened(box) ? 1 : 0);
    choice_ = policy_->at(counts, open_.empty() ? std::nullopt : std::optional(best().mu));
    return choice_.action == FiniteAction::open ? numbers_[static_cast<std::size_t>(choice_.box)] : kStop;
  }

  void opened(const Output& output) override { open_.push_back(output); }

  int deploy() override {
    const bool decided = policy_ && open_.size() < numbers_.size();  // if all are open, choice_ is old
    if (decided && choice_.action == FiniteAction::uninspected) return numbers_[static_cast<std::size_t>(choice_.box)];
    if (decided && choice_.action == FiniteAction::outside) return kOutside;
    return actions_.has_outside() && best().mu < actions_.outside ? kOutside : best().box;
  }

  void learn(double) override {
    for (const Output& output : open_) keep(output);
    const bool first = !forced_.empty();  // a box may have enough samples for the first time
    if (!open_.empty() &&
        (first || refit_.jointly_due(samples_, samples_at_fit_) || refit_.due_in_period(request_.period)))
      fit();
  }

 private:
  static constexpr std::size_t kForced = 10;  // a box with fewer samples is opened first
  static constexpr std::size_t kPoints = 16;  // values of a law
  static constexpr double kLeastCost = 1e-4;  // a cost that is estimated as a linear function may be below 0

  bool opened(int box) const { return std::ranges::count(open_, box, &Output::box) > 0; }
  const Output& best() const { return *std::ranges::max_element(open_, {}, &Output::mu); }

  bool explores() const {
    std::uint32_t words[4][1];
    philox<1>(stream_, {0}, {static_cast<std::uint32_t>(request_.period)}, {0}, words);
    return open_uniform(words[0][0]) < c_ / std::sqrt(static_cast<double>(request_.period));
  }

  FiniteBox law_of(std::size_t a) const {
    FiniteBox out;
    out.cost = std::max(kLeastCost, boxes_[a].cost.dot(psi_));
    const double mean = boxes_[a].theta.dot(psi_);
    for (const double residual : points_[a]) out.values.push_back(mean + residual);
    out.probabilities.assign(points_[a].size(), 1.0 / static_cast<double>(points_[a].size()));
    return out;
  }

  void see(const Request& request) {
    psi_ = Eigen::Map<const Eigen::VectorXf>(request.psi.data(), m_).cast<double>();
    contexts_.insert(contexts_.end(), request.psi.begin(), request.psi.end());
  }

  void keep(const Output& output) {
    boxes_[static_cast<std::size_t>(output.box)].add(psi_, contexts_.size() / static_cast<std::size_t>(m_) - 1, output);
    ++samples_;
  }

  // The points of each law are means of residuals, which are sorted and divided into groups of about equal size.
  void fit() {
    for (std::size_t a = 0; a < boxes_.size(); ++a) {
      std::vector<double> residuals = boxes_[a].residuals_left_out(contexts_);
      std::ranges::sort(residuals);
      const std::size_t n = residuals.size(), points = std::min(kPoints, n);
      points_[a].clear();
      for (std::size_t k = 0; k < points; ++k) {
        const std::size_t first = k * n / points, last = (k + 1) * n / points;
        double sum = 0.0;
        for (std::size_t i = first; i < last; ++i) sum += residuals[i];
        points_[a].push_back(sum / static_cast<double>(last - first));
      }
    }
    samples_at_fit_ = samples_;
  }

  const Actions actions_;
  const int m_;
  const double c_;
  const RefitSchedule refit_;
  const Stream stream_;
  std::vector<LinearBox> boxes_;
  std::vector<std::vector<double>> points_;  // by box
  std::vector<float> contexts_;              // m features of every request so far
  int samples_ = 0, samples_at_fit_ = 0;
  Eigen::VectorXd psi_;  // of the current period, like all members below
  Request request_;
  std::vector<int> numbers_;  // the boxes of problem_, in its order
  std::vector<int> forced_;   // boxes with too few samples, which are opened
  FiniteProblem problem_;
  std::optional<FinitePolicy> policy_;
  FiniteChoice choice_;
  std::vector<Output> open_;
};

}  // namespace

Policy plugin_programme() {
  return {
      .name = "plugin_programme",
      .title = "Plug-in programme",
      .group = PolicyGroup::past_the_paper,
      .summary =
          "learns the law of what each box brings, and solves every period's dynamic programme for it; for problems "
          "in which boxes may be deployed unopened",
      .by_name_only = true,
      .hyperparameters =
          {{"c_programme", "plugin_programme deploys no unopened box with probability c / sqrt(t)", {1.0}, 0.0}},
      .variants = [](const Grids& grids) {
        std::vector<PolicyVariant> variants;
        for (const double c : grids.values("c_programme"))
          variants.push_back({"known",
                              fmt::format("c_programme={}", c),
                              {},
                              [=](const Replication& replication, int, const EstimationOptions& options) {
                                return std::make_unique<PluginProgramme>(replication, c, options);
                              },
                              demand_of_linear_boxes});
        return variants;
      }};
}

}  // namespace pandora::rivals
