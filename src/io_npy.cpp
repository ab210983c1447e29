// SPDX-License-Identifier: BSD-3-Clause
// NumPy's .npy files: a header that tells type, order and shape, and numbers.

#include <bit>
#include <utility>

#include "io_formats.hpp"
#include "io_npy.hpp"

namespace kopse::io {
namespace {

/// Version 1.0, padded so that the numbers begin at a multiple of 64 bytes.
std::string header_text(char const* type, std::string const& shape) {
  char const order = std::endian::native == std::endian::little ? '<' : '>';
  std::string text =
      "{'descr': '" + std::string(1, order) + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  std::size_t const length = (10 + text.size() + 1 + 63) / 64 * 64 - 10;
  text.resize(length - 1, ' ');
  std::string start("\x93NUMPY\x01\x00", 8);
  start += static_cast<char>(length & 255);
  start += static_cast<char>(length >> 8);
  return start + text + '\n';
}

} // namespace

std::unique_ptr<reader> read_npy(std::shared_ptr<mapped_file const> file, load_options const& options) {
  npy_header const header = read_npy_header(file->path(), file->bytes());
  return read_numbers(std::move(file), header, options);
}

std::unique_ptr<reader> read_npy(std::unique_ptr<stream> from, load_options const& options) {
  npy_header const header = read_npy_header(*from);
  return read_numbers(std::move(from), header, options);
}

void put_npy(output_file& file, matrix_view<double> values) {
  file.write(header_text("f8", std::to_string(values.rows()) + ", " + std::to_string(values.cols())));
  if (values.stride() == values.cols())
    file.write(bytes_of(values.row(0), values.rows() * values.cols()));
  else {
    for (index i = 0; i < values.rows(); ++i) file.write(bytes_of(values.row(i), values.cols()));
  }
}

void put_npy(output_file& file, std::span<label const> labels) {
  file.write(header_text("i4", std::to_string(labels.size()) + ","));
  file.write(bytes_of(labels.data(), std::ssize(labels)));
}

} // namespace kopse::io
