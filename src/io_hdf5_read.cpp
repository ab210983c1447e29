// SPDX-License-Identifier: BSD-3-Clause
// HDF5 datasets of numbers, by blocks of rows: floating-point numbers straight into their places, whole
// numbers by way of a block. Chunks are unpacked once: the cache of the dataset holds as many as lie beside
// one another.
//
// HDF5 fills in what was never written. That is refused, wherever it could happen: rows that nobody wrote
// must not become points.

#include "io_formats.hpp"
#include "io_numbers.hpp"

#if defined(KOPSE_WITH_HDF5)
#include <algorithm>
#include <array>

#include "io_hdf5.hpp"
#endif

namespace kopse::io {

#if defined(KOPSE_WITH_HDF5)
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 23, largest_cache = std::size_t{1} << 30;
constexpr char taken_types[] = "; taken are whole and floating-point numbers of at most 64 bits";

char const* name_of(H5T_class_t kind) {
  switch (kind) {
  case H5T_STRING:
    return "strings";
  case H5T_COMPOUND:
    return "compound values";
  case H5T_ENUM:
    return "enumerated names";
  case H5T_ARRAY:
    return "arrays";
  case H5T_VLEN:
    return "sequences of various lengths";
  case H5T_REFERENCE:
    return "references";
  case H5T_BITFIELD:
    return "bit fields";
  case H5T_OPAQUE:
    return "opaque values";
  default:
    return "values of an unknown type";
  }
}

class hdf5_reader : public reader {
public:
  hdf5_reader(file_kind const& kind, load_options const& options)
      : path_(kind.file), set_name_(kind.dataset), chosen_(options.columns) {
    hdf5_lock const lock;
    try {
      open_file();
      find_dataset();
      check_type();
      check_shape();
      check_storage();
      open_dataset(); // once more, with a cache for its chunks
    } catch (...) {
      close(); // here, behind the lock
      throw;
    }
  }
  ~hdf5_reader() override {
    hdf5_lock const lock;
    close();
  }

  bool float32() const override { return how_.float32(); }
  std::optional<index> rows() const override { return how_.rows; }
  index cols() override {
    if (columns_.empty()) columns_ = chosen_columns(name(), chosen_, how_.cols);
    return std::ssize(columns_);
  }
  index read(index first, index last, growing_rows<double>& out) override { return append(first, last, out); }
  index read(index first, index last, growing_rows<float>& out) override { return append(first, last, out); }

private:
  std::string name() const { return set_name_.empty() ? path_ : path_ + ":" + printable(set_name_, 200); }
  [[noreturn]] void refuse(std::string const& why) const { throw error(name() + ": " + why); }

  void close() { type_ = {}, set_ = {}, file_ = {}; }
  void open_file() {
    mapped_file const probe(path_); // missing, a directory, no permission: in the system's words
    if (probe.bytes().empty()) throw error(path_ + ": found an empty file, expected HDF5");
    if (H5Fis_hdf5(path_.c_str()) <= 0) throw error(path_ + ": found no HDF5 file, expected one");
    file_ = {H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose};
    if (!file_.good()) throw error("cannot read " + path_ + ": HDF5 does not open it" + hdf5_reason());
  }

  void find_dataset() {
    if (set_name_.empty()) {
      auto const all = hdf5_datasets(*file_, 100);
      if (all.empty()) refuse("it holds no dataset");
      if (all.size() > 1)
        throw usage_error(path_ + ": it holds several datasets; say which, e.g. " + path_ + ":" + all.front()
                          + ", of " + shown_list(all));
      set_name_ = all.front();
    }
    set_ = {H5Oopen(*file_, set_name_.c_str(), H5P_DEFAULT), H5Oclose};
    if (set_.good() && H5Iget_type(*set_) == H5I_DATASET) return;
    auto const all = hdf5_datasets(*file_, 100);
    throw usage_error(name() + ": there is no such dataset"
                      + (all.empty() ? "" : "; there are " + shown_list(all)));
  }

