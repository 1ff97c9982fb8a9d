// What figures are put together from, and those that are not of a single study's cell.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "host/ground/base/lists.hpp"
#include "host/ground/base/printable.hpp"
#include "host/report/report.hpp"
#include "host/studies/study/study_config.hpp"
#include "host/studies/study/study_keys.hpp"

namespace pandora {
namespace {

// The title of POLICY/REWARD; of another program's, the name itself.
PolicyTitle title_of(const std::string& name, const std::vector<PolicyTitle>& titles) {
  for (const PolicyTitle& title : titles)
    if (name == title.policy + "/" + title.reward) return title;
  const std::size_t slash = name.find('/');
  return {.policy = name.substr(0, slash),
          .reward = slash == name.npos ? "" : name.substr(slash + 1),
          .name = name,
          .brief = name,
          .group = ""};
}

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

// By their keys: those of one value alone are told of all settings.
std::vector<std::string> sizes_that_differ(const std::vector<SettingSummary>& settings) {
  std::vector<std::string> out;
  const Study& first = settings[0].setting.study;
  const auto add = [&](const char* key, auto size) {
    if (std::ranges::any_of(settings, [&](const auto& s) { return size(s.setting.study) != size(first); }))
      out.push_back(key);
  };
  add("dimensions.boxes", [](const Study& s) { return s.dimensions.boxes; });
  add("dimensions.context", [](const Study& s) { return s.dimensions.context; });
  add("periods", [](const Study& s) { return s.periods; });
  add("replications", [](const Study& s) { return s.replications; });
  return out;
}

}  // namespace

Figure empty_figure(Figure::Kind kind, std::string name, std::string x_label, std::string y_label,
                    std::string caption) {
  Figure figure;
  figure.kind = kind;
  figure.name = std::move(name);
  figure.x_label = std::move(x_label);
  figure.y_label = std::move(y_label);
  figure.caption = std::move(caption);
  return figure;
}

void add_point(Series& series, double x, const Estimate& y) {
  const double half = std::isnan(y.half_width_95) ? 0.0 : y.half_width_95;
  series.x.push_back(x);
  series.y.push_back(y.mean);
  series.low.push_back(y.mean - half);
  series.high.push_back(y.mean + half);
}

std::vector<PolicyTitle> titles_shown(const Summary& summary) {
  std::vector<PolicyTitle> titles = policy_titles(summary);
  std::erase_if(titles, [&summary](const PolicyTitle& title) {
    return std::none_of(summary.rows.begin(), summary.rows.end(), [&title](const SummaryRow& row) {
      return row.policy == title.policy && row.reward == title.reward;
    });
  });
  return titles;
}

Series series_of(const PolicyTitle& title) {
  return {.label = title.brief, .policy = title.policy, .reward = title.reward};
}

void choose_axes(Figure& figure) {
  std::vector<double> x, y;
  for (const Series& series : figure.series) {
    x.insert(x.end(), series.x.begin(), series.x.end());
    y.insert(y.end(), series.y.begin(), series.y.end());
  }
  figure.log_x = spans_a_decade(x);
  figure.log_y = spans_a_decade(y) && std::all_of(y.begin(), y.end(), [](double value) { return !(value <= 0.0); });
}

std::string study_sizes(const Study& study, const std::vector<std::string>& varied) {
  std::string out;
  const auto add = [&](const char* key, const std::string& text) {
    if (!has(varied, key)) out += (out.empty() ? " " : ", ") + text;
  };
  add("dimensions.boxes", fmt::format("A = {}", study.dimensions.boxes));
  if (!of_table(study)) add("dimensions.context", fmt::format("d_x = {}", study.dimensions.context));
  add("periods", fmt::format("T = {}", study.periods));
  add("replications", fmt::format("{} replication{}", study.replications, study.replications == 1 ? "" : "s"));
  return out.empty() ? out : out + ".";
}

void add_if_any(std::vector<Figure>& figures, Figure figure) {
  std::erase_if(figure.series, [](const Series& s) { return s.y.empty(); });
  if (figure.kind == Figure::Kind::lines || figure.kind == Figure::Kind::line_points)
    if (figure.series.size() > kMostCurves) {
      figure.caption += fmt::format(" The first {} of {} policies, left out:", kMostCurves, figure.series.size());
      for (std::size_t k = kMostCurves; k < figure.series.size(); ++k)
        figure.caption += (k == kMostCurves ? " " : "; ") + figure.series[k].label;
      figure.caption += ".";
      figure.series.resize(kMostCurves);
    }
  if (!figure.series.empty()) figures.push_back(std::move(figure));
}

const char* kind_text(bool knows) {
  return knows ? "policies that see μ*" : "policies that do not see μ*";
}

FigureGroup difference_figures(const std::vector<ComparedPair>& pairs, const std::vector<PolicyTitle>& titles) {
  FigureGroup group{"Differences, paired over replications", {}};
  std::map<std::string, Figure> figures;  // by name; policies in the order of the pairs
  std::vector<std::string> order;
  for (const ComparedPair& pair : pairs)
    for (const ComparedRow& row : pair.rows) {
      if (!row.T0 || !row.setting.empty() || row.paired.n == 0) continue;
      std::string base = pair.a;
      std::replace(base.begin(), base.end(), '/', '-');
      const std::string name = fmt::format("difference-{}-{}-{}", base, row.environment, row.regime);
      const auto [at, is_new] = figures.try_emplace(name);
      Figure& figure = at->second;
      if (is_new) {
        order.push_back(name);
        const std::string base_title = title_of(pair.a, titles).brief;
        figure = empty_figure(
            Figure::Kind::line_points, name, "calibration periods T₀",
            fmt::format("regret less that of {}, × 1000", base_title),
            fmt::format("{}, regime {}: time-averaged regret less that of {} on the same draws, with 95% intervals of "
                        "the paired difference; below 0 is better.",
                        environment_title(row.environment), row.regime, base_title));
        figure.references = {{0.0, false, ""}};
      }
      if (const Series series = series_of(title_of(pair.b, titles));
          figure.series.empty() || figure.series.back().label != series.label)
        figure.series.push_back(series);
      const Estimate& d = row.paired.difference;
      add_point(figure.series.back(), *row.T0, {-d.mean, d.half_width_95});
    }
  for (const std::string& name : order) {
    choose_axes(figures[name]);
    figures[name].log_y = false;
    add_if_any(group.figures, std::move(figures[name]));
  }
  return group;
}

std::vector<FigureGroup> varied_figures(const std::vector<SettingSummary>& all, int T0) {
  const std::vector<SettingSummary> settings = by_varied_keys(all);
  std::vector<FigureGroup> groups;
  const auto& first = settings[0].setting.varied;
  const std::vector<PolicyTitle> titles = titles_shown(settings[0].summary);
  std::vector<std::string> keys;
  for (const auto& [key, value] : first) keys.push_back(key);
  const std::vector<std::string> sizes = sizes_that_differ(settings);
  for (const OracleRow& oracle : settings[0].summary.oracle) {
    FigureGroup group{fmt::format("{}, regime {}", environment_title(oracle.environment), oracle.regime), {}};
    for (std::size_t key = 0; key < first.size(); ++key)
      for (const bool knows : {true, false}) {
        const bool numeric =
            keys[key] != "scenario" && std::all_of(settings.begin(), settings.end(), [&](const SettingSummary& s) {
              return number_of(s.setting.varied[key].second).has_value();
            });
        Figure figure = empty_figure(
            numeric ? Figure::Kind::line_points : Figure::Kind::bars,
            fmt::format("vary-{}-{}-{}-{}", key + 1, kKinds[knows], oracle.environment, oracle.regime),
            key_in_words(keys[key]), "time-averaged regret × 1000",
            fmt::format("Time-averaged regret against {} of {}, T₀ = {}, with 95% intervals{}.{}", keys[key],
                        kind_text(knows), T0, first.size() > 1 ? "; other keys at their first values" : "",
                        study_sizes(settings[0].setting.study, sizes)));
        figure.x_key = keys[key];
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
                add_point(series, numeric ? *number_of(s->setting.varied[key].second) : 0.0, row.regret);
                if (!numeric) series.x.clear();
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
