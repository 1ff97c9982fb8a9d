// Indices that a cascade asks for and learns: the engine's estimator on numbers from Python.
#include <fmt/format.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>

#include "beside.hpp"
#include "host/ground/files/sealed_file.hpp"
#include "host/lanes/estimator/checks.hpp"
#include "host/lanes/estimator/rules_json.hpp"
#include "host/outcomes/tables/features.hpp"
#include "host/studies/study/study.hpp"
#include "kernels/rules/period.hpp"
#include "pandora/lane.hpp"
#include "pandora/weitzman.hpp"
#include "rows.hpp"

namespace pandora::python {
namespace {

using Psi = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using PsiRows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Given = std::tuple<int, std::vector<float>, double, double>;  // box, phi, cost, mu: an Output

constexpr double kMostSquares = 1 << 30;  // bytes of matrices

// Returns the result of `read` for JSON; UsageError if it fails.
template <class Read>
auto made_of(const std::string& json, const Read& read) {
  try {
    return read(nlohmann::json::parse(json));
  } catch (const nlohmann::json::exception&) {
    throw misuse("cascade: its rules or settings of estimation are not JSON");
  } catch (const Damaged& damage) {
    throw misuse(fmt::format("cascade: its file {}", damage.what()));
  }
}

Stream exploration_of(const std::string& json) {
  return made_of(json, [](const auto& numbers) { return stream_of(numbers, Purpose::exploration); });
}

LaneSpec sound_rules(const std::string& json, const EstimatorShape& shape) {
  const LaneSpec rules = made_of(json, rules_of);
  if (!rules.learns_scores() || rules.order == Order::listed)
    throw misuse("cascade: the rules must learn an index or a payoff, and have no fixed order");
  for (const double number : {rules.c_rho, rules.c_theta, rules.c_b})
    if (!(number >= 0.0 && number <= 1e6))
      throw misuse(fmt::format("cascade: the width of a bonus is {:g}; give a number from 0 to 1e6", number));
  const double A = shape.boxes, m = shape.index_features;
  if (8.0 * A * m * m * (rules.fits_jointly() ? 1.0 + A : 2.0) > kMostSquares)
    throw misuse(fmt::format(
        "{} models with contexts of {} numbers take more than 1 GiB; give fewer numbers, such as text:64", A, m));
  return rules;
}

// The estimator, with checks of what Python gives.
class IndexEstimator : public WeitzmanEstimator {
 public:
  IndexEstimator(const EstimatorShape& shape, const LaneSpec& rules, WeitzmanEstimator estimator)
      : WeitzmanEstimator(std::move(estimator)), shape_(shape), marked_(shape), rules_(rules) {}
  static void make(IndexEstimator* self, const std::string& rules, const std::string& estimation, int boxes, int m,
                   int d, const std::string& exploration) {
    const EstimatorShape shape{boxes, m, d, exploration_of(exploration)};
    const LaneSpec sound = sound_rules(rules, shape);
    new (self) IndexEstimator(shape, sound, {shape, sound, made_of(estimation, estimation_of)});
  }

  /// Learns from rows: each has the answers of all boxes. Rows are calibration periods 1, 2, ...
  void teach(const std::optional<PsiRows>& psi, const Cells& cost, const Cells& shown, const Cells& quality,
             const RowNumbers& rows, const IndexEstimator* near) {
    const Rows given(*this, psi, cost, shown);
    require_shape("quality", quality, given.size, boxes());
    const std::vector<std::size_t> which = rows_of(rows, given.size);
    beside([&](Beside& work) {
      int period = 0;
      for (const std::size_t row : which) {
        if (work.interrupted) throw Error(ExitCode::interrupted, "interrupted");
        const Request request{++period, given.psi_of(row), {}};
        for (std::size_t a = 0; a < boxes(); ++a)
          calibrate(request, given.output(row, a), quality.data()[row * boxes() + a]);
      }
      if (near != nullptr) start_at(*near);
      return true;
    });
  }

