// The table of experiments/results/null-worlds: what fits promise where nothing can be gained.
// usage: pandora_null_worlds WORLDS [THREADS]
#include "tests/reference/null_worlds.hpp"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  using namespace pandora::test;
  const int worlds = argc > 1 ? std::atoi(argv[1]) : 0;
  if (worlds < 2) {
    std::fputs("usage: pandora_null_worlds WORLDS [THREADS]; at least 2 worlds\n", stderr);
    return 2;
  }
  std::fputs(csv_header().c_str(), stdout);
  const unsigned threads = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 0;
  for (const char* const kind : kNullKinds) {
    NullCount all{kind};
    for (const NullCell& cell : null_cells(kind)) {
      const NullCount count = count_null_worlds(kind, cell, static_cast<std::size_t>(worlds), threads);
      std::fputs(csv_row(count).c_str(), stdout);
      std::fflush(stdout);
      all += count;
    }
    std::fputs(csv_row(all).c_str(), stdout);
  }
}
