// A cascade that runs: which model to call next for a prompt, when to stop, which answer to deploy. It is what
// `pandora cascade fit` writes and `pandora cascade test` runs, and what a service holds.
//
//   Cascade cascade = Cascade::load("cascade.json");
//   const std::uint64_t request = cascade.begin(prompt);
//   while (const auto model = cascade.next(request)) {
//     ... call cascade.model_name(*model) ...
//     cascade.observe(request, *model, {dollars, {score}});
//   }
//   deploy the answer of cascade.deploy(request)
//   cascade.feedback(request, quality);  // now, later, in another order, or never
//
// Of the kind `thresholds` it is an order of models, each with the calibrated score from which nothing more is
// called (the best answer so far is deployed, an earlier one too); it learns nothing. Of the kinds `router` and `routed`
// the prompt's features choose among plans, each a model alone or such an order. Of the kind `indices` it is a
// lane of the engine with its rules (kernels/rules/spec.hpp): Weitzman's policy with indices that depend on the
// prompt and go on being learned, by the estimator of the reference engine (pandora/weitzman.hpp). Fed with the
// periods of a replication in order, each with its feedback at once, it decides and estimates as `--engine
// reference` does, in every digit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/random/philox.hpp"
#include "kernels/rules/estimation.hpp"
#include "pandora/lane.hpp"
#include "pandora/prompt.hpp"

namespace pandora {

/// What opening a model brought.
struct Observation {
  double dollars = 0.0;  ///< of the call and of whoever judges the answer; finite, not negative
  /// What the evaluator shows of the answer: one number in [0, 1], the quality itself or a judge's score. With the
  /// evaluator column:NAME the d numbers phi(x, omega_a) as they are.
  std::vector<double> scores;
  double latency = std::numeric_limits<double>::quiet_NaN();  ///< seconds; only logged
};

/// E[quality | score] of a model as knots, linear between them and constant beyond. Without knots a score is its own
/// quality.
struct ScoreCalibration {
  std::vector<double> scores;     ///< strictly ascending
  std::vector<double> qualities;  ///< nondecreasing, as many
};

/// Numbers of psi lie between this and its negative, unless CascadeOptions::psi_range says what a fit saw: with greater
/// ones designs lose the digits that estimates are solved by.
inline constexpr double kMostPsi = 1000.0;

/// What a router can choose: models in an order, with thresholds as CascadeOptions has them. Empty: nothing any more.
struct CascadePlan {
  std::vector<std::size_t> order;
  std::vector<double> thresholds;  ///< one fewer than models
};

/// The defaults of studies, with at most 100,000 samples a model, so that a service's memory stays bounded.
inline EstimationOptions live_estimation() {
  EstimationOptions options;
  options.most_samples = 100'000;
  return options;
}

/// What a cascade is made of. Name the members that differ (designated initialisers).
struct CascadeOptions {
  std::vector<std::string> models;  ///< names, 1 to 16 different ones
  double price = 0.0;               ///< utility per dollar; finite, not negative
  /// What the scores of an observation are: "quality" (the truth), "score" or "score:NAME" (a judge's), "column:NAME";
  /// "none" where one model alone is called for every prompt.
  std::string evaluator = "quality";
  /// How quality is estimated from a score, of each model; empty: a score is its own quality. Rules that learn the
  /// reward do not use it.
  std::vector<ScoreCalibration> calibration = {};

  /// The kind `thresholds`: positions in `models`, each at most once, and from which estimated quality on an answer is
  /// accepted: order.size() - 1 of them.
  std::vector<std::size_t> order = {};
  std::vector<double> thresholds = {};

  /// The kinds `router`, where every plan is one model, and `routed`: plans, and what predicts their worth from psi, as a
  /// fit wrote it (JSON).
  std::vector<CascadePlan> plans = {};
  std::string router = {};

