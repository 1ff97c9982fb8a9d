// A cascade as a service: requests and feedback as JSON lines on standard input, answers on standard output.
//
//   cascade-service FOLDER [CASCADE.json]
//
// The folder keeps what was learned; with nothing in it the cascade comes from the file. A line is an object with "op":
//
//   begin         "text", "columns": {...}; or "psi": [...]   -> "request": a number, "next": the model to call
//                 (null in a column: not known)
//   observe       "request", "model", "dollars", "score" or "scores": [...]    -> "next": a model, or null
//                 (no score where one model alone can be called)
//   next          "request"                                   -> "next"
//   deploy        "request"                                   -> "deployed": the model
//   feedback      "request", "quality"
//   explain       "request"                                   -> why, as docs/serving.md describes
//   add_model, remove_model "model"; set_price "price"; counts; save
//
// An answer repeats "request"; a call that is answered with "error" has changed nothing. Numbers of requests are unique
// over restarts and services, so that feedback which comes late, or to another service, is not taken for another
// request.
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
  const json columns = call.value("columns", json::object());
  if (!columns.is_object()) throw pandora::Error(pandora::ExitCode::usage, "\"columns\" must be an object");
  for (const auto& [name, value] : columns.items()) {
    if (value.is_string())
      prompt.columns[name] = value.get<std::string>();
    else if (value.is_array())
      prompt.columns[name] = value.get<std::vector<double>>();
    else if (value.is_null())
      prompt.columns[name] = std::monostate();
    else
      prompt.columns[name] = value.get<double>();
  }
  return prompt;
}

class Service {
 public:
  explicit Service(Cascade cascade) : cascade_(std::move(cascade)) {}

  Cascade& cascade() { return cascade_; }

  /// Whether a call has to be made again after a restart.
  static bool changes(const json& call) {
    for (const char* op :
         {"begin", "observe", "fail", "skip", "cancel", "deploy", "feedback", "add_model", "remove_model", "set_price"})
      if (call.at("op") == op) return true;
    return false;
  }

  json answer(const json& call) {
    const auto op = call.at("op").get<std::string>();
    if (op == "begin") {
      const std::uint64_t request = call.contains("psi") ? cascade_.begin(call["psi"].get<std::vector<float>>())
                                                         : cascade_.begin(prompt_of(call));
      return {{"request", request}, {"next", next(request)}};
    }
    if (op == "add_model") return {{"model", cascade_.model_name(cascade_.add_model(call.at("model")))}};
    if (op == "remove_model") return cascade_.remove_model(call.at("model")), json::object();
    if (op == "set_price") return cascade_.set_price(call.at("price")), json::object();
    if (op == "counts") return counts();
    if (op == "save") return json::object();
    for (const char* known : {"next", "observe", "fail", "skip", "cancel", "deploy", "feedback", "explain"})
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
                       {call.at("dollars"), call.contains("scores")  ? call["scores"].get<std::vector<double>>()
                                            : call.contains("score") ? std::vector<double>{call["score"]}
                                                                     : std::vector<double>()});
      out["next"] = next(request);
    } else if (op == "fail" || op == "skip") {
      const std::size_t model = position(call.at("model"));
      if (op == "fail")
        cascade_.fail(request, model, call.value("dollars", 0.0), call.value("reason", ""));
      else
        cascade_.skip(request, model);
      out["next"] = next(request);
    } else if (op == "cancel") {
      cascade_.cancel(request);
    } else if (op == "next") {
      out["next"] = next(request);
    } else if (op == "deploy") {
      out["deployed"] = cascade_.model_name(cascade_.deploy(request));
    } else if (op == "feedback") {
      cascade_.feedback(request, call.at("quality"));
    } else {
      out = json::parse(cascade_.explain_json(request));
    }
    return out;
  }

  json next(std::uint64_t request) {
    const auto model = cascade_.next(request);
    return model ? json(cascade_.model_name(*model)) : json();
  }

  std::size_t position(const std::string& name) const {
    const auto models = cascade_.models();
    for (std::size_t a = 0; a < models.size(); ++a)
      if (models[a].name == name) return a;
    throw pandora::Error(pandora::ExitCode::usage, "there is no model " + name);
  }

  json counts() {
    const pandora::CascadeCounts n = cascade_.counts();
    return {{"epoch", cascade_.epoch()},  // the upper bits of the numbers of requests
            {"requests", n.requests},         {"calls", n.calls},
            {"deployed", n.deployed},         {"feedbacks", n.feedbacks},
            {"dropped_open", n.dropped_open}, {"dropped_waiting", n.dropped_waiting},
            {"dollars", n.dollars},           {"quality", n.quality}};
  }

  Cascade cascade_;
};

