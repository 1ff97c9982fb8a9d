// Numbers of single lanes from the parts of a folder, with one part in memory at a time.
#include <algorithm>
#include <functional>
#include <iterator>

#include "beside.hpp"
#include "host/ground/base/nearest.hpp"
#include "kernels/rules/checkpoints.hpp"
#include "pandora/error.hpp"
#include "results.hpp"

namespace pandora::python {
namespace {

// A field of a lane in one replication: `shape` numbers, which `fill` writes if there are any.
struct TallyField {
  std::string name;
  std::vector<std::size_t> shape;
  std::function<void(const UnitResult& unit, std::size_t lane, double* out)> fill;

  std::size_t size() const {
    std::size_t n = 1;
    for (const std::size_t k : shape) n *= k;
    return n;
  }
};

std::vector<TallyField> all_fields(const Study& study) {
  const std::size_t A = static_cast<std::size_t>(study.dimensions.boxes), K = checkpoints(study.periods).size(),
                    m = static_cast<std::size_t>(study.dimensions.index_size()),
                    d = static_cast<std::size_t>(study.dimensions.reward_features);
  std::vector<TallyField> out;
  const auto of_tally = [&out](const std::string& name, std::vector<std::size_t> shape, auto&& fill) {
    out.push_back({name, std::move(shape), [fill](const UnitResult& unit, std::size_t lane, double* to) {
                     if (unit.lanes[lane].ran()) fill(unit.lanes[lane], to);
                   }});
  };
  // Per period, x 1000, in replications that count: the lane's loss against the oracle.
  const auto regret = [&out](const std::string& name, double LaneTally::*sum) {
    out.push_back({name, {}, [sum](const UnitResult& unit, std::size_t lane, double* to) {
                     const LaneTally &oracle = unit.lanes[0], &own = unit.lanes[lane];
                     if (counts(unit, lane)) *to = 1000.0 * (oracle.*sum / oracle.periods - own.*sum / own.periods);
                   }});
  };
  regret("regret_x1000", &LaneTally::utility);
  regret("realised_regret_x1000", &LaneTally::realised_utility);
  of_tally("periods", {}, [](const LaneTally& t, double* to) { *to = t.periods; });
  of_tally("failed", {}, [](const LaneTally& t, double* to) { *to = t.failure == Failure::none ? 0.0 : 1.0; });
  for (const LaneSum& sum : kLaneSums)
    of_tally(sum.name, {}, [member = sum.member](const LaneTally& t, double* to) { *to = t.*member; });
  std::vector<RegretPart> parts(std::begin(kRegretParts), std::end(kRegretParts));
  parts.insert(parts.end(), std::begin(kPathGaps), std::end(kPathGaps));
  for (const RegretPart& part : parts)
    of_tally(part.name, {}, [member = part.member](const LaneTally& t, double* to) { *to = t.regret.*member; });
  const auto boxes = [&](const char* name, auto member, std::size_t n, std::size_t from) {
    of_tally(name, {n}, [member, n, from](const LaneTally& t, double* to) { std::copy_n(t.*member + from, n, to); });
  };
  boxes("queries_of_box", &LaneTally::queries_of_box, A, 0);
  boxes("deployments_of_box", &LaneTally::deployments_of_box, A, 0);
  boxes("depth", &LaneTally::depth, A, 1);
  out.push_back({"cumulative_regret", {K}, [](const UnitResult& unit, std::size_t lane, double* to) {
                   const LaneTally &oracle = unit.lanes[0], &own = unit.lanes[lane];
                   if (counts(unit, lane))
                     for (int k = 0; k < own.recorded; ++k) to[k] = oracle.curve[k] - own.curve[k];
                 }});
  of_tally("cumulative_utility", {K}, [](const LaneTally& t, double* to) { std::copy_n(t.curve, t.recorded, to); });
  for (const RegretPart& part : parts)
    out.push_back({std::string("cumulative_") + part.name,
                   {K},
                   [member = part.member](const UnitResult& unit, std::size_t lane, double* to) {
                     const LaneTally& own = unit.lanes[lane];
                     if (counts(unit, lane))
                       for (int k = 0; k < own.recorded; ++k) to[k] = own.regret_curve[k].*member;
                   }});
  const auto learned = [&](const char* name, std::vector<std::size_t> shape, std::vector<double> LaneNotes::*member) {
    TallyField field{name, std::move(shape), {}};
    field.fill = [n = field.size(), member](const UnitResult& unit, std::size_t lane, double* to) {
      if (const std::vector<double>& own = unit.notes[lane].*member; own.size() == n)
        std::copy(own.begin(), own.end(), to);
    };
    out.push_back(std::move(field));
  };
  learned("rho", {A, m}, &LaneNotes::rho);
  learned("theta", {d}, &LaneNotes::theta);
  return out;
}

std::vector<TallyField> fields_named(const Study& study, const Texts& names) {
  std::vector<TallyField> out;
  const std::vector<TallyField> all = all_fields(study);
  for (const std::string& name : names) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const TallyField& f) { return f.name == name; });
    if (found == all.end()) {
      Texts known;
      for (const TallyField& field : all) known.push_back(field.name);
      throw misuse("\"" + name + "\" is nothing that lanes have" + nearest_text(nearest(name, known)));
    }
    out.push_back(*found);
  }
  return out;
}

}  // namespace

