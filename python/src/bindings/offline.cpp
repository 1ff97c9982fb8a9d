// What fits in Python (pandora.offline) need of the library, as functions over row-major arrays. n rows of a table have
// A models each. Arrays that are given are read and not kept, unless a docstring says otherwise; of another type or
// layout they are converted first. A shape or a row that cannot be raises UsageError.
#include <fmt/format.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

#include "beside.hpp"
#include "bindings.hpp"
#include "host/cascades/live/fitted_indices.hpp"
#include "host/cascades/live/new_cascade.hpp"
#include "host/cascades/live/rules_json.hpp"
#include "host/ground/files/sealed_file.hpp"
#include "host/outcomes/routing/fit_fixed_cascade.hpp"
#include "host/outcomes/routing/threshold_sums.hpp"
#include "host/outcomes/tables/features.hpp"
#include "host/outcomes/tables/trace_table.hpp"
#include "pandora/error.hpp"

namespace pandora::python {
namespace {

using Cells = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using PsiRows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using RowNumbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using TableView = nb::ndarray<nb::numpy, const T>;

template <class Array>
auto span_of(const Array& array) {
  return std::span(array.data(), array.size());
}

Error misuse(const std::string& what) {
  return Error(ExitCode::usage, what);
}

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

Array<std::int64_t> numbers_of(const std::vector<std::size_t>& values) {
  return array_of(std::vector<std::int64_t>(values.begin(), values.end()), {values.size()});
}

// Views of a table, which they keep.
class TableArrays {
 public:
  explicit TableArrays(nb::object table) : kept_(std::move(table)), table_(nb::cast<const TraceTable&>(kept_)) {}

  const TraceTable& table() const { return table_; }
  TableView<double> view(const std::vector<double>& values, std::size_t columns) const {
    return TableView<double>(values.data(), {table_.rows(), columns}, kept_);
  }
  std::optional<TableView<double>> cells(const std::vector<double>& values) const {
    if (values.empty()) return {};
    return view(values, table_.models.size());
  }
  std::optional<TableView<double>> logged(std::vector<double> CallLog::*values) const {
    return table_.log ? cells((*table_.log).*values) : std::nullopt;
  }
  TableView<double> numbers(const std::string& name) const {
    const PromptColumn* const column = find_column(table_, name);
    if (column == nullptr) table_.refuse("has no column {}", in_quotes(name));
    if (column->kind == PromptColumn::Kind::text) table_.refuse("column {} holds texts", in_quotes(name));
    return column->kind == PromptColumn::Kind::vector
               ? view(column->numbers, column->length)
               : TableView<double>(column->numbers.data(), {table_.rows()}, kept_);
  }