  using Walked = std::tuple<Array<std::int8_t>, Array<std::int32_t>>;
  /// Decides rows without learning.
  Walked run(const std::optional<PsiRows>& psi, const Cells& cost, const Cells& shown, const RowNumbers& rows,
             unsigned there) {
    const Rows given(*this, psi, cost, shown);
    const std::vector<std::size_t> which = rows_of(rows, given.size);
    std::vector<std::int8_t> called(which.size() * boxes(), -1);
    std::vector<std::int32_t> deployed(which.size());
    beside([&](Beside& work) {
      std::vector<double> score(boxes());
      for (std::size_t k = 0; k < which.size(); ++k) {
        if (work.interrupted) throw Error(ExitCode::interrupted, "interrupted");
        WeitzmanEstimator::begin({static_cast<int>(k) + 1, given.psi_of(which[k]), {}});
        for (std::size_t a = 0; a < boxes(); ++a) score[a] = index(static_cast<int>(a));
        std::int8_t* next = called.data() + k * boxes();
        const auto reward_of = [&](int a) {
          *next++ = static_cast<std::int8_t>(a);
          return WeitzmanEstimator::reward(given.output(which[k], static_cast<std::size_t>(a)));
        };
        const PeriodOutcome walk =
            walk_period(rules_, PeriodRules(rules_), shape_.boxes, score.data(), nullptr, reward_of, there);
        deployed[k] = walk.deployed;
      }
      return true;
    });
    return {array_of(std::move(called), {which.size(), boxes()}), array_of(std::move(deployed))};
  }

  void begin(int period, const Psi& psi) {
    if (psi.size() != static_cast<std::size_t>(shape_.index_features))
      throw misuse(fmt::format("psi has {} numbers; {} are taken", psi.size(), shape_.index_features));
    WeitzmanEstimator::begin({period, span_of(psi), {}});
  }

  using Asked = std::tuple<std::vector<double>, std::vector<double>, std::vector<double>, std::vector<double>>;
  Asked ask() {
    Asked out;
    for (int a = 0; a < shape_.boxes; ++a) {
      std::get<0>(out).push_back(index(a));
      std::get<1>(out).push_back(linear(a));
      std::get<2>(out).push_back(width(a));
      std::get<3>(out).push_back(bonus(a) * (rules_.has_width_bonus() ? std::get<2>(out).back() : 1.0));
    }
    return out;
  }

  double reward(const Given& given) { return WeitzmanEstimator::reward(sound(given)); }

  void learn_outputs(const std::vector<Given>& given) {
    std::vector<Output> outputs;
    for (const Given& one : given) outputs.push_back(sound(one));
    WeitzmanEstimator::learn_outputs(outputs);
  }

  void learn_reward(const Given& given, double quality) {
    WeitzmanEstimator::learn_reward(sound(given), static_cast<float>(quality));
    end_period();
  }

  std::unique_ptr<IndexEstimator> estimates() const {
    return std::make_unique<IndexEstimator>(shape_, rules_, WeitzmanEstimator::estimates());
  }

  void restore(const nb::bytes& bytes) {
    try {
      WeitzmanEstimator::restore({bytes.c_str(), bytes.size()});
    } catch (const Damaged& damage) {
      throw Error(ExitCode::bad_data, fmt::format("what was learned {}", damage.what()));
    }
  }

  void add_box(int more) {
    WeitzmanEstimator::add_box(more);
    ++shape_.boxes;
    shape_.reward_features += more;
  }

  void mark() {
    WeitzmanEstimator::mark();
    marked_ = shape_;
  }
  void roll_back() {
    WeitzmanEstimator::roll_back();
    shape_ = marked_;
  }

  int boxes_of_learning() const { return shape_.boxes; }
  const LaneSpec& rules() const { return rules_; }

 private:
  std::size_t boxes() const { return static_cast<std::size_t>(shape_.boxes); }

  Output sound(const Given& given) const {
    const auto& [box, phi, cost, mu] = given;
    if (box < 0 || box >= shape_.boxes || phi.size() != static_cast<std::size_t>(shape_.reward_features))
      throw misuse(fmt::format("an output of box {} with {} features", box, phi.size()));
    return {box, phi, cost, mu};
  }

  // Rows of a table, n x A. The value that is shown of an answer is its quality, or a judge's score from which the
  // quality is learned.
  struct Rows {
    std::size_t size;
    std::optional<PsiRows> psi;
    Cells cost, shown;
    std::size_t boxes, features;
    mutable std::vector<float> phi;

