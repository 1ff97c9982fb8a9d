#include "host/report/keep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "host/ground/base/fail.hpp"
#include "host/report/cells.hpp"

namespace pandora {
namespace {

constexpr double kMostReplications = 1e6;  // larger numbers are not predicted

Estimate judged_difference(const ComparedRow& row) {
  return row.chooses() ? fitted_difference(row) : row.paired.difference;
}

double one_sided(double t, double degrees) {
  const double half = student_t_p_value(t, degrees) / 2.0;
  return t < 0.0 ? half : 1.0 - half;
}

// The evidence in a row for its difference minus the margin. Each p value is the larger of two: that of Student's t, as
// in all comparisons, and that of t corrected for the skewness of the differences. A rule that seldom loses much looks
// better than it is until it does lose; t alone would keep it.
struct Evidence {
  double n = 0, shift = 0, scatter = 0, skewness = 0;  // scatter: of one replication

  Evidence(const ComparedRow& row, double margin) : n(static_cast<double>(row.paired.n)) {
    const Estimate found = judged_difference(row);
    shift = found.mean - margin;
    scatter = found.standard_error * std::sqrt(n);
    std::vector<double> values = difference(row.a.fit, row.b.fit).without;
    for (double& value : values) value = -value;  // a missing large loss raises the mean
    for (std::size_t r = 0; r < row.a.best.size() && row.a.fit.without.empty(); ++r)
      values.push_back(row.a.best[r] - row.b.best[r]);
    skewness = pandora::skewness(values);
  }

  double p(Verdict verdict, double replications) const {
    const double t = shift == 0.0 && scatter == 0.0 ? 0.0 : shift / scatter * std::sqrt(replications);
    const double other = unskewed(t, skewness, static_cast<std::size_t>(replications));
    return one_sided(verdict == Verdict::keep ? std::max(t, other) : -std::min(t, other), replications - 1.0);
  }
  Verdict likelier() const { return shift < 0.0 ? Verdict::keep : Verdict::drop; }

  // The number of replications at which p falls to `most`, if difference, scatter and skewness stay the same.
  double needed(double most) const {
    if (shift == 0.0 || std::isnan(scatter)) return kUnknown;
    double low = n, high = n;
    while (high <= kMostReplications && p(likelier(), high) > most) low = std::exchange(high, 2.0 * high);
    if (high > kMostReplications) return kUnknown;
    while (high - low > 1.0) {
      const double middle = std::floor((low + high) / 2.0);
      (p(likelier(), middle) <= most ? high : low) = middle;
    }
    return high;
  }