  /// The kind `indices`: a lane's rules, such as dow_rules() below.
  std::optional<LaneSpec> rules = {};
  /// Refit schedule, ridges and what is forgotten; what else it can say is not looked at.
  EstimationOptions estimation = live_estimation();
  /// psi(x): the features of prompts as `pandora trace features` writes them (JSON); psi is 1 and these. Empty: begin()
  /// is given psi itself, of m = `index_features` numbers.
  std::string features = {};
  int index_features = 1;   ///< m, without `features`
  int reward_features = 0;  ///< d, with the evaluator column:NAME alone
  /// Of the kinds that look at psi, for each of the m numbers of psi the least and the greatest that the fit saw: a request's
  /// number beyond is taken for the nearer one. Empty: one beyond kMostPsi is refused.
  std::vector<std::pair<float, float>> psi_range = {};
  Stream exploration{.purpose = Purpose::exploration};  ///< of rules that draw (epsilon, Thompson)
  Stream random_order{.purpose = Purpose::random_order};

  /// Requests that are remembered until their feedback has come. Of more, the oldest is dropped and counted. This and
  /// `estimation.most_samples` are made smaller where more than that would not fit into a file (Cascade::options()).
  std::size_t most_requests = 65'536;
  /// Cascade::set_explore(), in [0, 1].
  double explore = 0.0;
  /// A model whose calls have failed so often in a row rests for so many requests; then one request tries it again, and
  /// the next ones do when that call has not failed. 0 failures: it never rests.
  int failures_until_rest = 5;
  std::uint64_t requests_of_rest = 100;
  /// add_model(): calls of a new model that come before its index decides, one in each request.
  int trial_calls = 30;
  std::string about = {};  ///< JSON: how it was fitted and what it promises; kept and shown, of no effect
};

/// Weitzman's rule with optimistic indices (alg:DOW:detailed) and with indices shrunk towards each other
/// (docs/beyond.md), as rules of a cascade. `learns_reward`: whether quality is learned from the feedback, rather than
/// known from the evaluator; then c_theta is the width of a bonus on it. `T0`: calibrate() calls that come first, in
/// periods.
LaneSpec dow_rules(bool learns_reward, double c_rho, double c_theta, int T0 = 0);
LaneSpec shrunk_rules(bool learns_reward, double c_shrunk, int T0 = 0, double c_theta = 0.0);

struct CascadeModel {
  std::string name;
  bool removed = false;
  int failures = 0;               ///< in a row, of the last calls
  std::uint64_t rests_until = 0;  ///< the request, counted from 1, from which on it is tried again; 0: it does not rest
  std::uint64_t tried_by = 0;     ///< the request that tries it then
  int trial = 0;                  ///< calls that are left until its index decides (CascadeOptions::trial_calls)
};

/// How often what has happened.
struct CascadeCounts {
  std::uint64_t requests = 0, calls = 0, deployed = 0, feedbacks = 0;
  std::uint64_t failures = 0, cancelled = 0;
  std::uint64_t dropped_open = 0;     ///< requests forgotten before they were deployed
  std::uint64_t dropped_waiting = 0;  ///< likewise, before their feedback came
  double dollars = 0.0;               ///< of all calls
  double quality = 0.0;               ///< sum over feedbacks
  std::uint64_t unlearned = 0;  ///< what learning beside decisions could not solve with, since it was made or loaded
  std::uint64_t unlogged = 0;   ///< lines that a decision log lost, since it began
  int unsolved_refits = 0;      ///< WeitzmanEstimator::unsolved_refits(), since it was made or loaded
};

/// Why a request went as it did. Boxes are positions in models(); numbers that the rules do not have are NaN.
struct CascadeExplanation {
  struct Model {
    double prediction = 0.0;  ///< rho_hat' psi; of a router the utility of the best plan that begins with the model
    double width = 0.0;       ///< ||psi||_{V^-1}
    double bonus = 0.0;       ///< what is added to the prediction
    double score = 0.0;       ///< what it is ranked by: its index; the threshold, in the kind `thresholds`
  };
  struct Call {
    std::size_t model = 0;
    double dollars = 0.0;
    double quality = 0.0;  ///< as it was estimated from what the evaluator showed; NaN where nothing was shown
  };
  std::uint64_t request = 0;
  std::string evaluator;            ///< through whose eyes it sees
  std::optional<double> judge_usd;  ///< of a call, as the fit counted it; none where nobody said
  std::vector<Model> models;
  std::vector<Call> calls;              ///< in order
  std::optional<std::size_t> next;      ///< while it is open: the model to call
  std::optional<std::size_t> deployed;  ///< once it is
  std::string stopped;                  ///< why no further model is called; empty while one is
};

/// Where and how decisions are logged (Cascade::log_to).
struct DecisionLogOptions {
  std::filesystem::path folder;
  std::uint64_t file_bytes = std::uint64_t{16} << 20;  ///< a file that has so many is followed by another one
  std::uint64_t most_bytes = std::uint64_t{1} << 30;   ///< of all files: beyond, the oldest goes
  bool prompts = false;                                ///< whether lines have the prompts' texts and columns
};

/// Safe for threads: requests may interleave, and the order of effects is the order of calls. A child that is forked
/// goes on with a copy. Every member throws Error (usage) for a request that is not known (any more), a step out of
/// turn or a number out of range. After an exception of any kind all is as it was before the call.
class Cascade {
 public:
  explicit Cascade(const CascadeOptions& options);
  ~Cascade();
  Cascade(Cascade&&) noexcept;
  Cascade& operator=(Cascade&&) noexcept;