  void check_type() {
    type_ = {H5Dget_type(*set_), H5Tclose};
    if (!type_.good()) refuse("its type cannot be read" + hdf5_reason());
    H5T_class_t const kind = H5Tget_class(*type_);
    std::size_t const size = H5Tget_size(*type_);
    bool const truth = is_truth(kind);
    if (kind != H5T_INTEGER && kind != H5T_FLOAT && !truth)
      refuse(std::string("found ") + name_of(kind) + taken_types);
    if (size > 8) refuse("found numbers of " + std::to_string(8 * size) + " bits" + taken_types);
    how_.kind = kind == H5T_FLOAT ? 'f' : truth || H5Tget_sign(*type_) != H5T_SGN_NONE ? 'i' : 'u';
    how_.item_size = kind == H5T_FLOAT ? (size <= 4 ? 4 : 8) : size <= 2 ? 2 : 8; // in memory, by HDF5
  }
  /// Of two names, FALSE and TRUE: so h5py writes truth values.
  bool is_truth(H5T_class_t kind) const {
    if (kind != H5T_ENUM || H5Tget_nmembers(*type_) != 2) return false;
    for (unsigned i = 0; i < 2; ++i) {
      char* const member = H5Tget_member_name(*type_, i);
      bool const known = member != nullptr && std::string_view(member) == (i == 0 ? "FALSE" : "TRUE");
      H5free_memory(member);
      if (!known) return false;
    }
    return true;
  }

  void check_shape() {
    hdf5_handle const space(H5Dget_space(*set_), H5Sclose);
    int const rank = space.good() ? H5Sget_simple_extent_ndims(*space) : -1;
    if (rank < 1 || rank > 2 || H5Sget_simple_extent_type(*space) != H5S_SIMPLE)
      refuse("found "
             + (rank > 0 ? std::to_string(rank) + " dimensions" : std::string("a single value or none"))
             + "; taken are (n, d), and (n,) as n rows of one column");
    rank_ = rank;
    std::array<hsize_t, 2> extent{1, 1};
    H5Sget_simple_extent_dims(*space, extent.data(), nullptr);
    std::string const shape = "found the shape (" + std::to_string(extent[0]) + ", "
                              + (rank == 2 ? std::to_string(extent[1]) : "") + ")";
    if (extent[0] == 0 || extent[1] == 0)
      refuse(shape + ", which holds no numbers; expected at least one row and one column");
    if (extent[0] > static_cast<hsize_t>(no_end) / 8 / extent[1])
      refuse(shape + ", more than any memory holds");
    how_.rows = static_cast<index>(extent[0]);
    how_.cols = static_cast<index>(extent[1]);
  }

  void check_storage() {
    hdf5_handle const how(H5Dget_create_plist(*set_), H5Pclose);
    H5D_layout_t const layout = H5Pget_layout(*how);
    if (layout == H5D_VIRTUAL || H5Pget_external_count(*how) > 0)
      refuse("its numbers lie in other files, and HDF5 would fill in what is missing; copy them into one "
             "file first");
    for (int i = 0, all = H5Pget_nfilters(*how); i < all; ++i) {
      unsigned flags = 0;
      std::size_t values = 0;
      std::array<char, 80> filter{};
      auto const id = H5Pget_filter2(*how, static_cast<unsigned>(i), &flags, &values, nullptr,
                                     filter.size() - 1, filter.data(), nullptr);
      if (H5Zfilter_avail(id) <= 0)
        refuse("it is packed by the filter " + std::to_string(id) + " (" + printable(filter.data())
               + "), which this HDF5 library does not have");
    }
    if (layout == H5D_CHUNKED) set_cache(*how);
    if (layout == H5D_CHUNKED ? !has_all_chunks(*how)
                              : layout == H5D_CONTIGUOUS && H5Dget_storage_size(*set_) == 0)
      refuse("some of its rows were never written; HDF5 would fill them in");
  }
  std::array<hsize_t, 2> chunk_of(hid_t how) const {
    std::array<hsize_t, 2> chunk{1, 1};
    if (H5Pget_chunk(how, rank_, chunk.data()) < 0 || chunk[0] == 0 || chunk[1] == 0)
      refuse("its chunks cannot be read" + hdf5_reason());
    return chunk;
  }
  /// Counted: H5Dget_space_status() takes packed chunks for missing ones.
  bool has_all_chunks(hid_t how) const {
    auto const chunk = chunk_of(how);
    hsize_t const all = ((static_cast<hsize_t>(how_.rows) + chunk[0] - 1) / chunk[0])
                        * ((static_cast<hsize_t>(how_.cols) + chunk[1] - 1) / chunk[1]);
    hdf5_handle const space(H5Dget_space(*set_), H5Sclose);
    hsize_t there = 0;
    return space.good() && H5Dget_num_chunks(*set_, *space, &there) >= 0 && there == all;
  }
  void set_cache(hid_t how) {
    auto const chunk = chunk_of(how);
    hsize_t const beside = (static_cast<hsize_t>(how_.cols) + chunk[1] - 1) / chunk[1];
    hsize_t const bytes = chunk[0] * chunk[1] * H5Tget_size(*type_); // HDF5 has none of 4 GiB or more
    if (bytes > largest_cache)
      refuse("found chunks of " + std::to_string(bytes >> 20)
             + " MiB, expected at most 1024; h5repack makes smaller ones");
    cache_ = std::min<std::size_t>(largest_cache,
                                   static_cast<std::size_t>(std::min(beside, largest_cache / bytes) * bytes));
    slots_ = static_cast<std::size_t>(std::min<hsize_t>(100 * beside, 1000003)) | 1;
  }
  void open_dataset() {
    hdf5_handle const access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
    if (cache_ > std::size_t{1} << 20) H5Pset_chunk_cache(*access, slots_, cache_, 1);
    set_ = {};
    set_ = {H5Dopen2(*file_, set_name_.c_str(), *access), H5Dclose};
    if (!set_.good()) refuse("it cannot be opened" + hdf5_reason());
  }