 private:
  nb::object kept_;
  const TraceTable& table_;
};

void bind_tables(nb::module_& module) {
  constexpr auto kAsItIs = nb::rv_policy::automatic;  // views know who owns them
  nb::class_<TableArrays>(
      module, "TableArrays",
      "What a table holds, without a copy: arrays that cannot be written to, and that keep the table. "
      "f64[n,A] where nothing else is said.")
      .def(nb::init<nb::typed<nb::object, TraceTable>>(), nb::arg("table"))
      .def_prop_ro(
          "quality", [](const TableArrays& t) { return t.view(t.table().quality, t.table().models.size()); },
          "In [0, 1]; NaN where not known.", kAsItIs)
      .def_prop_ro(
          "usd", [](const TableArrays& t) { return t.view(t.table().cost, t.table().models.size()); },
          "Dollars of each call, not negative; NaN in a log where the model was not called.", kAsItIs)
      .def_prop_ro(
          "latency", [](const TableArrays& t) { return t.cells(t.table().latency); },
          "Seconds of each call, NaN where not known; None where none has them.", kAsItIs)
      .def_prop_ro(
          "label_propensity", [](const TableArrays& t) { return t.cells(t.table().label_propensity); },
          "That a quality became known, in (0, 1]; None where nothing says so.", kAsItIs)
      .def_prop_ro("is_log", [](const TableArrays& t) { return t.table().log.has_value(); })
      .def_prop_ro(
          "propensity", [](const TableArrays& t) { return t.logged(&CallLog::propensity); },
          "Of a log: that the model was called there, given all that was seen before, in (0, 1]; NaN where it was not "
          "called. None of a table.",
          kAsItIs)
      .def_prop_ro(
          "place", [](const TableArrays& t) { return t.logged(&CallLog::place); },
          "Of a log: 1, 2, ..., which call of its decision it was; NaN where the model was not called. None of tables.",
          kAsItIs)
      .def_prop_ro(
          "by_rules", [](const TableArrays& t) { return t.logged(&CallLog::by_rules); },
          "Of the answer that a log's client had: with what probability the decision went by the rules in all of its "
          "steps; NaN of others. None where nothing says so.",
          kAsItIs)
      .def(
          "score",
          [](const TableArrays& t, const std::string& name) {
            return t.view(find_score(t.table(), name).values, t.table().models.size());
          },
          nb::arg("name"), "A judge's, in [0, 1]; DataError where it is not there.")
      .def("numbers", &TableArrays::numbers, nb::arg("name"),
           "A column of numbers, f64[n], or of lists of k numbers, f64[n,k]; NaN where a cell is missing. DataError "
           "where it is not there or holds texts.");
  module.def(
      "group_prompts",
      [](const TraceTable& table) {
        const PromptGroups groups = [&] {
          const WithoutGil release;
          return group_prompts(table);
        }();
        return std::pair(numbers_of(groups.of_row), groups.count);
      },
      nb::arg("table"),
      "Which prompt each row has, i64[n], from 0 to count - 1 in the order of a hash, and count. Rows with the same "
      "text (without one the same name) are one prompt; fold f of F are those with of_row % F == f.");
}

void bind_searches(nb::module_& module) {
  module.def(
      "fit_thresholds",
      [](const Cells& seen, const Cells& quality, const Cells& usd, double price, std::size_t most_prompts,
         double most_steps, std::optional<std::size_t> first) {
        const std::size_t rows = quality.shape(0), models = quality.shape(1);
        require_shape("seen", seen, rows, models);
        require_shape("usd", usd, rows, models);
        if (quality.size() == 0 || most_prompts == 0) throw misuse("give a row, a model and most_prompts at least");
        if (!(price >= 0.0 && price <= kMostPrice)) throw misuse("the price is a number from 0 to 1e9");
        if (!(most_steps >= 0.0 && most_steps <= 1e18)) throw misuse("most_steps is a number from 0 to 1e18");
        if (first && *first >= models) throw misuse(fmt::format("there is no model {}", *first));
        const FixedCascade found = beside([&](Beside& work) {
          const CascadeEffort effort{most_prompts, static_cast<std::uint64_t>(most_steps), &work.interrupted};
          return fit_fixed_cascade({models, span_of(seen), span_of(quality), span_of(usd)}, price, effort, first);
        });
        return std::pair(numbers_of(found.order), array_of(found.thresholds, {found.thresholds.size()}));
      },
      nb::arg("seen"), nb::arg("quality"), nb::arg("usd"), nb::arg("price"), nb::arg("most_prompts"),
      nb::arg("most_steps"), nb::arg("first").none() = nb::none(),
      "The cascade of thresholds with the greatest mean of quality - price x usd: order i64[L], thresholds f64[L-1]. "
      "seen, quality, usd: f64[n,A]; an answer is accepted where seen reaches its model's threshold, and the best seen "
      "one is deployed. Of more rows most_prompts are looked at, spread evenly; all orders are tried while that takes "
      "most_steps, else a beam. first: among cascades of two models and more that begin with it. Interrupted raises.");
}

// The n-grams of all texts of a table.
struct CountedTexts {
  TextCounts counts;

