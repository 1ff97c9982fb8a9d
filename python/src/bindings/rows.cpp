// What cascades do with rows of a table. Arrays that are given are read and not kept, unless a docstring says otherwise.
#include "rows.hpp"

#include <fmt/format.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

#include "beside.hpp"
#include "host/cascades/live/fitted_indices.hpp"
#include "host/cascades/live/new_cascade.hpp"
#include "host/cascades/live/rules_json.hpp"

namespace pandora::python {

void require_shape(const char* name, const Cells& cells, std::size_t rows, std::size_t columns) {
  if (cells.shape(0) != rows || cells.shape(1) != columns)
    throw misuse(
        fmt::format("{} is {} x {} where {} x {} belong", name, cells.shape(0), cells.shape(1), rows, columns));
}

std::vector<std::size_t> all_rows(std::size_t rows) {
  std::vector<std::size_t> out(rows);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

std::vector<std::size_t> rows_of(const RowNumbers& rows, std::size_t count) {
  std::vector<std::size_t> out;
  out.reserve(rows.size());
  for (const std::int64_t row : span_of(rows)) {
    if (row < 0 || static_cast<std::size_t>(row) >= count)
      throw misuse(fmt::format("there is no row {}; there are {}", row, count));
    out.push_back(static_cast<std::size_t>(row));
  }
  return out;
}

namespace {

using PsiRows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Arrays that a cascade meets, and their shapes.
struct GivenRows {
  std::optional<PsiRows> psi;
  Cells usd, shown;
  std::optional<Cells> quality;
  CascadeRows view;

  GivenRows(std::optional<PsiRows> of_psi, Cells of_usd, Cells of_shown, std::optional<Cells> of_quality,
            std::size_t models, std::size_t index_features)
      : psi(std::move(of_psi)),
        usd(std::move(of_usd)),
        shown(std::move(of_shown)),
        quality(std::move(of_quality)),
        view{models, index_features, {}, span_of(usd), span_of(shown)} {
    require_shape("usd", usd, size(), models);
    require_shape("shown", shown, size(), models);
    if (quality) {
      require_shape("quality", *quality, size(), models);
      view.quality = span_of(*quality);
    }
    if (psi && (psi->shape(0) != size() || psi->shape(1) != index_features))
      throw misuse(
          fmt::format("psi is {} x {} where {} x {} belong", psi->shape(0), psi->shape(1), size(), index_features));
    if (psi) view.psi = span_of(*psi);
    if (!psi && index_features != 1) throw misuse(fmt::format("psi is needed, {} x {}", size(), index_features));
  }
  std::size_t size() const { return usd.shape(0); }
};

// As psi is given: of a cascade with features it is 1 and these.
std::size_t index_features_of(const Cascade& cascade) {
  const CascadeOptions options = cascade.options();
  if (options.features.empty()) return static_cast<std::size_t>(options.index_features);
  return 1 + std::max<std::size_t>(1, parse_map(options.features).size());
}

GivenRows rows_for(const Cascade& cascade, const std::optional<PsiRows>& psi, const Cells& usd, const Cells& shown,
                   const std::optional<Cells>& quality) {
  return {psi, usd, shown, quality, cascade.options().models.size(), index_features_of(cascade)};
}

using Called = std::tuple<Array<std::int8_t>, Array<std::int32_t>, Array<bool>>;

Called called_of(RowCalls calls) {
  const std::size_t rows = calls.deployed.size();
  bool* const judged = new bool[rows];
  const nb::capsule owner(judged, [](void* p) noexcept { delete[] static_cast<bool*>(p); });
  std::copy(calls.judged.begin(), calls.judged.end(), judged);
  return {array_of(std::move(calls.called), {rows, calls.models}), array_of(std::move(calls.deployed), {rows}),
          Array<bool>(judged, {rows}, owner)};
}

// Indices with the arrays that they were learned from.
class Indices {
 public:
  Indices(const std::string& options, std::optional<PsiRows> psi, Cells usd, Cells shown, Cells quality,
          const RowNumbers& calibration, const Indices* near)
      : options_(sound(options)),
        rows_(std::move(psi), std::move(usd), std::move(shown), std::move(quality), options_.models.size(),
              static_cast<std::size_t>(options_.index_features)),
        indices_(learned(rows_of(calibration, rows_.size()), near == nullptr ? nullptr : near->indices_.get())) {}

  Called run(const std::optional<RowNumbers>& rows) {
    const std::vector<std::size_t> which = rows ? rows_of(*rows, rows_.size()) : all_rows(rows_.size());
    return called_of(beside([&](Beside& work) { return indices_->run(which, &work.interrupted); }));
  }

 private:
  static CascadeOptions sound(const std::string& json) {
    CascadeOptions options = cascade_options(json);
    if (!options.rules || !options.features.empty())
      throw misuse("indices are made of rules, and psi is given in place of features");
    (void)Cascade(options);  // which checks them
    return options;
  }
  std::unique_ptr<FittedIndices> learned(const std::vector<std::size_t>& calibration, const FittedIndices* near) const {
    return beside([&](Beside&) { return std::make_unique<FittedIndices>(options_, rows_.view, calibration, near); });
  }

  const CascadeOptions options_;
  const GivenRows rows_;
  const std::unique_ptr<FittedIndices> indices_;
};

}  // namespace

void bind_rows(nb::module_& module) {
  module.def(
      "cascade_of", [](const std::string& options) { return std::make_shared<Cascade>(cascade_options(options)); },
      nb::arg("options"),
      "A cascade of a JSON object as its file has it, without version, removed, state and digest. Needed are kind, "
      "models, price, evaluator; of `thresholds` order and thresholds; of `router` and `routed` plans and router; of "
      "`indices` rules. UsageError for what is unknown or cannot be.");
  module.def(
      "learn_rows",
      [](Cascade& cascade, const std::optional<PsiRows>& psi, const Cells& usd, const Cells& shown,
         const Cells& quality, const RowNumbers& rows) {
        const GivenRows given = rows_for(cascade, psi, usd, shown, quality);
        const std::vector<std::size_t> which = rows_of(rows, given.size());
        (void)beside([&](Beside& work) {
          learn_rows(cascade, given.view, which, &work.interrupted);
          return true;
        });
      },
      nb::arg("cascade"), nb::arg("psi").none(), nb::arg("usd"), nb::arg("shown"), nb::arg("quality"), nb::arg("rows"),
      "Has a new cascade of the kind indices learn from all models' answers to these rows, i64[k], in their order. "
      "Arrays as run_cascade has them, and quality f64[n,A].");
  module.def(
      "run_cascade",
      [](const Cascade& cascade, const std::optional<PsiRows>& psi, const Cells& usd, const Cells& shown) {
        const GivenRows given = rows_for(cascade, psi, usd, shown, std::nullopt);
        return called_of(beside([&](Beside& work) {
          Cascade copy = Cascade::parse(cascade.text(), "cascade");
          return run_rows(copy, given.view, all_rows(given.size()), &work.interrupted);
        }));
      },
      nb::arg("cascade"), nb::arg("psi").none(), nb::arg("usd"), nb::arg("shown"),
      "What it does with n prompts as it is, by its own rules; it is left as it was. psi: f32[n,m], 1 and the "
      "features (at least one, 0), None where m is 1; usd and shown: f64[n,A] of its models in its order. Returns "
      "called i8[n,A], the models that were called, in order, and -1 behind them; deployed i32[n]; judged bool[n], "
      "whether answers had to be judged, which is not so where one model alone could be called.");
  nb::class_<Indices>(module, "Indices", "Indices that are learned from rows of a table, and what they do.")
      .def(nb::init<const std::string&, std::optional<PsiRows>, Cells, Cells, Cells, const RowNumbers&,
                    const Indices*>(),
           nb::arg("options"), nb::arg("psi").none(), nb::arg("usd"), nb::arg("shown"), nb::arg("quality"),
           nb::arg("calibration"), nb::arg("near").none() = nb::none(),
           "options: as cascade_of() takes them, of the kind indices, with index_features m and no features. psi "
           "f32[n,m], None where m is 1; usd, shown, quality f64[n,A]: kept. Learned from all models' answers to the "
           "rows `calibration`, i64[k]; near: learned from nearly the same rows at the same price, from whose "
           "estimates solves set out.")
      .def("run", &Indices::run, nb::arg("rows").none() = nb::none(),
           "Of these rows, i64[k], or all: called, deployed and judged, as run_cascade().");
  module.def(
      "index_rules",
      [](bool learns_reward, double width, int first_periods, double reward_width) {
        return rules_json(shrunk_rules(learns_reward, width, first_periods, reward_width)).dump();
      },
      nb::arg("learns_reward"), nb::arg("width"), nb::arg("first_periods"), nb::arg("reward_width") = 0.0,
      "JSON: the rules of indices. learns_reward: quality is learned, where the evaluator is a judge; width of the "
      "bonus, 0 for none; first_periods: rows that are learned from before.");
  module.def(
      "live_estimation", [] { return estimation_json(live_estimation()).dump(); },
      "JSON: how a cascade estimates unless it is told.");
}

}  // namespace pandora::python
