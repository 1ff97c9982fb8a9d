#include "host/figures/write_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "host/figures/gnuplot_script.hpp"
#include "host/figures/run_gnuplot.hpp"
#include "host/files/output_folder.hpp"

namespace pandora {
namespace fs = std::filesystem;
namespace {

// One start of gnuplot, with its fonts, costs as much as a figure; larger batches would leave threads idle at the end.
constexpr std::size_t kBatch = 8;

std::vector<std::string> formats_of(const FigureOptions& options) {
  std::vector<std::string> formats;
  if (options.pdf) formats.push_back("pdf");
  if (options.svg) formats.push_back("svg");
  if (options.png) formats.push_back("png");
  return formats;
}

// Draws figures in batches over threads. A batch ends at its first failure, so each of its figures is then drawn alone.
class Drawing {
 public:
  Drawing(const fs::path& folder, const std::vector<Figure>& figures, const FigureOptions& options, std::string program)
      : folder_(folder), figures_(figures), options_(options), program_(std::move(program)) {
    for (const std::string& format : formats_of(options)) formats_ += (formats_.empty() ? "" : " ") + format;
  }

  std::vector<FigureFailure> run() {
    const std::size_t threads = static_cast<std::size_t>(std::max(options_.threads, 1));
    const std::size_t batch = std::clamp<std::size_t>((figures_.size() + threads - 1) / threads, 1, kBatch);
    const auto work = [&] {
      for (std::size_t from = next_.fetch_add(batch); from < figures_.size(); from = next_.fetch_add(batch))
        draw(from, std::min(from + batch, figures_.size()));
    };
    std::vector<std::thread> others;
    for (std::size_t t = 1; t < std::min(threads, (figures_.size() + batch - 1) / batch); ++t)
      others.emplace_back(work);
    work();
    for (std::thread& thread : others) thread.join();
    std::vector<FigureFailure> failures;
    for (const auto& [figure, message] : failures_) failures.push_back({figures_[figure].name, message});
    return failures;
  }

 private:
  void draw(std::size_t from, std::size_t to) {
    std::vector<std::string> scripts;
    for (std::size_t f = from; f < to; ++f) scripts.push_back(figures_[f].name + ".gp");
    const GnuplotResult result =
        run_gnuplot(program_, folder_, scripts, formats_, options_.seconds_per_figure * static_cast<double>(to - from));
    if (result.good && std::all_of(figures_.begin() + static_cast<std::ptrdiff_t>(from),
                                   figures_.begin() + static_cast<std::ptrdiff_t>(to),
                                   [&](const Figure& figure) { return is_drawn(figure); }))
      return;
    if (to - from > 1) {
      for (std::size_t f = from; f < to; ++f) draw(f, f + 1);
      return;
    }
    // Half a picture must not pass for one.
    for (const std::string& format : formats_of(options_)) {
      std::error_code error;
      fs::remove(folder_ / (figures_[from].name + "." + format), error);
    }
    const std::lock_guard lock(mutex_);
    failures_[from] = result.message.empty() ? "gnuplot wrote no picture" : result.message;
  }

  bool is_drawn(const Figure& figure) const {
    const std::vector<std::string> formats = formats_of(options_);
    return std::all_of(formats.begin(), formats.end(), [&](const std::string& format) {
      std::error_code error;
      return fs::file_size(folder_ / (figure.name + "." + format), error) > 0 && !error;
    });
  }

  const fs::path& folder_;
  const std::vector<Figure>& figures_;
  const FigureOptions& options_;
  const std::string program_;
  std::string formats_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::map<std::size_t, std::string> failures_;
};

std::string why_not_drawn(const std::vector<FigureFailure>& failures, std::size_t figures) {
  std::string names;
  for (const FigureFailure& failure : failures) names += (names.empty() ? "" : ", ") + failure.name;
  return fmt::format("{} of {} figures were not drawn ({}); {}.gp: {}; mend it and run `gnuplot {}.gp` in their folder",
                     failures.size(), figures, names, failures[0].name, failures[0].message, failures[0].name);
}

}  // namespace

FigureResult write_figures(const fs::path& folder, const std::vector<Figure>& figures, const FigureOptions& options) {
  std::set<std::string> names;
  for (const Figure& figure : figures) {
    check(figure);
    if (!names.insert(figure.name).second)
      throw std::logic_error(fmt::format("figure {}: two figures have this name", figure.name));
  }
  for (const Figure& figure : figures) {
    for (const char* format : {"pdf", "svg", "png"}) {
      std::error_code error;
      fs::remove(folder / (figure.name + "." + format), error);
    }
    write_file(folder / (figure.name + ".dat"), figure_data(figure));
    write_file(folder / (figure.name + ".gp"), figure_script(figure));
  }
  FigureResult result;
  if (figures.empty() || formats_of(options).empty()) {
    result.rendered = true;
    return result;
  }
  const std::string program = find_gnuplot();
  if (program.empty()) {
    const char* const named = std::getenv("PANDORA_GNUPLOT");
    const std::string why =
        named != nullptr
            ? fmt::format("PANDORA_GNUPLOT={} is no program that can be run (unset it, or name gnuplot's file)", named)
            : "gnuplot is not installed (Debian: gnuplot-nox)";
    result.message = fmt::format(
        "figures were not drawn: {}; run `gnuplot {}.gp` in their folder, and so for the others, "
        "once it is there",
        why, figures[0].name);
    return result;
  }
  result.failures = Drawing(folder, figures, options, program).run();
  result.rendered = result.failures.empty();
  if (!result.rendered) result.message = why_not_drawn(result.failures, figures.size());
  return result;
}

}  // namespace pandora
