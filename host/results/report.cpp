#include "host/results/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/rules/checkpoints.hpp"

namespace pandora {
namespace {

struct RowTitle {
  const char* policy;
  const char* reward;
  const char* title;
};

// The rows of Tables 1 and 2 in their order, then what the paper does not print.
constexpr RowTitle kTitles[] = {
    {"online_plugin", "known", "Online Plug-in Weitzman, known"},
    {"dow", "known", "DOW, known"},
    {"online_plugin", "unknown", "Online Plug-in Weitzman, unknown"},
    {"dow", "unknown", "DOW, unknown"},
    {"static_plugin", "unknown", "Static Plug-in Weitzman"},
    {"static_plugin", "known", "Static Plug-in Weitzman, known"},
    {"linucb_online", "none", "LinUCB (online)"},
    {"linucb_static", "none", "LinUCB (static)"},
    {"frugalgpt", "known", "FrugalGPT (reward known)"},
    {"best_single", "none", "yardstick: best single box"},
    {"random_order", "known", "yardstick: random order"},
    {"query_all", "known", "yardstick: query all"},
};

std::string columns(const Varied& keys) {
  std::string out;
  for (const auto& [key, value] : keys) out += key + ",";
  return out;
}

std::string cells(const Varied& varied) {
  std::string out;
  for (const auto& [key, value] : varied) out += value + ",";
  return out;
}

// A folder's name may hold anything.
std::string quoted_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string plus_minus(double mean, double half_width, int decimals) {
  return half_width > 0.0 ? fmt::format("{:.{}f}±{:.{}f}", mean, decimals, half_width, decimals)
                          : fmt::format("{:.{}f}", mean, decimals);
}

std::string padded(const std::string& text, std::size_t width) {
  // ± counts two bytes but one column
  const auto columns = static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  return text + std::string(width > columns ? width - columns : 1, ' ');
}

std::string with_published(const Estimate& ours, const PublishedValue& published, bool has_half_width, int decimals,
                           int replications) {
  return fmt::format("{} ({}){}", plus_minus(ours.mean, ours.half_width_95, decimals),
                     plus_minus(published.value, has_half_width ? published.half_width_95 : 0.0, 2),
                     outside(ours, published, replications) ? "*" : "");
}

struct Title {
  std::string policy, reward, title;
};

// The paper's rows, then those of policies that a program registered.
std::vector<Title> titles_of(const Summary& summary) {
  std::vector<Title> titles;
  for (const RowTitle& row : kTitles) titles.push_back({row.policy, row.reward, row.title});
  for (const SummaryRow& row : summary.rows)
    if (row.policy != "oracle" && std::none_of(titles.begin(), titles.end(), [&](const Title& t) {
          return t.policy == row.policy && t.reward == row.reward;
        }))
      titles.push_back({row.policy, row.reward, fmt::format("{}, {}", row.policy, row.reward)});
  return titles;
}

constexpr std::size_t kTitleWidth = 34, kEntryWidth = 30;

std::string panel(const Study& study, const Summary& summary, const OracleRow& oracle) {
  std::string out = fmt::format("\n{} (u = {:g}): oracle utility x 1000 ", oracle.environment, oracle.u);
  if (oracle.published)
    out += fmt::format(
        "{}; {} boxes queried\n",
        with_published(oracle.utility_x1000, oracle.published->utility_x1000, true, 2, study.replications),
        with_published(oracle.boxes_queried, oracle.published->boxes_queried, false, 2, study.replications));
  else
    out += fmt::format("{}; {} boxes queried\n",
                       plus_minus(oracle.utility_x1000.mean, oracle.utility_x1000.half_width_95, 2),
                       plus_minus(oracle.boxes_queried.mean, oracle.boxes_queried.half_width_95, 2));
  out += std::string(kTitleWidth, ' ');
  for (int T0 : study.T0) out += padded(fmt::format("T0={}", T0), kEntryWidth);
  out += "\n";
  for (const Title& title : titles_of(summary)) {
    std::string line = padded(title.title, kTitleWidth);
    bool any = false;
    for (int T0 : study.T0) {
      const auto row = std::find_if(summary.rows.begin(), summary.rows.end(), [&](const SummaryRow& r) {
        return r.best && r.policy == title.policy && r.reward == title.reward && r.T0 == T0 &&
               r.regime == oracle.regime && r.environment == oracle.environment;
      });
      if (row == summary.rows.end()) {
        line += padded("---", kEntryWidth);
        continue;
      }
      any = true;
      line += padded(row->published ? with_published(row->regret, *row->published, true, 2, row->replications)
                                    : plus_minus(row->regret.mean, row->regret.half_width_95, 2),
                     kEntryWidth);
    }
    const bool chosen = study.policies.empty() ||
                        std::find(study.policies.begin(), study.policies.end(), title.policy) != study.policies.end();
    if (any || chosen) out += line + "\n";
  }
  return out;
}

}  // namespace

std::string order_table_text(const std::vector<OrderRow>& rows, int replications, int contexts) {
  std::string out =
      fmt::format("\nTable 3: order of the oracle over {} contexts in each of {} replications, (published)\n{}{}{}{}\n",
                  contexts, replications, padded("", kTitleWidth), padded("permutations", kEntryWidth),
                  padded("max mass", kEntryWidth), padded("min mass", kEntryWidth));
  for (const OrderRow& row : rows) {
    out += padded(fmt::format("{}, regime {}", row.environment, row.regime), kTitleWidth);
    const auto entry = [&](const Estimate& ours, PublishedValue PublishedOrder::*statistic) {
      out += padded(row.published ? with_published(ours, (*row.published).*statistic, true, 2, replications)
                                  : plus_minus(ours.mean, ours.half_width_95, 2),
                    kEntryWidth);
    };
    entry(row.permutations, &PublishedOrder::permutations);
    entry(row.max_mass, &PublishedOrder::max_mass);
    entry(row.min_mass, &PublishedOrder::min_mass);
    out += "\n";
  }
  return out;
}

std::string tables_text(const Study& study, const Summary& summary) {
  std::string out;
  int table = 0;
  for (const char* regime : {"A", "B"}) {
    ++table;
    bool headed = false;
    for (const OracleRow& oracle : summary.oracle) {
      if (oracle.regime != regime) continue;
      if (!headed)
        out += fmt::format(
            "\nTable {}: regime {}, time-averaged regret x 1000 over {} replications of {} periods, ± 1.96 standard "
            "errors, (published)\n",
            table, regime, study.replications, study.periods);
      headed = true;
      out += panel(study, summary, oracle);
    }
  }
  if (!summary.order.empty()) out += order_table_text(summary.order, study.replications, study.order_contexts);
  int compared = 0, missed = 0;
  for (const SummaryRow& row : summary.rows)
    if (row.inside_joint_95) {
      ++compared;
      missed += *row.inside_joint_95 ? 0 : 1;
    }
  int failed = 0;
  for (const SummaryRow& row : summary.rows) failed += row.failed;
  if (failed > 0) out += fmt::format("\nFailed lanes are left out, {} over all rows; see failures.csv.\n", failed);
  if (compared > 0)
    out += fmt::format("\n* outside the joint 95% interval of ours and the published value: {} of {} regrets.\n",
                       missed, compared);
  else if (!summary.rows.empty())
    out +=
        fmt::format("\nComparison with the published values is marked from {} replications on.\n", kLeastForComparison);
  return out;
}

std::string summary_header(const Varied& keys) {
  return columns(keys) +
         "regime,environment,T0,policy,reward,hyperparameter,replications,failed,periods,regret_x1000,"
         "half_width_95_x1000,realised_regret_x1000,realised_half_width_95_x1000,queries_per_period,best,"
         "published_x1000,published_half_width_95_x1000,inside_joint_95\n";
}

std::string summary_rows(const Summary& summary, const Varied& varied) {
  std::string out;
  for (const SummaryRow& r : summary.rows)
    out += cells(varied) + fmt::format("{},{},{},{},{},{},{},{},{},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},{},{},{},{}\n",
                                       r.regime, r.environment, r.T0, r.policy, r.reward, r.hyperparameter,
                                       r.replications, r.failed, r.periods, r.regret.mean, r.regret.half_width_95,
                                       r.realised_regret.mean, r.realised_regret.half_width_95, r.queries_per_period,
                                       r.best ? 1 : 0, r.published ? fmt::format("{:.2f}", r.published->value) : "",
                                       r.published ? fmt::format("{:.2f}", r.published->half_width_95) : "",
                                       r.inside_joint_95 ? (*r.inside_joint_95 ? "1" : "0") : "");
  return out;
}

std::string oracle_header(const Varied& keys) {
  return columns(keys) +
         "regime,environment,u,oracle_utility_x1000,half_width_95_x1000,boxes_queried,boxes_queried_half_width_95,"
         "published_u,published_oracle_utility_x1000,published_half_width_95_x1000,published_boxes_queried\n";
}

std::string oracle_rows(const Summary& summary, const Varied& varied) {
  std::string out;
  for (const OracleRow& r : summary.oracle) {
    out += cells(varied) + fmt::format("{},{},{:g},{:.6f},{:.6f},{:.6f},{:.6f},", r.regime, r.environment, r.u,
                                       r.utility_x1000.mean, r.utility_x1000.half_width_95, r.boxes_queried.mean,
                                       r.boxes_queried.half_width_95);
    out += r.published ? fmt::format("{:g},{:.2f},{:.2f},{:.2f}\n", r.published->u, r.published->utility_x1000.value,
                                     r.published->utility_x1000.half_width_95, r.published->boxes_queried.value)
                       : ",,,\n";
  }
  return out;
}

std::string order_header(const Varied& keys) {
  return columns(keys) +
         "environment,regime,permutations,permutations_half_width_95,max_mass,max_mass_half_width_95,min_mass,"
         "min_mass_half_width_95,published_permutations,published_permutations_half_width_95,published_max_mass,"
         "published_max_mass_half_width_95,published_min_mass,published_min_mass_half_width_95\n";
}

std::string order_rows(const Summary& summary, const Varied& varied) {
  std::string out;
  for (const OrderRow& r : summary.order) {
    out += cells(varied) + fmt::format("{},{}", r.environment, r.regime);
    for (const Estimate& e : {r.permutations, r.max_mass, r.min_mass})
      out += fmt::format(",{:.6f},{:.6f}", e.mean, e.half_width_95);
    if (r.published)
      for (const PublishedValue& p : {r.published->permutations, r.published->max_mass, r.published->min_mass})
        out += fmt::format(",{:.2f},{:.2f}", p.value, p.half_width_95);
    else
      out += ",,,,,,";
    out += "\n";
  }
  return out;
}

std::string curve_header(const Varied& keys) {
  return columns(keys) + "regime,environment,T0,policy,reward,hyperparameter,period,cumulative_regret,half_width_95\n";
}

std::string curve_rows(const Study& study, const Plan& plan, const std::vector<UnitResult>& results,
                       const Summary& summary, const Varied& varied) {
  const std::vector<int> periods = checkpoints(study.periods);
  std::string out;
  for (const SummaryRow& r : summary.rows) {
    if (!r.best || plan.lanes[r.lane].policy->name == "oracle") continue;
    for (std::size_t k = 0; k < periods.size(); ++k) {
      std::vector<double> regrets;
      for (std::size_t u = 0; u < plan.units.size(); ++u) {
        const LaneTally &oracle = results[u].lanes[0], &own = results[u].lanes[r.lane];
        if (plan.units[u].environment.name == r.environment && regime_name(plan.units[u].regime) == r.regime &&
            oracle.failure == Failure::none && own.failure == Failure::none)
          regrets.push_back(oracle.curve[k] - own.curve[k]);
      }
      const Estimate e = estimate(regrets);
      out += cells(varied) + fmt::format("{},{},{},{},{},{},{},{:.6f},{:.6f}\n", r.regime, r.environment, r.T0,
                                         r.policy, r.reward, r.hyperparameter, periods[k], e.mean, e.half_width_95);
    }
  }
  return out;
}

std::string failure_header(const Varied& keys) {
  return columns(keys) + "regime,environment,replication,T0,policy,reward,hyperparameter,seed,period,failure,command\n";
}

std::string failure_rows(const Setting& setting, const Plan& plan, const std::vector<UnitResult>& results,
                         const std::string& program) {
  std::string out;
  for (std::size_t u = 0; u < plan.units.size(); ++u)
    for (std::size_t lane = 0; lane < results[u].lanes.size(); ++lane) {
      const LaneTally& tally = results[u].lanes[lane];
      if (tally.failure == Failure::none) continue;
      const Unit& unit = plan.units[u];
      const PlannedLane& planned = plan.lanes[lane];
      std::string command =
          fmt::format("{} replay study.toml --lane '{}/{}'", program, unit_name(unit), lane_name(planned));
      if (!setting.varied.empty()) command += fmt::format(" --setting '{}'", setting.label());
      out += cells(setting.varied) +
             fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", regime_name(unit.regime), unit.environment.name,
                         unit.replication, planned.T0, planned.policy->name, planned.variant.reward,
                         planned.variant.hyperparameter, setting.study.seed, tally.failed_period,
                         failure_text(tally.failure), quoted_cell(command));
    }
  return out;
}

std::string tally_text(const LaneTally& tally) {
  std::string out = fmt::format("periods            {} of {}\n", tally.periods, tally.horizon);
  if (tally.periods > 0)
    out += fmt::format(
        "utility            {:.9f} per period, {:.9f} with realised rewards\nboxes queried      {:.6f}\n",
        tally.utility / tally.periods, tally.realised_utility / tally.periods, tally.queries() / tally.periods);
  if (tally.failure != Failure::none)
    out +=
        fmt::format("failed             {}, {}\n",
                    tally.failed_period == 0 ? "while calibrating" : fmt::format("in period {}", tally.failed_period),
                    failure_text(tally.failure));
  return out;
}

}  // namespace pandora