  /// Throws Error (bad_data) for a file that is not a whole cascade, or was changed by hand.
  static Cascade load(const std::filesystem::path& path);
  /// Whole or not at all. A cascade that is saved at any time and loaded goes on as if nothing had been. Throws Error
  /// (output_lost).
  void save(const std::filesystem::path& path) const;
  /// The same as text.
  static Cascade parse(const std::string& text, const std::string& name);
  std::string text() const;

  CascadeOptions options() const;                             ///< as they are now
  std::vector<CascadeModel> models() const;                   ///< positions stay the same
  std::string model_name(std::size_t model) const;            ///< of a position, also of one that add_model() has made
  std::vector<float> context_of(const Prompt& prompt) const;  ///< psi(x), m numbers

  /// A sample from before: model `model` was called for the prompt (and for others after that with the same `period`)
  /// and, where `quality` is given, deployed. Before the first begin() alone. Kind `indices` alone.
  void calibrate(int period, std::span<const float> psi, std::size_t model, const Observation& observation,
                 std::optional<double> quality);

  /// What whoever feeds observe() must know before the first request of a live use, as a sentence; empty: nothing. With
  /// the evaluator quality, where several models may be called: that a score must be the true quality of the answer.
  std::string caution() const;

  /// A request arrives; the number that names it from here on. Throws Error (usage) where the prompt lacks its text or
  /// a column that the features are made of.
  std::uint64_t begin(const Prompt& prompt);
  std::uint64_t begin(std::span<const float> psi);
  /// The model to call next; nothing if it is time to deploy. The same answer until observe().
  std::optional<std::size_t> next(std::uint64_t request);
  /// Whether what is shown of an answer matters, so that it is to be judged: not where one model alone can be called for
  /// the request and nothing is learned. observe() then takes an observation without scores.
  bool needs_score(std::uint64_t request) const;
  /// The model that next() named was called.
  void observe(std::uint64_t request, std::size_t model, const Observation& observation);
  /// The model that next() named gave no answer: the request goes on without it, a router by another plan. Nothing is
  /// learned; the dollars are counted, and so is the failure (CascadeOptions::failures_until_rest).
  void fail(std::uint64_t request, std::size_t model, double dollars = 0.0, const std::string& reason = "");
  /// Likewise of a model that is not called for this request, such as one that cannot take so long a prompt, or whose
  /// answer could not be judged. It is no failure.
  void skip(std::uint64_t request, std::size_t model, double dollars = 0.0);
  /// A request that has called nothing yet calls that model alone, whatever the rules say; if that fails, it goes by the
  /// rules after all. Throws Error (usage) for a model that is not there or was passed over.
  void only(std::uint64_t request, std::size_t model);
  /// Ends a request that is not deployed, of which nothing is learned.
  void cancel(std::uint64_t request);
  /// Ends the request with the best answer that was called for; its model. At least one model was called; next() need
  /// not have said nothing. What was seen is learned from.
  std::size_t deploy(std::uint64_t request);
  /// The quality of the deployed answer, in [0, 1]; once.
  void feedback(std::uint64_t request, double quality);
  /// Until its feedback has come or it is dropped.
  CascadeExplanation explain(std::uint64_t request) const;
  std::string explain_json(std::uint64_t request) const;  ///< the same as JSON, with the models' names
  CascadeCounts counts() const;
  /// Numbers of the requests that are not deployed, in the order in which they began.
  std::vector<std::uint64_t> open_requests() const;

