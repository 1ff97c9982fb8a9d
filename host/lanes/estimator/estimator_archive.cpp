// An estimator as bytes: every number with all its bits, in one fixed order that saving and loading share.
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "host/ground/files/sealed_file.hpp"
#include "host/lanes/estimator/estimator_state.hpp"

namespace pandora {

namespace {

constexpr const char* kKind = "estimator";

class EstimatorWriter {
 public:
  // Without samples it writes only what the questions of a period need.
  explicit EstimatorWriter(bool with_samples = true) : with_samples_(with_samples) {}
  template <class... T>
  void numbers(T&... values) {
    (numbers_.push_back(static_cast<double>(values)), ...);
  }
  // One number for each sample, or for each object that samples share.
  void samples(int& count) { numbers_.push_back(with_samples_ ? count : 0); }
  template <class... Values>
  void samples(Values&... values) {
    ((with_samples_ ? list(values) : numbers_.push_back(0.0)), ...);
  }
  template <class Values>
  void list(Values& values) {
    numbers_.push_back(static_cast<double>(values.size()));
    if constexpr (std::is_same_v<typename Values::value_type, float>)
      floats_.insert(floats_.end(), values.begin(), values.end());
    else
      numbers_.insert(numbers_.end(), values.begin(), values.end());
  }
  template <class Matrix>  // or a vector, whose size is known
  void matrix(Matrix& values) {
    numbers_.insert(numbers_.end(), values.data(), values.data() + values.size());
  }
  void matrix(SharedMatrix& values) { matrix(*values); }
  bool ended() const { return false; }
  std::size_t size_of_numbers() const { return 8 * numbers_.size(); }
  std::string bytes() const {
    return seal(kKind, {{"numbers", pack(numbers_)}, {"floats", pack<float>(floats_)}, {"count", floats_.size()}});
  }

 private:
  bool with_samples_;
  std::vector<double> numbers_;
  std::vector<float> floats_;
};

class EstimatorReader {
 public:
  explicit EstimatorReader(std::string_view bytes) {
    const nlohmann::json content = unseal(kKind, bytes);
    try {
      numbers_ = unpack(content.at("numbers"));
      if (!content.at("count").is_number_unsigned()) throw Damaged("is no estimator");
      floats_ = unpack<float>(content.at("floats"), content.at("count").get<std::size_t>());
    } catch (const nlohmann::json::exception&) {
      throw Damaged("is no estimator");
    }
  }

  template <class... T>
  void numbers(T&... values) {
    (take(values), ...);
  }
  void samples(int& count) { take(count); }
  template <class... Values>
  void samples(Values&... values) {
    (list(values), ...);
  }
  template <class Values>
  void list(Values& values) {
    const double size = next(numbers_, next_number_);
    const std::size_t left = std::is_same_v<typename Values::value_type, float> ? floats_.size() - next_float_
                                                                                : numbers_.size() - next_number_;
    if (!(size >= 0.0 && size <= static_cast<double>(left))) throw Damaged("has a list that is longer than the file");
    values.resize(static_cast<std::size_t>(size));
    for (auto& value : values) take(value);
  }
  template <class Matrix>
  void matrix(Matrix& values) {
    for (Eigen::Index k = 0; k < values.size(); ++k) take(values.data()[k]);
  }
  void matrix(SharedMatrix& values) { matrix(values.change()); }
  // Numbers that older files do not have.
  bool ended() const { return next_number_ == numbers_.size(); }
  void finish() const {
    if (next_number_ != numbers_.size() || next_float_ != floats_.size()) throw Damaged("has more than an estimator");
  }

 private:
  template <class T>
  static T next(const std::vector<T>& values, std::size_t& at) {
    if (at == values.size()) throw Damaged("has less than an estimator");
    return values[at++];
  }
  void take(float& value) { value = next(floats_, next_float_); }
  void take(double& value) { value = next(numbers_, next_number_); }
  template <class T>  // a count, a position or a flag
  void take(T& value) {
    const double found = next(numbers_, next_number_);
    if (!(std::abs(found) < 2147483648.0) || found != std::floor(found)) throw Damaged("has a count that cannot be");
    value = static_cast<T>(found);
  }

