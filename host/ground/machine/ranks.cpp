#include "host/ground/machine/ranks.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "host/ground/base/fail.hpp"

#if defined(PANDORA_HAVE_MPI)
#define OMPI_SKIP_MPICXX  // the C++ bindings need another library
#include <mpi.h>
#endif

namespace pandora {

// Launchers set variables of the environment. Starting MPI without a launcher would cost a tenth of a second.
bool launched_by_mpi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"})
    if (std::getenv(name) != nullptr) return true;
  return false;
}

#if defined(PANDORA_HAVE_MPI)

namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A launcher lets the processes of one rank start MPI only once, even one after the other. Open MPI would end the
// second one with pages of output. So the first leaves a mark in the folder that the launcher keeps for the job and
// removes with it.
void require_first_start() {
  const std::string folder = variable("PMIX_SERVER_TMPDIR"), rank = variable("PMIX_RANK");
  if (folder.empty() || rank.empty()) return;
  const std::string mark = folder + "/pandora-rank-" + rank;
  const int file = ::open(mark.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file >= 0) ::close(file);
  if (file < 0 && errno == EEXIST)
    throw Error(ExitCode::device,
                rank != "0" ? ""  // only rank 0 prints the message
                            : "MPI can be started once in a rank, and an earlier command of this rank has started it; "
                              "give each command an mpirun of its own");
}

}  // namespace

Ranks::Ranks() {
  // A single rank does not start MPI, so further commands of the rank can.
  if (!launched_by_mpi() || variable("OMPI_COMM_WORLD_SIZE") == "1") return;
  require_first_start();
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  // Ranks end MPI at exit, after a rank with an error has printed it. Open MPI 5 ends all ranks when the first has
  // ended with a code other than 0, and drops what the others print then.
  std::atexit([] { MPI_Finalize(); });
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank_on_node_);
  MPI_Comm_size(node, &ranks_on_node_);
  MPI_Comm_free(&node);
}

std::string mpi_text() {
  std::vector<char> text(MPI_MAX_LIBRARY_VERSION_STRING);
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string version(text.data(), static_cast<std::size_t>(length));
  return version.substr(0, version.find_first_of(",\n"));
}

#else

Ranks::Ranks() {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (size == nullptr) size = std::getenv("PMI_SIZE");
  if (launched_by_mpi() && size != nullptr && std::atoi(size) > 1)
    fail(ExitCode::device,
         "started by an MPI launcher, but this build has no MPI; build it where Open MPI is installed, or give each "
         "process a {} of its own and `pandora merge` them",
         option("shard"));
}

std::string mpi_text() {
  return "none";
}

#endif

std::string Ranks::broadcast(std::string value) const {
#if defined(PANDORA_HAVE_MPI)
  if (size_ == 1) return value;
  int length = static_cast<int>(value.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
  value.resize(static_cast<std::size_t>(length));
  MPI_Bcast(value.data(), length, MPI_CHAR, 0, MPI_COMM_WORLD);
#endif
  return value;
}

std::vector<std::string> Ranks::gather(const std::string& value) const {
  if (size_ == 1) return {value};
  std::vector<std::string> out;
#if defined(PANDORA_HAVE_MPI)
  const std::size_t n = rank_ == 0 ? static_cast<std::size_t>(size_) : 0;
  const int length = static_cast<int>(value.size());
  std::vector<int> lengths(n), begins(n);
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::exclusive_scan(lengths.begin(), lengths.end(), begins.begin(), 0);
  std::string all(n > 0 ? static_cast<std::size_t>(begins.back() + lengths.back()) : 0, '\0');
  MPI_Gatherv(value.data(), length, MPI_CHAR, all.data(), lengths.data(), begins.data(), MPI_CHAR, 0, MPI_COMM_WORLD);
  for (std::size_t k = 0; k < n; ++k)
    out.push_back(all.substr(static_cast<std::size_t>(begins[k]), static_cast<std::size_t>(lengths[k])));
#endif
  return out;
}

int Ranks::greatest(int value) const {
  int most = value;
#if defined(PANDORA_HAVE_MPI)
  if (size_ > 1) MPI_Allreduce(&value, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
#endif
  return most;
}

void Ranks::agree(const std::exception_ptr& failure) const {
  int code = 0;
  if (failure) {
    code = static_cast<int>(ExitCode::internal);
    try {
      std::rethrow_exception(failure);
    } catch (const Error& error) {
      code = static_cast<int>(error.code());
    } catch (const std::bad_alloc&) {
      code = static_cast<int>(ExitCode::device);
    } catch (...) {
    }
  }
  const int first = size_ - greatest(failure ? size_ - rank_ : 0), worst = greatest(code);
  if (first == size_) return;
  if (first == rank_) std::rethrow_exception(failure);
  throw Error(static_cast<ExitCode>(worst), "");
}

int cores_of_rank(int affine, int online, Quotas quotas, int ranks_on_node) {
  const int part = affine < online ? affine : std::max(1, affine / ranks_on_node);
  quotas.cores /= ranks_on_node;  // the ranks of a node share one container
  return usable_cores(part, quotas);
}

int Ranks::cores() const {
  const int affine = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return cores_of_rank(affine, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)), own_quotas(), ranks_on_node_);
}

}  // namespace pandora