  // Too few replications for this skewness: the 5% may not hold.
  bool doubtful() const { return n < least_values(skewness); }
};

// Two digits; more are not known.
std::string about(double number) {
  const double unit = std::pow(10.0, std::max(0.0, std::floor(std::log10(number)) - 1.0));
  return fmt::format("{:.0f}", std::ceil(number / unit) * unit);
}

std::string sentence(const Decision& decision, double margin) {
  switch (decision.verdict) {
    case Verdict::keep:
      return margin > 0.0 ? fmt::format("keep: worse by less than {:g}, or better", margin) : "keep: better";
    case Verdict::drop:
      return margin > 0.0 ? fmt::format("drop: worse by more than {:g}", margin) : "drop: worse";
    case Verdict::undecided:
      break;
  }
  return std::isnan(decision.needed) ? "undecided: how many it takes is unknown"
                                     : fmt::format("undecided: takes about {} replications", about(decision.needed));
}

Fields fields_of(const ComparedPair& pair, const ComparedRow& row, const Decision& decision, double margin) {
  static constexpr const char* kWords[] = {"keep", "drop", "undecided"};
  const Estimate found = judged_difference(row);
  const bool decided = decision.decided();
  Fields out = cell_fields(pair, row, "rule", "base");
  append(out,
         {Field("decision", kWords[static_cast<std::size_t>(decision.verdict)])
              .shown("decision", Cell(sentence(decision, margin) + (decided && decision.skewed ? "*" : ""), decided)),
          {"replications_needed", decision.needed, "{:.0f}"},
          {"margin_x1000", margin, kDigits},
          number_field("difference_x1000", found.mean, "rule - base", 3),
          number_field("half_width_95_x1000", found.half_width_95, "± (95%)", 3),
          Field("p_holm", decision.p, kDigits).shown("p (Holm)", Cell(p_value_text(decision.p), decided)),
          {"skewed", decision.skewed}});
  return out;
}

std::vector<std::string> notes_of(double margin, std::size_t rows, bool starred, bool partial) {
  std::vector<std::string> out = {
      fmt::format(
          "The margin, {:g}, is in the unit of the table, and counts if it was said beforehand. The probability that "
          "even one keep or drop is wrong is at most {:.0f}% over all rows of this call, {} in number (Holm).",
          margin, 100.0 * kMostWrong, rows),
      "rule - base: paired, above 0 where the rule loses more; cross-fitted where there are hyperparameters to choose "
      "from. undecided: so many replications in all would decide if the difference stays as it is. Looking again after "
      "adding some is another call with another 5%."};
  if (starred) out.push_back("*: the differences are so skewed that n is too small for the 5% to be relied on.");
  if (partial) out.push_back(kFewerReplications);
  return out;
}

void require(const KeepOptions& o, const CompareOptions& cells) {
  const std::string rule = option("keep", "RULE"), base = option("against", "BASE");
  if (!cells.policies.empty())
    fail(ExitCode::usage, "{}: is not for {}, whose policies are {} and {}", option("policy"), option("keep"), rule,
         base);
  if (o.rule.empty() || o.base.empty() || !o.margin)
    fail(ExitCode::usage, "{}: is missing; {}, {} and {} go together",
         o.rule.empty()   ? rule
         : o.base.empty() ? base
                          : option("margin", "X"),
         option("keep"), option("against"), option("margin"));
  if (!std::isfinite(*o.margin) || *o.margin < 0.0)
    fail(ExitCode::usage, "{}: give a number from 0 on, of regret per period x 1000",
         option("margin", fmt::format("{:g}", *o.margin)));
}

// A cell without a decision must not go unnoticed.
void require_everywhere(const StoredResults& results, const CompareOptions& cells, const char* name_of_option,
                        const std::string& text) {
  const PolicyName name = parse_policy_name(text, results.settings()[0].plan, name_of_option);
  for (const PlannedSetting& planned : results.settings())
    for (const int T0 : planned.setting.study.T0)
      if (wanted(cells.T0, T0) && contenders(planned.plan, T0, name.policy, name.reward).empty())
        fail(ExitCode::usage, "{}: does not run at T0 = {}; ask for the T0 at which both run ({})",
             option(name_of_option, text), T0, option("t0"));
}

}  // namespace

std::vector<ComparedPair> keep_pairs(StoredResults& results, const KeepOptions& options, CompareOptions cells) {
  require(options, cells);
  require_names(cells, results.settings());
  require_everywhere(results, cells, "keep", options.rule);
  require_everywhere(results, cells, "against", options.base);
  cells.policies = {options.rule, options.base};
  std::vector<ComparedPair> pairs = compare_policies(results, cells);
  std::size_t most = 0;
  bool told = false;
  for (const ComparedPair& pair : pairs) {
    if (pair.a == pair.b)
      fail(ExitCode::usage, "{}: is the rule itself; name another", option("against", options.base));
    for (const ComparedRow& row : pair.rows) {
      most = std::max(most, row.paired.n);
      told = told || !std::isnan(judged_difference(row).half_width_95);
    }
  }
  if (!told)
    fail(ExitCode::bad_data,
         "compare: a decision takes two replications that count, four where there are hyperparameters to choose from; "
         "no cell has more than {}",
         most);
  return pairs;
}

// A cell has two tests: keep rejects "worse by the margin or more", drop rejects "worse by the margin or less". If the
// difference is exactly the margin, both claims are true and either decision is an error. Choosing the test by the
// observed difference would then make an error twice as likely as its level says. So Holm's method runs over both tests
// of all m cells, 2 m tests in all. It keeps its level whichever claims are true and however the tests depend on each
// other. For one cell this is a level of 2.5% on each side. Holm's method over m two-sided tests would decide a little
// more often, but its control of errors of direction is proven for independent tests only.
std::vector<Decision> decide(const std::vector<ComparedPair>& pairs, double margin) {
  std::vector<Evidence> evidence;
  for (const ComparedPair& pair : pairs)
    for (const ComparedRow& row : pair.rows) evidence.emplace_back(row, margin);
  std::vector<double> p;
  for (const Evidence& e : evidence)
    for (const Verdict verdict : {Verdict::keep, Verdict::drop}) p.push_back(e.p(verdict, e.n));
  const std::vector<double> adjusted = holm_adjusted(p);
  std::vector<Decision> out;
  auto left = std::ranges::count_if(p, [](double one) { return !std::isnan(one); });
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    const Verdict verdict = evidence[i].likelier();
    const double own = adjusted[2 * i + (verdict == Verdict::keep ? 0 : 1)];
    out.push_back({own < kMostWrong ? verdict : Verdict::undecided, own, kUnknown, evidence[i].doubtful()});
    left -= out.back().decided() ? 1 : 0;
  }
  for (std::size_t i = 0; i < evidence.size(); ++i)
    if (!out[i].decided()) out[i].needed = evidence[i].needed(kMostWrong / static_cast<double>(left));
  return out;
}

std::vector<Table> keep_tables(const std::vector<ComparedPair>& pairs, double margin) {
  const std::vector<Decision> decisions = decide(pairs, margin);
  std::vector<Table> tables;
  auto next = decisions.begin();
  for (const ComparedPair& pair : pairs) {
    Columns columns;
    bool starred = false, partial = false;
    for (const ComparedRow& row : pair.rows) {
      starred = starred || (next->decided() && next->skewed);
      partial = partial || row.partial();
      columns.add(fields_of(pair, row, *next++, margin));
    }
    Table& table = tables.emplace_back(columns.table());
    table.label = "keep";
    table.title = fmt::format("Whether to keep {} (rule) against {} (base): time-averaged regret x 1000, margin {:g}",
                              pair.a, pair.b, margin);
    table.notes = notes_of(margin, decisions.size(), starred, partial);
  }
  return tables;
}

Columns keep_columns(const std::vector<ComparedPair>& pairs, double margin) {
  const std::vector<Decision> decisions = decide(pairs, margin);
  Columns out;
  auto next = decisions.begin();
  for (const ComparedPair& pair : pairs)
    for (const ComparedRow& row : pair.rows) out.add(fields_of(pair, row, *next++, margin));
  return out;
}

}  // namespace pandora