  /// A number is below 2^53, which JSON and Python carry exactly, and nobody else's: its upper 33 bits are the epoch,
  /// which every object draws anew that begins requests, made or loaded, also in a forked child; the lower 20 bits
  /// count, and a new epoch follows when they are through. It is not saved, and no part of what is learned. Who makes
  /// calls again that were made before (a journal) sets the epoch that they were made in. With 0 numbers are 1, 2, 3,
  /// ..., as those of the next object that is loaded are: for who has one object alone, or compares.
  std::uint64_t epoch();
  void set_epoch(std::uint64_t epoch);

  /// At each step of a request with probability `explore` a model that is drawn from those not called yet is called,
  /// in place of what the rules would do, also of stopping; and of the answers a drawn one is deployed. So a decision
  /// log tells what other cascades would bring. 0: never. Where nothing is shown of answers (evaluator none), nothing is
  /// called after the first model.
  void set_explore(double explore);
  /// From now on a line of JSON is appended for every request that is deployed, and for every feedback, to
  /// FOLDER/decisions-N.jsonl (docs/serving.md), which `pandora trace check` and `pandora cascade` read as a log. Where a
  /// line cannot be written, deciding goes on, and CascadeCounts::unlogged counts it. The files are for their owner alone
  /// (mode 0600). It is no part of the file of
  /// save(). Throws Error (output_lost) where the folder cannot be made.
  void log_to(const DecisionLogOptions& options);

  // Learning beside decisions: what is told waits until a thread learns from it, while decisions go by the estimates that
  // were adopted last, so that no call waits for a refit. For whoever has such a thread (Store).

  /// Whether so. Off: nothing waits.
  void set_beside(bool on);
  bool is_beside() const;
  /// Learns from what waits, while others go on; from how much that is not adopted yet. One thread at a time.
  std::uint64_t learn_waiting();
  /// Decisions go by what was learned from so much more from now on: where learn_waiting() has just said so many, at once.
  /// Throws Error (usage) for less than was learned and more than there is.
  void adopt(std::uint64_t more);
  /// How much was told that is not adopted.
  std::uint64_t not_adopted() const;

  /// Whether begin, observe, deploy and feedback change the estimates (they do at first). Off: every request is judged
  /// by the cascade as it is.
  void set_learning(bool on);
  /// A model more, at the end, which the next trial_calls requests call first; one that was removed comes back with what
  /// was learned of it. Where scores are calibrated, those of a new model are read as those of the others on average.
  /// Throws Error (usage) for a kind that learns nothing, and beyond 16.
  std::size_t add_model(const std::string& name);
  /// Is never called again; requests that are open and about to call it go on without it. At least one stays.
  void remove_model(const std::string& name);
  /// What was learned is made over to the new price, positive as the old one was. Throws Error (usage) for a kind that
  /// learns nothing, which holds for the price that it was fitted for, and for rules that learn payoffs (LinUCB).
  void set_price(double price);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pandora