  template <class Real> index append(index first, index last, growing_rows<Real>& out) {
    last = std::min(last, how_.rows);
    if (first >= last) return last;
    cols();
    auto const [least, most] = std::minmax_element(columns_.begin(), columns_.end());
    index const width = *most + 1 - *least;
    auto const step = std::max<index>(static_cast<index>(block_bytes) / 8 / width, 1);
    for (index at = first; at < last; at += step) {
      index const rows = std::min(step, last - at);
      Real* const place = out.extend(rows);
      if (how_.kind == 'f' && is_range(columns_)) {
        fetch(at, rows, *least, width, sizeof(Real) == 8 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT, place);
        check_finite(name(), matrix_view<Real>(place, rows, width), at, *least);
        continue;
      }
      block_.resize(static_cast<std::size_t>(rows * width) * how_.item_size);
      fetch(at, rows, *least, width, memory_type(), block_.data());
      auto const item = static_cast<std::ptrdiff_t>(how_.item_size);
      convert(name(), how_, {block_.data(), width * item, item, at, rows, *least}, columns_, place);
    }
    return last;
  }

  hid_t memory_type() const {
    if (how_.kind == 'f') return how_.item_size == 4 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
    if (how_.item_size == 2) return how_.kind == 'i' ? H5T_NATIVE_INT16 : H5T_NATIVE_UINT16;
    return how_.kind == 'i' ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;
  }

  /// The lock is taken for a block at a time: others can read between two.
  void fetch(index row, index rows, index column, index width, hid_t type, void* place) const {
    hdf5_lock const lock;
    std::array<hsize_t, 2> const start{static_cast<hsize_t>(row), static_cast<hsize_t>(column)},
        count{static_cast<hsize_t>(rows), static_cast<hsize_t>(width)};
    hdf5_handle const in_file(H5Dget_space(*set_), H5Sclose);
    hdf5_handle const in_memory(H5Screate_simple(rank_, count.data(), nullptr), H5Sclose);
    bool const good =
        in_file.good() && in_memory.good()
        && H5Sselect_hyperslab(*in_file, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) >= 0
        && H5Dread(*set_, type, *in_memory, *in_file, H5P_DEFAULT, place) >= 0;
    if (!good)
      refuse("rows " + std::to_string(row) + " to " + std::to_string(row + rows - 1)
             + " (counted from 0) cannot be read" + hdf5_reason());
  }

  std::string path_, set_name_;
  std::vector<index> chosen_, columns_;
  hdf5_handle file_, set_, type_;
  number_layout how_; // in memory
  int rank_ = 2;
  std::size_t cache_ = 0, slots_ = 0;
  std::vector<char> block_;
};

} // namespace

std::unique_ptr<reader> read_hdf5(file_kind const& kind, load_options const& options) {
  return std::make_unique<hdf5_reader>(kind, options);
}

#else

std::unique_ptr<reader> read_hdf5(file_kind const& kind, load_options const&) {
  throw error(kind.file
              + ": this kopse was built without HDF5; it needs libhdf5, on Debian the package libhdf5-dev");
}

#endif

} // namespace kopse::io
