// Cascades that run, and stores of them.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/shared_ptr.h>

#include <nlohmann/json.hpp>

#include "beside.hpp"
#include "bindings.hpp"
#include "host/cascades/live/new_cascade.hpp"
#include "host/cascades/live/rules_json.hpp"
#include "host/cascades/serving/calls.hpp"
#include "host/studies/study/study.hpp"
#include "pandora/cascade.hpp"
#include "pandora/error.hpp"
#include "pandora/store.hpp"

namespace pandora::python {
namespace {

using Psi = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::shared_ptr<Cascade> create(const std::vector<std::string>& models, double price, const std::string& evaluator,
                                const std::string& policy, double width, double reward_width,
                                const std::string& features, int psi, const std::string& refit, double forget,
                                int most_samples) {
  return std::make_shared<Cascade>(new_cascade({models, price, evaluator, policy, width, reward_width, features, psi,
                                                parse_refit(refit), forget, most_samples}));
}

Prompt prompt_of(const std::string& text, const Dict& columns) {
  Prompt prompt;
  prompt.text = text;
  for (const auto& [key, value] : columns) {
    const std::string name = nb::cast<std::string>(key);
    if (nb::isinstance<nb::str>(value))
      prompt.columns[name] = nb::cast<std::string>(value);
    else if (nb::isinstance<nb::float_>(value) || nb::isinstance<nb::int_>(value))
      prompt.columns[name] = nb::cast<double>(value);
    else if (value.is_none())
      prompt.columns[name] = std::monostate();
    else
      prompt.columns[name] = nb::cast<std::vector<double>>(value);
  }
  return prompt;
}

nb::object text_of(const std::string& text) {
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

// Not by the module json: where the interpreter ends while code in Python runs in another thread, it ends that thread
// there, and C++ below it would be unwound by no exception.
nb::object object_of(const nlohmann::json& json) {
  if (json.is_boolean()) return nb::bool_(json.get<bool>());
  if (json.is_number_unsigned()) return nb::int_(json.get<std::uint64_t>());
  if (json.is_number_integer()) return nb::int_(json.get<std::int64_t>());
  if (json.is_number() && std::isfinite(json.get<double>())) return nb::float_(json.get<double>());
  if (json.is_string()) return text_of(json.get_ref<const std::string&>());
  if (json.is_array()) {
    nb::list out;
    for (const nlohmann::json& element : json) out.append(object_of(element));
    return out;
  }
  if (!json.is_object()) return nb::none();
  nb::dict out;
  for (const auto& [key, value] : json.items()) out[text_of(key)] = object_of(value);
  return out;
}

Dict python_of(const std::string& json) {
  return nb::cast<Dict>(object_of(nlohmann::json::parse(json)));
}

Dict description(const Cascade& cascade) {
  const CascadeOptions options = cascade.options();
  nb::dict out;
  nb::list order;
  for (const std::size_t model : options.order) order.append(options.models[model]);
  out["kind"] = kind_of(options);
  out["price"] = options.price;
  out["evaluator"] = options.evaluator;
  out["order"] = order;
  out["thresholds"] = options.thresholds;
  out["explore"] = options.explore;
  out["about"] = options.about.empty() ? nb::object(nb::none()) : python_of(options.about);
  return out;
}

Dict counts(const Cascade& cascade) {
  const CascadeCounts n = cascade.counts();
  nb::dict out;
  out["requests"] = n.requests;
  out["calls"] = n.calls;
  out["deployed"] = n.deployed;
  out["feedbacks"] = n.feedbacks;
  out["failures"] = n.failures;
  out["cancelled"] = n.cancelled;
  out["dropped_open"] = n.dropped_open;
  out["dropped_waiting"] = n.dropped_waiting;
  out["unlogged"] = n.unlogged;
  out["unsolved_refits"] = n.unsolved_refits;
  out["dollars"] = n.dollars;
  out["quality"] = n.quality;
  return out;
}

void bind_live(nb::class_<Cascade>& cascade) {
  cascade
      .def(
          "begin",
          [](Cascade& c, const Psi& psi) {
            return c.begin({psi.data(), psi.size()});
          },
          nb::arg("psi"), nb::call_guard<WithoutGil>())
      .def(
          "begin_prompt",
          [](Cascade& c, const std::string& text, const Dict& columns) {
            const Prompt prompt = prompt_of(text, columns);
            const WithoutGil release;
            return c.begin(prompt);
          },
          nb::arg("text"), nb::arg("columns"))
      .def(
          "context_of",
          [](const Cascade& c, const std::string& text, const Dict& columns) {
            return array_of(c.context_of(prompt_of(text, columns)));
          },
          nb::arg("text"), nb::arg("columns"))
      .def(
          "next",
          [](Cascade& c, std::uint64_t request) -> std::optional<std::string> {
            const auto model = c.next(request);
            return model ? std::optional(c.model_name(*model)) : std::nullopt;
          },
          nb::arg("request"))
      .def(
          "needs_score", [](const Cascade& c, std::uint64_t request) { return c.needs_score(request); },
          nb::arg("request"))
      .def(
          "observe",
          [](Cascade& c, std::uint64_t request, const std::string& model, double dollars,
             const std::vector<double>& scores, double latency) {
            c.observe(request, position_of(c, model), {dollars, scores, latency});
          },
          nb::arg("request"), nb::arg("model"), nb::arg("dollars"), nb::arg("scores"), nb::arg("latency"),
          nb::call_guard<WithoutGil>())
      .def(
          "fail",
          [](Cascade& c, std::uint64_t request, const std::string& model, double dollars, const std::string& reason) {
            c.fail(request, position_of(c, model), dollars, reason);
          },
          nb::arg("request"), nb::arg("model"), nb::arg("dollars"), nb::arg("reason"), nb::call_guard<WithoutGil>())
      .def(
          "skip",
          [](Cascade& c, std::uint64_t request, const std::string& model, double dollars) {
            c.skip(request, position_of(c, model), dollars);
          },
          nb::arg("request"), nb::arg("model"), nb::arg("dollars"), nb::call_guard<WithoutGil>())
      .def("cancel", &Cascade::cancel, nb::arg("request"), nb::call_guard<WithoutGil>())
      .def(
          "deploy", [](Cascade& c, std::uint64_t request) { return c.model_name(c.deploy(request)); },
          nb::arg("request"), nb::call_guard<WithoutGil>())
      .def("feedback", &Cascade::feedback, nb::arg("request"), nb::arg("quality"), nb::call_guard<WithoutGil>())
      .def(
          "explain", [](const Cascade& c, std::uint64_t request) { return python_of(c.explain_json(request)); },
          nb::arg("request"))
      .def(
          "calibrate",
          [](Cascade& c, int period, const Psi& psi, const std::string& model, double dollars,
             const std::vector<double>& scores, std::optional<double> quality) {
            c.calibrate(period, {psi.data(), psi.size()}, position_of(c, model), {.dollars = dollars, .scores = scores},
                        quality);
          },
          nb::arg("period"), nb::arg("psi"), nb::arg("model"), nb::arg("dollars"), nb::arg("scores"),
          nb::arg("quality").none());
}

void bind_stores(nb::module_& module) {
  nb::class_<Store>(module, "Store", "A cascade in a folder.")
      .def(
          "__init__",
          [](Store* store, const std::string& folder, const std::string& cascade, const std::string& text, double sync,
             double timeout, bool beside, bool decisions, bool prompts) {
            new (store) Store({.folder = folder,
                               .cascade = cascade,
                               .text = text,
                               .sync_seconds = sync,
                               .timeout_seconds = timeout,
                               .beside = beside,
                               .decisions = decisions,
                               .prompts = prompts});
          },
          nb::arg("folder"), nb::arg("cascade"), nb::arg("text"), nb::arg("sync_seconds"), nb::arg("timeout_seconds"),
          nb::arg("beside"), nb::arg("decisions"), nb::arg("prompts"), nb::call_guard<WithoutGil>())
      .def("call", &Store::call, nb::arg("line"), nb::call_guard<WithoutGil>())
      .def(
          "begin",
          [](Store& store, const Psi& psi) {  // as JSON without the GIL: of 385 numbers json.dumps takes 0.2 ms with it
            // Doubles: the shortest text of a float need not be read as that float where it is read as a double first.
            const std::vector<double> exact(psi.data(), psi.data() + psi.size());
            return store.call(fmt::format(R"({{"op":"begin","psi":[{}]}})", fmt::join(exact, ",")));
          },
          nb::arg("psi"), nb::call_guard<WithoutGil>())
      .def("save", &Store::save, nb::call_guard<WithoutGil>())
      .def("caution", &Store::caution)
      .def("passed_over", &Store::passed_over)
      .def("resumed", &Store::resumed)
      .def("calls_made_again", &Store::calls_made_again)
      .def(
          "text", [](const Store& store) { return store.cascade().text(); }, nb::call_guard<WithoutGil>());
}

}  // namespace

void bind_cascades(nb::module_& module) {
  nb::class_<Cascade> cascade(module, "Cascade", "A cascade that runs.");
  cascade
      .def_static(
          "load", [](const std::string& path) { return Cascade::load(path); }, nb::arg("path"))
      .def_static(
          "parse", [](const std::string& text, const std::string& name) { return Cascade::parse(text, name); },
          nb::arg("text"), nb::arg("name"))
      .def(
          "save", [](const Cascade& c, const std::string& path) { c.save(path); }, nb::arg("path"),
          nb::call_guard<WithoutGil>())
      .def("text", &Cascade::text, nb::call_guard<WithoutGil>())
      .def("description", &description)
      .def("counts", &counts)
      .def("caution", &Cascade::caution)
      .def("open_requests", &Cascade::open_requests)
      .def("models",
           [](const Cascade& c) {
             std::vector<std::pair<std::string, bool>> out;
             for (const CascadeModel& model : c.models()) out.emplace_back(model.name, model.removed);
             return out;
           })
      .def("set_learning", &Cascade::set_learning, nb::arg("on"))
      .def("set_explore", &Cascade::set_explore, nb::arg("explore"))
      .def(
          "log_to",
          [](Cascade& c, const std::string& folder, std::uint64_t file_bytes, std::uint64_t most_bytes, bool prompts) {
            c.log_to({folder, file_bytes, most_bytes, prompts});
          },
          nb::arg("folder"), nb::arg("file_bytes"), nb::arg("most_bytes"), nb::arg("prompts"),
          nb::call_guard<WithoutGil>())
      .def("add_model", &Cascade::add_model, nb::arg("name"), nb::call_guard<WithoutGil>())
      .def("remove_model", &Cascade::remove_model, nb::arg("name"), nb::call_guard<WithoutGil>())
      .def("set_price", &Cascade::set_price, nb::arg("price"), nb::call_guard<WithoutGil>());
  bind_live(cascade);
  bind_stores(module);
  module.def("new_cascade", &create, nb::arg("models"), nb::arg("price"), nb::arg("evaluator"), nb::arg("policy"),
             nb::arg("width"), nb::arg("reward_width"), nb::arg("features"), nb::arg("psi"), nb::arg("refit"),
             nb::arg("forget"), nb::arg("most_samples"));
}

}  // namespace pandora::python
