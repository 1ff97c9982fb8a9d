// How results of any number of replications stand to what the paper publishes: its numbers, its findings, the price of
// an unknown reward.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "host/ground/tables/table.hpp"
#include "host/report/panels.hpp"

namespace pandora {

enum class NumberKind { regret, utility, boxes, permutations, greatest_mass, least_mass };

/// One of the published numbers, unadjusted or adjusted.
struct Judgement {
  Estimate ours;                         ///< 1.96 standard errors
  double published_half_width_95 = 0.0;  ///< of the published number for this comparison
  double z = 0.0;                        ///< the difference in standard errors of both; NaN: too few replications
  bool inside = false;                   ///< |difference| at most the root of the sum of squared half-widths
  std::vector<double> error, residual;   ///< as in AdjustedMean
};

struct JudgedNumber {
  NumberKind kind = NumberKind::regret;
  std::string environment, regime;
  PaperRow row{};  ///< of a regret
  int T0 = 0;      ///< likewise
  PublishedValue published;
  bool assumed_error = false;  ///< the paper gives no half-width: ours for 50 replications stands in
  /// `adjusted`: what is expected of 50 replications whose oracle has the published utility and boxes (of regrets),
  /// with our own luck in the costs taken out; the published half-width is that of what the header does not explain.
  Judgement plain, adjusted;

  std::string name() const;  ///< such as "dow/known, T0=50" or "oracle's utility"
};

/// What is published of a panel, or what 50 of our own replications would have published.
struct PublishedPanel {
  std::optional<PublishedOracle> oracle;
  std::optional<PublishedOrder> order;
  std::vector<std::optional<PublishedValue>> regrets;  ///< of the panel's entries
};

PublishedPanel published_panel(const Panel& panel);
std::optional<PublishedValue> published_value(const Panel& panel, const RegretEntry& entry);

/// `few` as if it had been published, to two decimals, with the numbers that `paper` has.
PublishedPanel as_published(const Panel& few, const PublishedPanel& paper);

/// The numbers of a panel that are published, in the order of its entries, then utility, boxes and Table 3.
std::vector<JudgedNumber> judge(const Panel& ours, const PublishedPanel& theirs);

/// A row of Tables 1 and 2 over its cells.
struct RowVerdict {
  PaperRow row{};
  std::size_t cells = 0, inside = 0, adjusted_inside = 0;
  double rms_z = 0.0, adjusted_rms_z = 0.0;
  /// Mean of ours / published, 1.96 standard errors of both sides. Cells of a panel share instances, in our results
  /// and, as it is taken to be, in the paper's: errors of the published numbers are correlated over T_0 as ours are.
  Estimate ratio, adjusted_ratio;
};
std::vector<RowVerdict> row_verdicts(const std::vector<JudgedNumber>& numbers);

/// How many numbers are inside, and how many would be if a set of 50 of our own replications had been published and our
/// others had been ours. "50 of ours": a set is judged against one other set, and the paper's count is the mean over
/// our sets, as if each of them were all that we had.
struct CountVerdict {
  std::string what;  ///< such as "regrets"
  bool adjusted = false;
  std::size_t of = 0;      ///< numbers
  double published = 0.0;  ///< of the paper's, inside
  double rms_z = 0.0;
  std::vector<int> sets;           ///< inside, of each set
  std::vector<double> sets_rms_z;  ///< likewise
};
/// Without sets where there are fewer than 100 replications.
std::vector<CountVerdict> count_verdicts(const std::vector<Panel>& panels, const std::vector<JudgedNumber>& numbers);

enum class Holds { yes, open, no };

/// A finding in one cell.
struct FindingCell {
  std::string cell;      ///< such as "A uniform, T0=50"
  std::string compared;  ///< whose regrets, such as "dow/known less frugalgpt/known"
  Estimate difference;   ///< with the 95% interval of Student's t; paired over replications but where it says otherwise
  Holds holds = Holds::open;      ///< by the 95% interval of what is claimed
  bool mean_agrees = false;       ///< whether the means alone agree with the claim
  std::optional<bool> published;  ///< whether the published means do
};

/// A statement that one of the six findings of Section 6.2 makes about every cell of a kind.
struct Finding {
  int number = 0;          ///< of the paper's order, 1 to 6
  std::string part;        ///< a, b, ...
  std::string statement;   ///< with the words of the paper made definite
  std::string difference;  ///< what is below 0 or above, x 1000 where it is of regrets
  std::vector<FindingCell> cells;

  std::size_t count(Holds holds) const;
  std::string label() const { return std::to_string(number) + part; }
};
std::vector<Finding> paper_findings(const std::vector<Panel>& panels);

/// By how much more is lost where the reward is unknown, mean over the cells of a regime.
struct PriceOfUnknown {
  std::string policy, regime;
  std::size_t cells = 0;
  Estimate ours;                      ///< regret x 1000, unknown less known, 1.96 standard errors
  std::optional<Estimate> published;  ///< half-width: what our scatter of the same mean gives in 50 replications
  double z = 0.0, p = 0.0;            ///< of the difference; p two-sided by the normal law; NaN without `published`
};
std::vector<PriceOfUnknown> prices_of_unknown(const std::vector<Panel>& panels);

/// All of it for one setting.
struct Verdict {
  std::string setting;    ///< label; empty where nothing varies
  int replications = 0;   ///< R
  std::size_t least = 0;  ///< replications that count in the panel with the fewest
  bool costs = false;     ///< whether means are adjusted for the costs
  std::vector<JudgedNumber> numbers;
  std::vector<RowVerdict> rows;
  std::vector<CountVerdict> counts;
  std::vector<Finding> findings;
  std::vector<PriceOfUnknown> prices;
};
/// One per setting that has panels of the paper's environments. Throws Error (usage) if there is none.
std::vector<Verdict> verdicts(StoredResults& results);

/// From so many replications on means are adjusted.
inline constexpr std::size_t kLeastForAdjustment = 30;

/// For people: numbers, rows, counts, findings, what of them does not hold, prices. `only`: one of them by name.
std::vector<Table> verdict_tables(const Verdict& verdict, const std::string& only = "");

/// "numbers", "rows", "counts", "findings", "prices".
const std::vector<std::string>& verdict_parts();

/// One of the parts with a quantity in each column, for CSV.
Table verdict_csv(const std::vector<Verdict>& verdicts, const std::string& part);
/// All parts, or one: objects with the names of those columns.
nlohmann::json verdict_json(const std::vector<Verdict>& verdicts, const std::string& only = "");

}  // namespace pandora
