// A cascade as a service: calls as JSON lines on standard input, answers on standard output (docs/serving.md lists them).
//
//   cascade-service FOLDER [CASCADE.json]
//
// The folder keeps what was learned, and with --decisions a log of what was decided; with nothing in it the cascade comes
// from the file. A call that is answered with "error" has changed nothing.
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "pandora/error.hpp"
#include "pandora/store.hpp"

namespace {

volatile std::sig_atomic_t ended = 0;

// One line in, one line out.
void serve(pandora::Store& store, const std::string& line) {
  try {
    std::cout << store.call(line) << '\n' << std::flush;
  } catch (const pandora::Error& error) {
    const nlohmann::json answer = {{"error", error.what()}};
    std::cout << answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n' << std::flush;
  }
}

// Until standard input ends or a signal says so.
void run(pandora::Store& store) {
  std::string waiting;
  char buffer[1 << 16];
  while (!ended) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (::poll(&input, 1, 500) <= 0) continue;
    const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (got <= 0) break;
    waiting.append(buffer, static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end; (end = waiting.find('\n', begin)) != std::string::npos; begin = end + 1)
      if (end > begin) serve(store, waiting.substr(begin, end - begin));
    waiting.erase(0, begin);
  }
}

}  // namespace

int main(int argc, char** argv) {
  pandora::StoreOptions options;
  for (int k = 1; k < argc; ++k) {
    if (std::string(argv[k]) == "--decisions")
      options.decisions = true;
    else
      (options.folder.empty() ? options.folder : options.cascade) = argv[k];
  }
  if (options.folder.empty() || options.folder.string()[0] == '-' || argc > 4) {
    std::cerr << "usage: cascade-service [--decisions] FOLDER [CASCADE.json]\n";
    return 2;
  }
  struct sigaction action {};
  action.sa_handler = [](int) { ended = 1; };
  for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
  try {
    pandora::Store store(options);
    if (const std::string caution = store.caution(); !caution.empty()) std::cerr << caution << '\n';
    std::cerr << (store.resumed() ? "resumed" : "started") << ", " << store.calls_made_again() << " calls made again";
    if (store.resumed() && !options.cascade.empty())
      std::cerr << "; " << options.folder.string() << " has its cascade, so " << options.cascade.string()
                << " was not read";
    std::cerr << '\n';
    run(store);
    return 0;
  } catch (const pandora::Error& error) {
    std::cerr << "cascade-service: " << error.what() << '\n';
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::cerr << "cascade-service: " << error.what() << '\n';
    return 1;
  }
}