    Rows(const IndexEstimator& of, std::optional<PsiRows> of_psi, Cells of_cost, Cells of_shown)
        : size(of_cost.shape(0)),
          psi(std::move(of_psi)),
          cost(std::move(of_cost)),
          shown(std::move(of_shown)),
          boxes(of.boxes()),
          features(static_cast<std::size_t>(of.shape_.index_features)),
          phi(static_cast<std::size_t>(of.shape_.reward_features)) {
      require_shape("cost", cost, size, boxes);
      require_shape("shown", shown, size, boxes);
      if (psi ? psi->shape(0) != size || psi->shape(1) != features : features != 1)
        throw misuse(fmt::format("psi must be {} x {}", size, features));
      if (!phi.empty() && phi.size() != 2 * boxes) throw misuse("features of outputs do not stand in tables");
    }
    std::span<const float> psi_of(std::size_t row) const {
      static constexpr float kOne = 1.0f;
      return psi ? std::span(psi->data() + row * features, features) : std::span(&kOne, 1);
    }
    Output output(std::size_t row, std::size_t a) const {
      const std::size_t at = row * boxes + a;
      if (!phi.empty()) {
        std::fill(phi.begin(), phi.end(), 0.0f);
        phi[2 * a] = 1.0f;
        phi[2 * a + 1] = static_cast<float>(logit_of_score(shown.data()[at]));
      }
      return {static_cast<int>(a), phi, cost.data()[at], shown.data()[at]};
    }
  };

