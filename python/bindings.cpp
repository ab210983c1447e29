// SPDX-License-Identifier: BSD-3-Clause
// The module kopse._core.
#include "bindings.hpp"

namespace {

// What the user can mend is a ValueError, as in scikit-learn.
void translate(std::exception_ptr const& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (kopse::verification_error const& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (kopse::memory_error const& e) {
    PyErr_SetString(PyExc_MemoryError, e.what());
  } catch (kopse::interrupted const&) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
  } catch (kopse::error const& e) {
    PyErr_SetString(PyExc_ValueError, e.what());
  }
}

template <class Names> nanobind::tuple names(Names const& list) {
  nanobind::list out;
  for (std::string_view const name : list) out.append(std::string(name));
  return nanobind::tuple(out);
}

} // namespace

NB_MODULE(_core, m) {
  nanobind::register_exception_translator(translate);
  kopse::python::bind_options(m);
  kopse::python::bind_tree(m);
  kopse::python::bind_fit(m);
  kopse::python::bind_seeding(m);
  kopse::python::bind_choose_k(m);
  kopse::python::bind_predict(m);
  kopse::python::bind_partitions(m);
  m.def("version", &kopse::version);
  m.def("available_threads", &kopse::available_threads);
  m.def(
      "uses_tree", [](std::string const& algorithm) { return kopse::uses_tree(algorithm); },
      nanobind::arg("algorithm"));
  m.attr("algorithms") = names(kopse::algorithms());
  m.attr("trees") = names(kopse::trees());
  m.attr("inits") = names(kopse::inits());
}
