#include "host/ground/figures/write_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "host/ground/base/error.hpp"
#include "host/ground/figures/gnuplot_script.hpp"
#include "host/ground/figures/picture.hpp"
#include "host/ground/figures/run_gnuplot.hpp"
#include "host/ground/files/output_folder.hpp"

namespace pandora {
namespace fs = std::filesystem;
namespace {

std::vector<std::string> formats_of(const FigureOptions& options) {
  std::vector<std::string> formats;
  if (options.pdf) formats.push_back("pdf");
  if (options.svg) formats.push_back("svg");
  if (options.png) formats.push_back("png");
  return formats;
}

// Draws figures over threads, each by a process of its own: gnuplot carries the state of a terminal from one picture to
// the next, and the bytes would depend on what was drawn before.
class Drawing {
 public:
  Drawing(const fs::path& folder, const std::vector<Figure>& figures, const FigureOptions& options, std::string program)
      : folder_(folder), figures_(figures), options_(options), program_(std::move(program)) {
    for (const std::string& format : formats_of(options)) formats_ += (formats_.empty() ? "" : " ") + format;
  }

  std::vector<FigureFailure> run() {
    const std::size_t threads = std::min(static_cast<std::size_t>(std::max(options_.threads, 1)), figures_.size());
    const auto work = [&] {
      for (std::size_t f = next_++; f < figures_.size(); f = next_++) draw(f);
    };
    std::vector<std::thread> others;
    try {
      for (std::size_t t = 1; t < threads; ++t) others.emplace_back(work);
    } catch (...) {  // where the system starts no more of them, or has no memory for one, fewer draw all the same
    }
    work();
    for (std::thread& thread : others) thread.join();
    std::vector<FigureFailure> failures;
    for (const auto& [figure, message] : failures_) failures.push_back({figures_[figure].name, message});
    return failures;
  }

 private:
  void draw(std::size_t f) {
    std::string problem;
    try {
      problem = problem_of(figures_[f]);
    } catch (const Error& error) {  // a limit of the system
      problem = error.what();
    }
    if (problem.empty()) return;
    const std::lock_guard lock(mutex_);
    failures_[f] = problem;
  }

  // Draws it; empty where that went well.
  std::string problem_of(const Figure& figure) const {
    const GnuplotResult result =
        run_gnuplot(program_, folder_, figure.name + ".gp", formats_, options_.seconds_per_figure);
    if (result.good && is_drawn(figure)) return "";
    bool any = false;  // half a picture must not pass for one
    for (const std::string& format : formats_of(options_)) {
      std::error_code error;
      any = fs::remove(folder_ / (figure.name + "." + format), error) || any;
    }
    if (!result.message.empty()) return result.message;
    return any ? "gnuplot wrote a part of a picture (is the disk full?)" : "gnuplot wrote no picture";
  }

  bool is_drawn(const Figure& figure) const {
    const std::vector<std::string> formats = formats_of(options_);
    return std::all_of(formats.begin(), formats.end(), [&](const std::string& format) {
      return is_whole_picture(folder_ / (figure.name + "." + format), format);
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