  EstimatorShape shape_, marked_;
  LaneSpec rules_;
};

std::string rules_text(const std::string& policy, bool learns_reward, double width, int first_periods,
                       double reward_width, int forced) {
  const RewardModel reward = learns_reward ? RewardModel::learned : RewardModel::known;
  const double c_theta = learns_reward ? reward_width : 0.0;
  if (policy != "dow" && policy != "shrunk_weitzman")
    throw misuse("policy " + policy + ": unknown; use shrunk_weitzman or dow");
  LaneSpec rules = policy == "dow" ? weitzman_lane(first_periods, Learning::online, reward, width, c_theta)
                                   : shrunk_lane(first_periods, reward, width, c_theta);
  rules.forced = std::max(rules.forced, forced);
  return rules_json(rules).dump();
}

std::string estimation_text(const std::string& refit, double forget, int most_samples) {
  EstimationOptions options;
  if (!refit.empty()) options.refit = parse_refit(refit);
  options.forgetting.half_life = forget;
  options.most_samples = most_samples;
  return estimation_json(options).dump();
}

// The rules after a period's random draws: an order of all boxes if it is random, and whether the period never stops.
std::tuple<std::string, std::string, std::vector<int>> period_rules(const IndexEstimator& of, std::uint32_t draw,
                                                                    const std::string& exploration,
                                                                    const std::string& random_order) {
  const PeriodRules drawn(of.rules(), exploration_of(exploration), draw);
  std::vector<int> permutation;
  if (drawn.order == Order::random) {
    int order[kMaxBoxes];
    random_permutation(stream_of(nlohmann::json::parse(random_order), Purpose::random_order), draw,
                       of.boxes_of_learning(), order);
    permutation.assign(order, order + of.boxes_of_learning());
  }
  constexpr const char* stops[] = {"best_reaches_scores_left", "last_reaches_threshold", "after_first", "never"};
  return {drawn.order == Order::random ? "random" : "by_score", stops[static_cast<int>(drawn.stop)], permutation};
}

}  // namespace

void bind_indices(nb::module_& module) {
  using Self = IndexEstimator;
  constexpr auto free = nb::call_guard<WithoutGil>();
  nb::class_<Self>(module, "IndexEstimator",
                   "rho_hat, V^-1, theta_hat and Phi^-1 of A models, as cascades of the kind indices learn them. An "
                   "output is (box, phi f32[d], cost, mu).")
      .def("__init__", &Self::make, nb::arg("rules"), nb::arg("estimation"), nb::arg("boxes"), nb::arg("m"),
           nb::arg("d"), nb::arg("exploration"),
           "rules, estimation and exploration: JSON, as files of cascades have them. DataError or UsageError for what "
           "cannot be.")
      .def("teach", &Self::teach, nb::arg("psi").none(), nb::arg("cost"), nb::arg("shown"), nb::arg("quality"),
           nb::arg("rows"), nb::arg("near").none() = nb::none(),
           "Call it first: learns from all models' answers to these rows, i64[k]. psi f32[n,m], None where m is 1; "
           "cost, in utility, shown and quality f64[n,A]. near: an object that learned from nearly the same rows; "
           "solves start from its estimates.")
      .def("run", &Self::run, nb::arg("psi").none(), nb::arg("cost"), nb::arg("shown"), nb::arg("rows"),
           nb::arg("there"),
           "The decisions for these rows, without learning: called i8[k,A], the models in order and -1 behind them, "
           "and deployed i32[k]. there: models that may be called, a bit each.")
      .def(
          "calibrate",
          [](Self& e, int period, const Psi& psi, const Given& output, std::optional<double> quality) {
            const auto& [box, phi, cost, mu] = output;
            e.calibrate({period, span_of(psi), {}}, {box, phi, cost, mu}, quality);
          },
          nb::arg("period"), nb::arg("psi"), nb::arg("output"), nb::arg("quality").none(),
          "A sample from before the first period.")
      .def("begin", &Self::begin, nb::arg("period"), nb::arg("psi"), free, "A period begins; psi f32[m].")
      .def("ask", &Self::ask, free,
           "For the current period and each model: index, rho_hat' psi, ||psi||_{V^-1}, and the bonus that the index "
           "has for it.")
      .def("reward", &Self::reward, nb::arg("output"), "The estimated mu of an output.")
      .def("learn_outputs", &Self::learn_outputs, nb::arg("outputs"), free, "Of the period that has begun.")
      .def("learn_reward", &Self::learn_reward, nb::arg("output"), nb::arg("quality"), free,
           "Takes the quality of the current period's deployed output, and ends the period.")
      .def("end_period", &Self::end_period, free)
      .def_prop_ro("unsettled", &Self::unsettled, "Whether something was learned since the last end of a period.")
      .def_prop_ro("unsolved_refits", &Self::unsolved_refits)
      .def("mark", &Self::mark)
      .def("commit", &Self::commit)
      .def("roll_back", &Self::roll_back, "Restores the state at mark(), in every bit.")
      .def("estimates", &Self::estimates, free, "A copy that answers questions and takes begin(), but cannot learn.")
      .def("scale_costs", &Self::scale_costs, nb::arg("factor"), free,
           "Multiplies the costs of all samples by a factor.")
      .def("add_box", &Self::add_box, nb::arg("more_reward_features"), free)
      .def("keep_at_most", &Self::keep_at_most, nb::arg("samples"))
      .def("most_samples_within", &Self::most_samples_within, nb::arg("bytes"),
           "How many samples each model may have for saved() to have at most that many bytes.")
      .def("samples", &Self::samples, nb::arg("box"))
      .def(
          "rho", [](const Self& e, int box) { return array_of(e.rho(box)); }, nb::arg("box"))
      .def("theta", [](const Self& e) { return array_of(e.theta()); })
      .def(
          "saved",
          [](const Self& e, bool with_samples) {
            const std::string bytes = without_gil([&] { return e.saved(with_samples); });
            return nb::bytes(bytes.data(), bytes.size());
          },
          nb::arg("with_samples") = true, "All that was learned; without samples only what questions need.")
      .def("restore", &Self::restore, nb::arg("bytes"),
           "Restores bytes of saved(); DataError if they are from a different estimator.");
  module.def(
      "lane_rules", &rules_text, nb::arg("policy"), nb::arg("learns_reward"), nb::arg("width"),
      nb::arg("first_periods"), nb::arg("reward_width"), nb::arg("forced") = 0,
      "JSON: rules of the kind indices. policy: dow or shrunk_weitzman; learns_reward: quality is learned, where "
      "the evaluator is a judge; first_periods: rows that are learned from before.");
  module.def("estimation", &estimation_text, nb::arg("refit") = "", nb::arg("forget") = 0.0,
             nb::arg("most_samples") = 100'000, "JSON: a cascade's settings of estimation.");
  module.def("period_rules", &period_rules, nb::arg("estimator"), nb::arg("draw"), nb::arg("exploration"),
             nb::arg("random_order"),
             "The rules after a period's random draws: order (by_score or random), stop, and the order where it is "
             "random.");
  module.def("logit_of_score", &logit_of_score, nb::arg("score"), "log(p / (1 - p)), p within [0.01, 0.99].");
  module.attr("forced_score") = kForcedScore;
}

}  // namespace pandora::python
