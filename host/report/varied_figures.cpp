#include <fmt/format.h>

#include <algorithm>

#include "host/ground/base/split.hpp"
#include "host/report/figure_parts.hpp"
#include "host/studies/results/regret_tables.hpp"
#include "host/studies/study/study.hpp"
#include "host/studies/study/study_keys.hpp"

namespace pandora {

namespace {

// Environments of several sizes stand in settings of their own: together again, in the order of the study.
std::vector<SettingSummary> by_varied_keys(const std::vector<SettingSummary>& all) {
  std::vector<SettingSummary> out;
  for (const SettingSummary& s : all) {
    const auto same = std::find_if(out.begin(), out.end(),
                                   [&s](const SettingSummary& o) { return o.setting.varied == s.setting.varied; });
    if (same == out.end())
      out.push_back(s);
    else
      append(Summary(s.summary), same->summary);
  }
  return out;
}

// The quantity, and its key in brackets: by the first sentence of what the study's documentation says of it, where it
// has no short name here.
std::string key_in_words(const std::string& key) {
  constexpr std::pair<const char*, const char*> kNames[] = {{"periods", "horizon T"},
                                                            {"dimensions.boxes", "number of boxes A"},
                                                            {"dimensions.context", "length of the context d_x"},
                                                            {"dimensions.output", "length of an output d_w"},
                                                            {"dimensions.reward_features", "reward features d"}};
  for (const auto& [name, words] : kNames)
    if (key == name) return fmt::format("{} ({})", words, key);
  for (const StudyKey& known : study_keys())
    if (known.name == key) {
      const std::string words = known.meaning.substr(0, known.meaning.find_first_of(".(;:"));
      return fmt::format("{} ({})", words.substr(0, words.find_last_not_of(' ') + 1), key);
    }
  return key;
}

}  // namespace

std::vector<FigureGroup> varied_figures(const std::vector<SettingSummary>& all, int T0) {
  const std::vector<SettingSummary> settings = by_varied_keys(all);
  std::vector<FigureGroup> groups;
  const auto& first = settings[0].setting.varied;
  const std::vector<PolicyTitle> titles = titles_shown(settings[0].summary);
  std::vector<std::string> keys;
  for (const auto& [key, value] : first) keys.push_back(key);
  for (const OracleRow& oracle : settings[0].summary.oracle) {
    FigureGroup group{fmt::format("{}, regime {}", environment_title(oracle.environment), oracle.regime), {}};
    for (std::size_t key = 0; key < first.size(); ++key)
      for (const bool knows : {true, false}) {
        const bool numeric = std::all_of(settings.begin(), settings.end(), [&](const SettingSummary& s) {
          return number_of(s.setting.varied[key].second).has_value();
        });
        Figure figure;
        figure.kind = numeric ? Figure::Kind::line_points : Figure::Kind::bars;
        figure.name = fmt::format("vary-{}-{}-{}-{}", key + 1, kKinds[knows], oracle.environment, oracle.regime);
        figure.x_key = first[key].first;
        figure.x_label = key_in_words(first[key].first);
        figure.y_label = "time-averaged regret × 1000";
        figure.caption = fmt::format("Time-averaged regret against {} of {}, T₀ = {}{}{}.{}", first[key].first,
                                     kind_text(knows), T0, numeric ? ", with 95% intervals" : "",
                                     first.size() > 1 ? "; other keys at their first values" : "",
                                     study_sizes(settings[0].setting.study, keys));
        std::vector<const SettingSummary*> line;  // the other keys at their first values
        for (const SettingSummary& s : settings) {
          bool of_line = true;
          for (std::size_t other = 0; other < first.size(); ++other)
            of_line = of_line && (other == key || s.setting.varied[other] == first[other]);
          if (of_line) line.push_back(&s);
        }
        for (const SettingSummary* s : line)
          if (!numeric) figure.categories.push_back(s->setting.varied[key].second);
        for (const PolicyTitle& title : titles) {
          if (title.knows_reward != knows) continue;
          Series series = series_of(title);
          for (const SettingSummary* s : line)
            for (const SummaryRow& row : s->summary.rows)
              if (row.best && row.policy == title.policy && row.reward == title.reward && row.T0 == T0 &&
                  row.regime == oracle.regime && row.environment == oracle.environment) {
                if (numeric)
                  add_point(series, *number_of(s->setting.varied[key].second), row.regret);
                else
                  series.y.push_back(row.regret.mean);
              }
          if (numeric || series.y.size() == figure.categories.size()) figure.series.push_back(std::move(series));
        }
        if (numeric) choose_axes(figure);
        add_if_any(group.figures, std::move(figure));
      }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace pandora
