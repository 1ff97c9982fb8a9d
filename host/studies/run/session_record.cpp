#include "host/studies/run/session_record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <set>

#include "host/studies/results/manifest.hpp"

namespace pandora {
namespace {

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

}  // namespace

using nlohmann::json;

SessionRecord::SessionRecord(const RunOptions& options, const std::vector<PlannedSetting>& settings, int ranks)
    : record_{{"command", options.command},
              {"host", host_name()},
              {"backend", options.backend.name},
              {"backend_reason", options.backend.reason},
              {"threads", options.threads},
              {"ranks", ranks},
              {"shard", fmt::format("{}/{}", options.shard.index, options.shard.count)},
              {"started", utc_now()}} {
  std::set<std::string> engines;
  for (const PlannedSetting& planned : settings) engines.insert(planned.setting.study.engine.text());
  record_["engine"] = fmt::format("{}", fmt::join(engines, "; "));
  for (const char* unknown : {"ended", "wall_seconds", "parts_computed", "damaged", "processes"})
    record_[unknown] = nullptr;
}

json SessionRecord::ended(const std::vector<json>& processes, const std::vector<std::string>& damaged) const {
  json out = record_;
  out["ended"] = utc_now();
  out["wall_seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  std::size_t computed = 0;
  for (const json& process : processes) computed += process.at("parts_computed").get<std::size_t>();
  out["parts_computed"] = computed;
  out["processes"] = processes;
  out["damaged"] = damaged;
  return out;
}

json process_json(const RunOptions& options, std::size_t computed) {
  return {{"host", host_name()},
          {"backend", options.backend.name},
          {"threads", options.threads},
          {"parts_computed", computed}};
}

}  // namespace pandora