  std::vector<double> numbers_;
  std::vector<float> floats_;
  std::size_t next_number_ = 0, next_float_ = 0;
};

void require_whole(bool holds) {
  if (!holds) throw Damaged("has an estimator of another shape");
}

}  // namespace

template <class Archive>
void WeitzmanEstimator::State::visit(Archive& archive) {
  bool has_begun = psi.size() > 0;
  archive.numbers(has_begun, has_row, calibrated, unsettled, period, faded_at);
  archive.samples(contexts.rows);
  archive.numbers(reward_samples_at_solve);
  if (has_begun) {
    psi.resize(m);
    archive.matrix(psi);
  }
  archive.samples(contexts.psi, reward_samples.phi);
  for (BoxEstimate& box : boxes) {
    archive.matrix(box.rho);
    for (SharedMatrix* matrix : {&box.design_inverse, &box.curvature_inverse, &box.cross}) archive.matrix(*matrix);
    archive.samples(box.samples.rows, box.samples.cost, box.samples.mu, box.samples.weight, box.samples.phi);
    archive.numbers(box.count, box.samples_at_solve, box.samples_at_curvature, box.due, box.mass, box.reward_widths);
  }
  archive.list(reward_memory);
  archive.samples(reward_samples.reward, reward_samples.weight);
  archive.numbers(joint.state.ridge_mean, joint.state.ridge_own);
  for (double& dispersion : joint.state.dispersion) archive.numbers(dispersion);
  archive.numbers(joint.state.samples, joint.state.samples_at_solve);
  if (archive.ended()) return;
  archive.numbers(joint.state.squares, joint.state.scale);  // they outlive the samples from which they were learned
}

std::string WeitzmanEstimator::saved(bool with_samples) const {
  EstimatorWriter writer(with_samples);
  state_->visit(writer);  // only reads
  return writer.bytes();
}

// A sample takes most memory if no other shares its context and its feedback has come.
int WeitzmanEstimator::most_samples_within(std::size_t bytes) const {
  const State& own = *state_;
  EstimatorWriter empty(false);
  state_->visit(empty);
  const std::size_t least = empty.size_of_numbers();
  if (bytes <= least) return 0;
  if (own.rules.learns_payoff()) return std::numeric_limits<int>::max();  // only sums are kept
  const std::size_t weight = own.options.forgetting.half_life > 0.0 ? 8 : 0, phi = 4 * static_cast<std::size_t>(own.d);
  const std::size_t one = 4 * static_cast<std::size_t>(own.contexts.index_stride) + 24 + weight +
                          (own.rules.learns_reward() ? 2 * phi + 8 + weight : 0);
  return static_cast<int>(std::min<std::size_t>((bytes - least) / (static_cast<std::size_t>(own.A) * one),
                                                std::numeric_limits<int>::max()));
}

void WeitzmanEstimator::State::restore(std::string_view bytes) {
  EstimatorReader reader(bytes);
  const std::size_t memory = reward_memory.size(), rewards = static_cast<std::size_t>(d);
  visit(reader);
  reader.finish();
  const std::size_t rows = static_cast<std::size_t>(contexts.rows);
  require_whole(contexts.rows >= 0 && contexts.psi.size() == rows * contexts.index_stride);
  for (BoxEstimate& box : boxes) {
    const IndexSamples& samples = box.samples;
    const std::size_t n = samples.rows.size();
    require_whole(samples.cost.size() == n && samples.mu.size() == n);
    require_whole(samples.weight.empty() || samples.weight.size() == n);
    require_whole(samples.phi.size() == (rules.learns_reward() && rules.learns_index() ? n * rewards : 0));
    for (const int row : samples.rows) require_whole(row >= 0 && row < contexts.rows);
    box.has_image = false;
  }
  require_whole(reward_memory.size() == memory && reward_samples.phi.size() == reward_samples.reward.size() * rewards);
  require_whole(reward_samples.weight.empty() || reward_samples.weight.size() == reward_samples.reward.size());
  reward = RewardState::over(reward_memory.data(), d);
}

}  // namespace pandora