std::string in_words(const json::exception& error) {
  const std::string what = error.what();  // such as "[json.exception.type_error.302] type must be number"
  return "not a call: " + what.substr(what.find("] ") == std::string::npos ? 0 : what.find("] ") + 2);
}

// A snapshot, or why there is none; then calls go on being added to those since the last one.
std::string snapshot(Service& service, Journal& journal) {
  try {
    journal.start(service.cascade());
    return "";
  } catch (const std::exception& error) {
    return std::string("no snapshot (") + error.what() + "); nothing is lost, calls are kept beside the one of before";
  }
}

// The call is in the journal before it is made. Whatever is thrown here leaves cascade and journal as they were.
json made(Service& service, Journal& journal, const json& call, const std::string& line) {
  if (!Service::changes(call)) return service.answer(call);
  journal.write(line);
  try {
    return service.answer(call);
  } catch (const std::bad_alloc&) {  // perhaps of an answer to what has happened: a start finds it in the journal
    throw;
  } catch (...) {
    journal.take_back();
    throw;
  }
}

// One line in, one line out.
void serve(Service& service, Journal& journal, const std::string& line) {
  json out;
  try {
    const json call = json::parse(line);
    out = made(service, journal, call, line);
    if (call["op"] == "save")
      if (const std::string problem = snapshot(service, journal); !problem.empty()) out["error"] = problem;
  } catch (const json::exception& error) {
    out["error"] = in_words(error);
  } catch (const std::runtime_error& error) {  // pandora::Error too
    out["error"] = error.what();
  }
  std::cout << out.dump(-1, ' ', false, json::error_handler_t::replace) << '\n' << std::flush;
  if (journal.is_long())
    if (const std::string problem = snapshot(service, journal); !problem.empty())
      std::cerr << "cascade-service: " << problem << '\n';
  journal.sync_in_time();
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
  if (const std::string problem = snapshot(service, journal); !problem.empty())
    std::cerr << "cascade-service: " << problem << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3 || argv[1][0] == '-') {
    std::cerr << "usage: cascade-service FOLDER [CASCADE.json]\n";
    return 2;
  }
  struct sigaction action {};
  action.sa_handler = [](int) { ended = 1; };
  for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
  try {
    Journal journal(argv[1], argc > 2 ? argv[2] : "");
    if (!journal.resumes() && argc < 3)
      throw pandora::Error(pandora::ExitCode::usage, std::string(argv[1]) + ": holds no cascade; name a file with one");
    Service service(Cascade::load(journal.resumes() ? journal.snapshot() : std::filesystem::path(argv[2])));
    Cascade& cascade = service.cascade();
    const std::uint64_t epoch = cascade.epoch();  // of this start
    cascade.set_epoch(0);                         // of calls of before there were any
    const bool resumed = journal.resumes();
    std::uint64_t again = 0;
    journal.replay([&](const std::string& line) {
      try {
        const json call = json::parse(line);
        if (call.at("op") == "epoch")
          cascade.set_epoch(call.at("epoch"));
        else
          ++again, (void)service.answer(call);
      } catch (const json::exception& error) {
        throw pandora::Error(pandora::ExitCode::bad_data, in_words(error));
      }
    });
    cascade.set_epoch(epoch);
    if (const std::string caution = cascade.caution(); !caution.empty()) std::cerr << caution << '\n';
    journal.start(cascade);
    std::cerr << (resumed ? "resumed" : "started") << ", " << again << " calls made again"
              << (resumed && argc > 2
                      ? std::string("; ") + argv[1] + " has its cascade, so " + argv[2] + " was not read"
                      : "")
              << '\n';
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