Dict numbers_of_lanes(Results& results, std::size_t setting, const std::string& environment, const std::string& regime,
                      const std::vector<std::size_t>& lanes, const Texts& names) {
  const PlannedSetting& planned = results.stored().settings().at(setting);
  const Study& study = planned.setting.study;
  const std::vector<TallyField> fields = fields_named(study, names);
  const std::size_t R = static_cast<std::size_t>(study.replications);
  for (const std::size_t lane : lanes)
    if (lane >= planned.plan.lanes.size()) throw misuse("there is no such lane");
  std::vector<std::vector<double>> found = beside([&](Beside& work) {
    std::vector<std::vector<double>> values;
    for (const TallyField& field : fields) values.emplace_back(lanes.size() * R * field.size(), kUnknown);
    const std::lock_guard lock(results.mutex());
    results.stored().for_each_part(
        [&](const Part& part, const Unit& unit) {
          return part.setting == setting && unit.environment.name == environment && regime_name(unit.regime) == regime;
        },
        [&](std::size_t, const Unit& first, const std::vector<UnitResult>& units) {
          if (work.interrupted) throw Error(ExitCode::interrupted, "interrupted while results were read");
          for (std::size_t u = 0; u < units.size(); ++u)
            for (std::size_t k = 0; k < lanes.size(); ++k) {
              if (lanes[k] >= units[u].lanes.size()) continue;  // not there yet
              for (std::size_t f = 0; f < fields.size(); ++f)
                fields[f].fill(units[u], lanes[k],
                               values[f].data() + (k * R + first.replication + u) * fields[f].size());
            }
        });
    return values;
  });
  nb::dict out;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    std::vector<std::size_t> shape = {lanes.size(), R};
    shape.insert(shape.end(), fields[f].shape.begin(), fields[f].shape.end());
    out[fields[f].name.c_str()] = nb::cast(array_of(std::move(found[f]), shape));
  }
  return out;
}

Dict decisions_of_lane(Results& results, std::size_t setting, const std::string& environment, const std::string& regime,
                       std::size_t lane, std::size_t replication) {
  const Study& study = results.stored().settings().at(setting).setting.study;
  LaneDecisions found = results.read([&](StoredResults& stored) {
    LaneDecisions out;
    stored.for_each_part(
        [&](const Part& part, const Unit& first) {
          return part.setting == setting && first.environment.name == environment &&
                 regime_name(first.regime) == regime && replication >= first.replication &&
                 replication - first.replication < part.last - part.first;
        },
        [&](std::size_t, const Unit& first, const std::vector<UnitResult>& units) {
          const std::size_t u = replication - first.replication;
          if (u < units.size() && lane < units[u].notes.size()) out = units[u].notes[lane].decisions;
        });
    return out;
  });
  nb::dict out;
  if (found.order.empty()) return out;
  out["order"] =
      nb::cast(array_of(std::move(found.order), {static_cast<std::size_t>(study.periods), entries_of_period(study)}));
  out["reward"] = nb::cast(array_of(std::move(found.reward)));
  out["cost"] = nb::cast(array_of(std::move(found.cost)));
  return out;
}

}  // namespace pandora::python