  explicit CountedTexts(const TraceTable& table) {
    if (table.text_column == TraceTable::kNone) table.refuse("has no text of prompts");
    const WithoutGil release;
    counts = TextCounts::of(table.columns[table.text_column].texts, all_rows(table.rows()));
  }
};

CountedRows counted_rows(const CountedTexts* counts, const TraceTable& table, std::span<const std::size_t> rows = {}) {
  if (counts == nullptr) return {};
  if (counts->counts.size() != table.rows()) throw misuse("the texts that were counted are another table's");
  return {&counts->counts, rows};
}

FeatureMap fit_map(const TraceTable& table, const std::vector<std::string>& specs, const RowNumbers& rows,
                   const CountedTexts* counts, const FeatureMap* near) {
  const std::vector<std::size_t> fitted = rows_of(rows, table.rows());
  if (fitted.empty()) throw misuse("features are fitted on a row at least");
  const CountedRows counted = counted_rows(counts, table, fitted);
  return beside([&](Beside&) {
    if (fitted == all_rows(table.rows())) return FeatureMap::fit(table, specs, counted, near);
    return FeatureMap::fit(select_rows(table, fitted), specs, counted, near);
  });
}

Array<float> apply_map(const FeatureMap& map, const TraceTable& table, const CountedTexts* counts) {
  const CountedRows counted = counted_rows(counts, table);
  std::vector<float> out = beside([&](Beside&) {
    const std::vector<double> numbers = map.apply(table, counted);
    return std::vector<float>(numbers.begin(), numbers.end());
  });
  return array_of(std::move(out), {table.rows(), map.size()});
}

FeatureMap parse_map(const std::string& json) {
  try {
    return FeatureMap::from_json(nlohmann::json::parse(json));
  } catch (const nlohmann::json::exception&) {
    throw misuse("the features are not JSON");
  } catch (const Damaged& damage) {
    throw misuse(fmt::format("the features: the text {}", damage.what()));
  }
}

void bind_features(nb::module_& module) {
  nb::class_<CountedTexts>(module, "CountedTexts", "The n-grams of a table's texts, counted once for many fits.")
      .def(nb::init<const TraceTable&>(), nb::arg("table"), "DataError where the table has no texts.");
  nb::class_<FeatureMap>(module, "FeatureMap", "Features of prompts, fitted on some rows of a table.")
      .def_static("parse", &parse_map, nb::arg("json"), "As `json` says it; UsageError for what it cannot have said.")
      .def_prop_ro(
          "json", [](const FeatureMap& map) { return map.to_json().dump(); }, "As files of cascades have it.")
      .def_prop_ro("names", &FeatureMap::names, "One for each number.")
      .def_prop_ro("notes", &FeatureMap::notes, "What was dropped, a sentence each.")
      .def_prop_ro("size", &FeatureMap::size, "d, numbers of a prompt.");
  module.def(
      "features_fit", &fit_map, nb::arg("table"), nb::arg("specs"), nb::arg("rows"),
      nb::arg("counts").none() = nb::none(), nb::arg("near").none() = nb::none(),
      "Of these rows, i64[k]. specs: text:K, length, NAME, raw:NAME. counts: of this table; without them texts are "
      "counted anew. near: of the same specs, fitted on nearly the same rows, as those of all rows are; text:K sets "
      "out from there and takes fewer iterations. UsageError for a spec that is none or stands twice, DataError "
      "where the table lacks what it names.");
  module.def("features_apply", &apply_map, nb::arg("map"), nb::arg("table"), nb::arg("counts").none() = nb::none(),
             "f32[n,d], in [-1, 1] but for those of raw columns. DataError where the table lacks a column.");
}

// A position of an order: how many of its thresholds each row reaches.
Array<double> sums_of(const nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>& reached,
                      const std::vector<std::size_t>& counts,
                      const nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>& values) {
  constexpr std::size_t kMostCombinations = std::size_t{1} << 28;
  const std::size_t positions = values.shape(0), kinds = values.shape(1), rows = values.shape(2);
  if (positions == 0 || counts.size() + 1 != positions || reached.shape(0) != counts.size() || reached.shape(1) != rows)
    throw misuse("give L positions of values and, of each but the last, counts and what n rows reach");
  std::size_t combinations = 1;
  for (const std::size_t count : counts) {
    combinations *= count;
    if (count == 0 || combinations > kMostCombinations)
      throw misuse(
          fmt::format("each position has a threshold at least; {} combinations are the most", kMostCombinations));
  }
  std::vector<double> sums = beside([&](Beside& work) {
    std::vector<std::vector<std::uint32_t>> of_rows;
    for (std::size_t j = 0; j < counts.size(); ++j) {
      std::vector<std::uint32_t>& of_position = of_rows.emplace_back();
      for (const std::int64_t r : span_of(reached).subspan(j * rows, rows)) {
        if (r < 0 || static_cast<std::size_t>(r) > counts[j])
          throw misuse(fmt::format("a row reaches {} of {} thresholds", r, counts[j]));
        of_position.push_back(static_cast<std::uint32_t>(r));
      }
    }
    std::vector<double> out, one;
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      const auto at = [&](std::size_t j) { return span_of(values).subspan((j * kinds + kind) * rows, rows); };
      ThresholdSums sums(rows), next(0);
      for (std::size_t j = 0; j < counts.size(); ++j) {
        if (work.interrupted) throw Error(ExitCode::interrupted, "interrupted");
        next.follow(sums, of_rows[j], counts[j], at(j));
        std::swap(sums, next);
      }
      sums.total(at(counts.size()), one);
      out.insert(out.end(), one.begin(), one.end());
    }
    return out;
  });
  std::vector<std::size_t> shape = {kinds};
  shape.insert(shape.end(), counts.begin(), counts.end());
  return array_of(std::move(sums), shape);
}

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

void bind_policies_of_rows(nb::module_& module) {
  module.def(
      "threshold_sums", &sums_of, nb::arg("reached"), nb::arg("counts"), nb::arg("values"),
      "For every combination of thresholds of an order of L positions the sums over n rows of K values: "
      "f64[K, counts...]. A row reaches the first reached[j] (i64[L-1,n], from 0 to counts[j]) of the thresholds of "
      "position j: with threshold k it ends there where reached[j] > k, unless it has ended before, and counts for "
      "values[j] (f64[L,K,n]); all end at the last position.");
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

}  // namespace

void bind_offline(nb::module_& module) {
  bind_tables(module);
  bind_searches(module);
  bind_features(module);
  bind_policies_of_rows(module);
}

}  // namespace pandora::python
