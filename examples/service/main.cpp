// A cascade as a service: requests and feedback as JSON lines on standard input, answers on standard output.
//
//   cascade-service FOLDER [CASCADE.json]
//
// The folder keeps what was learned; with nothing in it the cascade comes from the file. A line is an object with "op":
//
//   begin         "text", "columns": {...}; or "psi": [...]   -> "request": a number, "next": the model to call
//   observe       "request", "model", "dollars", "score" or "scores": [...]    -> "next": a model, or null
//   next          "request"                                   -> "next"
//   deploy        "request"                                   -> "deployed": the model
//   feedback      "request", "quality"
//   explain       "request"                                   -> what docs/cascades.md describes
//   add_model, remove_model "model"; set_price "price"; counts; save
//
// An answer repeats "request"; a call that is refused is answered with "error" and changes nothing.
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "journal.hpp"
#include "pandora/cascade.hpp"
#include "pandora/error.hpp"

namespace {

using nlohmann::json;
using pandora::Cascade;

volatile std::sig_atomic_t ended = 0;

pandora::Prompt prompt_of(const json& call) {
  pandora::Prompt prompt;
  prompt.text = call.value("text", "");
  for (const auto& [name, value] : call.value("columns", json::object()).items()) {
    if (value.is_string())
      prompt.columns[name] = value.get<std::string>();
    else if (value.is_array())
      prompt.columns[name] = value.get<std::vector<double>>();
    else if (!value.is_null())  // null is a value that is missing
      prompt.columns[name] = value.get<double>();
  }
  return prompt;
}

class Service {
 public:
  explicit Service(Cascade cascade) : cascade_(std::move(cascade)) {}

  Cascade& cascade() { return cascade_; }

  /// The answer; `changed`: whether the call has to be made again after a restart.
  json answer(const json& call, bool& changed) {
    const auto op = call.at("op").get<std::string>();
    changed = op != "next" && op != "explain" && op != "counts" && op != "save";
    if (op == "begin") {
      const std::uint64_t request = call.contains("psi") ? cascade_.begin(call["psi"].get<std::vector<float>>())
                                                         : cascade_.begin(prompt_of(call));
      return {{"request", request}, {"next", next(request)}};
    }
    if (op == "add_model") return {{"model", cascade_.models()[cascade_.add_model(call.at("model"))].name}};
    if (op == "remove_model") return cascade_.remove_model(call.at("model")), json::object();
    if (op == "set_price") return cascade_.set_price(call.at("price")), json::object();
    if (op == "counts") return counts();
    if (op == "save") return json::object();
    for (const char* known : {"next", "observe", "deploy", "feedback", "explain"})
      if (op == known) return of_request(op, call);
    throw pandora::Error(pandora::ExitCode::usage, "op \"" + op + "\" is unknown");
  }

 private:
  json of_request(const std::string& op, const json& call) {
    const json& number = call.contains("request") ? call["request"] : json();
    if (!number.is_number_unsigned())
      throw pandora::Error(pandora::ExitCode::usage, "\"request\" must be the number that begin has answered");
    const auto request = number.get<std::uint64_t>();
    json out = {{"request", request}};
    if (op == "observe") {
      cascade_.observe(request, position(call.at("model")),
                       {call.at("dollars"), call.contains("scores") ? call["scores"].get<std::vector<double>>()
                                                                    : std::vector<double>{call.at("score")}});
      out["next"] = next(request);
    } else if (op == "next") {
      out["next"] = next(request);
    } else if (op == "deploy") {
      out["deployed"] = cascade_.models()[cascade_.deploy(request)].name;
    } else if (op == "feedback") {
      cascade_.feedback(request, call.at("quality"));
    } else {
      out = json::parse(cascade_.explain_json(request));
    }
    return out;
  }

  json next(std::uint64_t request) {
    const auto model = cascade_.next(request);
    return model ? json(cascade_.models()[*model].name) : json();
  }

  std::size_t position(const std::string& name) const {
    const auto models = cascade_.models();
    for (std::size_t a = 0; a < models.size(); ++a)
      if (models[a].name == name) return a;
    throw pandora::Error(pandora::ExitCode::usage, "there is no model " + name);
  }

  json counts() const {
    const pandora::CascadeCounts n = cascade_.counts();
    return {{"requests", n.requests},         {"calls", n.calls},
            {"deployed", n.deployed},         {"feedbacks", n.feedbacks},
            {"dropped_open", n.dropped_open}, {"dropped_waiting", n.dropped_waiting},
            {"dollars", n.dollars},           {"quality", n.quality}};
  }

  Cascade cascade_;
};

// One line in, one line out. The call is in the journal before its answer is out.
void serve(Service& service, Journal& journal, const std::string& line) {
  json out;
  try {
    const json call = json::parse(line);
    bool changed = false;
    out = service.answer(call, changed);
    if (changed) journal.write(line, service.cascade());
    if (call["op"] == "save") journal.start(service.cascade());
  } catch (const pandora::Error& error) {
    out["error"] = error.what();
  } catch (const json::exception& error) {
    const std::string what = error.what();  // such as "[json.exception.type_error.302] type must be number"
    out["error"] = "not a call: " + what.substr(what.find("] ") == std::string::npos ? 0 : what.find("] ") + 2);
  }
  std::cout << out.dump(-1, ' ', false, json::error_handler_t::replace) << '\n' << std::flush;
}

// Until standard input ends or a signal says so.
void run(Service& service, Journal& journal) {
  std::string waiting;
  char buffer[1 << 16];
  while (!ended) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (::poll(&input, 1, 500) <= 0) {
      journal.sync_in_time();
      continue;
    }
    const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (got <= 0) break;
    waiting.append(buffer, static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end; (end = waiting.find('\n', begin)) != std::string::npos; begin = end + 1)
      if (end > begin) serve(service, journal, waiting.substr(begin, end - begin));
    waiting.erase(0, begin);
  }
  journal.start(service.cascade());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: cascade-service FOLDER [CASCADE.json]\n";
    return 2;
  }
  struct sigaction action {};
  action.sa_handler = [](int) { ended = 1; };
  for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
  try {
    Journal journal(argv[1]);
    if (!journal.resumes() && argc < 3)
      throw pandora::Error(pandora::ExitCode::usage, std::string(argv[1]) + ": holds no cascade; name a file with one");
    Service service(Cascade::load(journal.resumes() ? journal.snapshot() : std::filesystem::path(argv[2])));
    const std::uint64_t again = journal.replay([&service](const std::string& line) {
      bool changed = false;
      (void)service.answer(json::parse(line), changed);
    });
    if (const std::string caution = service.cascade().caution(); !caution.empty()) std::cerr << caution << '\n';
    const bool resumed = journal.resumes();
    journal.start(service.cascade());
    std::cerr << (resumed ? "resumed" : "started") << ", " << again << " calls made again\n";
    run(service, journal);
    return 0;
  } catch (const pandora::Error& error) {
    std::cerr << "cascade-service: " << error.what() << '\n';
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::cerr << "cascade-service: " << error.what() << '\n';
    return 1;
  }
}
