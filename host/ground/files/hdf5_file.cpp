#include "host/ground/files/hdf5_file.hpp"

#include <fmt/format.h>
#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <concepts>
#include <functional>
#include <new>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "host/ground/base/error.hpp"

namespace pandora {
namespace {

// An HDF5 identifier that closes itself.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle(const Handle&) = delete;
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  hid_t id() const { return id_; }
  bool good() const { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// Whether the last failure was due to a lack of memory.
bool wants_memory() {
  bool found = false;
  const auto look = [](unsigned, const H5E_error2_t* error, void* to) -> herr_t {
    for (const hid_t reason : {H5E_NOSPACE, H5E_CANTALLOC})
      if (error->min_num == reason || error->maj_num == H5E_RESOURCE) *static_cast<bool*>(to) = true;
    return 0;
  };
  return H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, look, &found) < 0 || found;
}

// Files are put together in memory, so a call with valid arguments fails only for lack of memory. An ignored failure
// would leave times or another type in the file.
void require_memory(bool good, const std::string& object) {
  if (!good) throw Error(ExitCode::device, fmt::format("HDF5: no memory for {}; write less into one file", object));
}

void require(bool good, const char* what, const std::string& object) {
  require_memory(good || !wants_memory(), fmt::format("{} {}", what, object));
  if (!good) throw std::invalid_argument(fmt::format("HDF5: {} {} cannot be made", what, object));
}

void set(herr_t status) {
  require_memory(status >= 0, "a property");
}

// A property list without times in object headers, because times would make two equal runs differ.
Handle timeless(hid_t kind) {
  Handle list(H5Pcreate(kind), H5Pclose);
  set(H5Pset_obj_track_times(list.id(), false));
  return list;
}

Handle with_parents() {
  Handle list(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  set(H5Pset_create_intermediate_group(list.id(), 1));
  return list;
}

Handle string_type(std::size_t length) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  set(H5Tset_size(type.id(), std::max<std::size_t>(length, 1)));
  set(H5Tset_strpad(type.id(), H5T_STR_NULLPAD));
  set(H5Tset_cset(type.id(), H5T_CSET_UTF8));
  return type;
}

Handle space_of(const Hdf5File::Shape& shape) {
  const std::vector<hsize_t> sizes(shape.begin(), shape.end());
  return {
      shape.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr),
      H5Sclose};
}

// The type of numbers in the file, which is that in memory.
static_assert(std::endian::native == std::endian::little);
template <class T>
hid_t type_of() {
  return std::same_as<T, double>         ? H5T_IEEE_F64LE
         : std::same_as<T, float>        ? H5T_IEEE_F32LE
         : std::same_as<T, std::int64_t> ? H5T_STD_I64LE
         : std::same_as<T, std::int32_t> ? H5T_STD_I32LE
                                         : H5T_STD_U8LE;
}

void write_attribute(hid_t object, const std::string& name, hid_t type, const void* value) {
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Handle attribute(H5Acreate2(object, name.c_str(), type, space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  require(attribute.good() && H5Awrite(attribute.id(), type, value) >= 0, "attribute", name);
}

// The strings have variable length: h5py reads those as text, and strings of one length as bytes.
void write_attribute(hid_t object, const std::string& name, const std::string& value) {
  const Handle type = string_type(1);
  set(H5Tset_size(type.id(), H5T_VARIABLE));
  set(H5Tset_strpad(type.id(), H5T_STR_NULLTERM));
  const char* text = value.c_str();
  write_attribute(object, name, type.id(), &text);
}

void write_dataset(hid_t file, const std::string& path, hid_t type, const void* values, std::size_t count,
                   const Hdf5File::Shape& shape, const Hdf5File::Attributes& about) {
  const std::size_t wanted = std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
  if (count != wanted)
    throw std::invalid_argument(fmt::format("HDF5: {} has {} values for a shape of {}", path, count, wanted));
  const Handle space = space_of(shape), links = with_parents(), creation = timeless(H5P_DATASET_CREATE);
  const Handle dataset(H5Dcreate2(file, path.c_str(), type, space.id(), links.id(), creation.id(), H5P_DEFAULT),
                       H5Dclose);
  require(dataset.good(), "dataset", path);
  require_memory(wanted == 0 || H5Dwrite(dataset.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0, path);
  write_attribute(dataset.id(), "description", about.description);
  write_attribute(dataset.id(), "units", about.units);
  write_attribute(dataset.id(), "dimensions", about.dimensions);
}

Handle file_in_memory() {
  constexpr std::size_t kIncrement = std::size_t{8} << 20;
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose), creation = timeless(H5P_FILE_CREATE);
  set(H5Pset_fapl_core(access.id(), kIncrement, false));
  // The name is never opened, but HDF5 refuses to open two files of one name.
  static int count = 0;
  const std::string name = fmt::format("pandora_{}_{}.h5", ::getpid(), count++);
  return {H5Fcreate(name.c_str(), H5F_ACC_TRUNC, creation.id(), access.id()), H5Fclose};
}

}  // namespace

struct Hdf5File::State {
  Handle file;
};

void start_hdf5() {
  // These calls can fail only for lack of memory, and the library may then report any reason.
  if (H5open() < 0 || H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) < 0) throw std::bad_alloc();
}

Hdf5File::Hdf5File() {
  start_hdf5();  // errors are thrown, not printed
  state_ = std::make_unique<State>(State{file_in_memory()});
  if (!state_->file.good()) throw std::bad_alloc();  // the name is free, so it can only lack memory
}

Hdf5File::~Hdf5File() = default;

void Hdf5File::group(const std::string& path) {
  const Handle links = with_parents(), creation = timeless(H5P_GROUP_CREATE);
  const Handle group(H5Gcreate2(state_->file.id(), path.c_str(), links.id(), creation.id(), H5P_DEFAULT), H5Gclose);
  require(group.good(), "group", path);
}

void Hdf5File::dataset(const std::string& path, const Values& values, const Shape& shape, const Attributes& about) {
  const auto write = [&]<class T>(std::span<const T> own) {
    if constexpr (std::same_as<T, std::string>) {
      std::size_t length = 1;
      for (const std::string& value : own) length = std::max(length, value.size());
      std::string padded;
      for (const std::string& value : own) padded.append(value).append(length - value.size(), '\0');
      write_dataset(state_->file.id(), path, string_type(length).id(), padded.data(), own.size(), shape, about);
    } else {
      write_dataset(state_->file.id(), path, type_of<T>(), own.data(), own.size(), shape, about);
    }
  };
  std::visit(write, values);
}

void Hdf5File::attribute(const std::string& object, const std::string& name, const Value& value) {
  const Handle target(H5Oopen(state_->file.id(), object.c_str(), H5P_DEFAULT), H5Oclose);
  require(target.good(), "attribute of", object);
  const auto write = [&]<class T>(const T& own) {
    if constexpr (std::same_as<T, std::string>)
      write_attribute(target.id(), name, own);
    else
      write_attribute(target.id(), name, type_of<T>(), &own);
  };
  std::visit(write, value);
}

std::string Hdf5File::bytes() const {
  const hid_t file = state_->file.id();
  const char* const name = "the file";
  require_memory(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0, name);
  const ssize_t size = H5Fget_file_image(file, nullptr, 0);
  require_memory(size >= 0, name);
  std::string image(static_cast<std::size_t>(size), '\0');
  require_memory(H5Fget_file_image(file, image.data(), image.size()) == size, name);
  return image;
}

}  // namespace pandora
