// SPDX-License-Identifier: BSD-3-Clause
// A fit of rows that are spread, where Python carries the messages (python/kopse/_partitions.py): the first
// partition is where they meet; it has no rows. All others send to it and wait for its answer.

#include <cstring>

#include "bindings.hpp"
#include "kopse/reduction.hpp"

namespace kopse::python {

namespace {

using words = reduction::words;

nb::bytes to_python(words const& message) {
  return nb::bytes(message.data(), message.size() * sizeof(std::uint64_t));
}

nb::list to_python(std::vector<words> const& messages) {
  nb::list out;
  for (words const& message : messages) out.append(to_python(message));
  return out;
}

std::vector<words> from_python(nb::handle messages) {
  std::vector<words> out;
  for (nb::handle const one : messages) {
    auto const bytes = nb::cast<nb::bytes>(one);
    out.emplace_back(bytes.size() / sizeof(std::uint64_t));
    if (!out.back().empty())
      std::memcpy(out.back().data(), bytes.c_str(), out.back().size() * sizeof(std::uint64_t));
  }
  return out;
}

bool tells_of_failure(words const& message) { return message.front() != 0; }

class spread : public reduction {
public:
  spread(std::vector<std::string> names, index part, ask const& python)
      : names_(std::move(names)), part_(part), python_(python) {}
  index parts() const override { return std::ssize(names_); }
  index part() const override { return part_; }
  std::string name(index part) const override { return names_[static_cast<std::size_t>(part)]; }

protected:
  // What Python raises ends the work (supervise), which may not ask again.
  template <class Function> void in_python(Function const& function) {
    bool done = false;
    if (!lost_) python_([&] { function(), done = true; });
    if (done) return;
    lost_ = true;
    throw interrupted();
  }

private:
  std::vector<std::string> names_;
  index part_;
  ask const& python_;
  bool lost_ = false;
};

class first_of_all final : public spread {
public:
  first_of_all(std::vector<std::string> names, nb::handle collect, nb::handle answer, ask const& python)
      : spread(std::move(names), 0, python), collect_(collect), answer_(answer) {}

protected:
  std::vector<words> exchange(words const& mine) override {
    std::vector<words> all = collected(mine);
    answer(all);
    return all;
  }

  words fold_messages(words const& message, reading const& fold) override {
    std::vector<words> all = collected(message);
    if (std::any_of(all.begin(), all.end(), tells_of_failure)) {
      answer(all);
      return fold(std::move(all));
    }
    words whole{0};
    try {
      words const folded = fold(all);
      whole.insert(whole.end(), folded.begin(), folded.end());
    } catch (...) {
      unanswered_ = std::move(all); // fail() will
      throw;
    }
    answer({whole});
    whole.erase(whole.begin());
    return whole;
  }

private:
  std::vector<words> collected(words const& mine) {
    std::vector<words> all = std::exchange(unanswered_, {});
    if (all.empty())
      in_python([&] { all = from_python(collect_()); });
    else
      all.erase(all.begin());
    all.insert(all.begin(), mine);
    return all;
  }
  void answer(std::vector<words> const& messages) {
    in_python([&] { answer_(to_python(messages)); });
  }

  nb::handle collect_, answer_;
  std::vector<words> unanswered_;
};

class one_of_many final : public spread {
public:
  one_of_many(std::vector<std::string> names, index part, nb::handle turn, ask const& python)
      : spread(std::move(names), part, python), turn_(turn) {}

protected:
  std::vector<words> exchange(words const& mine) override {
    std::vector<words> all;
    in_python([&] { all = from_python(turn_(to_python(mine))); });
    return all;
  }
  words fold_messages(words const& message, reading const& fold) override {
    std::vector<words> answer = exchange(message);
    if (answer.size() > 1) return fold(std::move(answer)); // one has failed
    answer.front().erase(answer.front().begin());
    return std::move(answer.front());
  }

private:
  nb::handle turn_;
};

// Calls work(rows, stop, python, partitions).
template <class Real, class Work>
void as_one(std::vector<std::string> const& names, index part, nb::handle turn, nb::handle pulse,
            Work const& work) {
  supervise(
      [&](std::atomic<bool> const& stop, ask const& python) {
        one_of_many all(names, part, turn, python);
        work(stop, all);
      },
      pulse);
}

template <class Real>
nb::dict fit_one(rows_in<Real> const& rows, index k, options o, std::optional<numbers_in> const& weights,
                 std::vector<std::string> const& names, index part, nb::handle turn, nb::handle pulse) {
  point_set<Real> const data = points(rows, weights);
  result r;
  as_one<Real>(names, part, turn, pulse, [&](std::atomic<bool> const& stop, reduction& all) {
    o.stop = &stop;
    r = fit(data, k, o, all);
  });
  return stats_of(r, data.size(), data.dims(), o);
}

template <class Real>
void inertia_of_one(rows_in<Real> const& rows, rows_in<double> const& centroids,
                    std::optional<numbers_in> const& weights, int threads,
                    std::vector<std::string> const& names, index part, nb::handle turn, nb::handle pulse) {
  as_one<Real>(names, part, turn, pulse, [&](std::atomic<bool> const& stop, reduction& all) {
    inertia(points(rows, weights), view(centroids), all, threads, &stop);
  });
}

// The type of `no_rows` is that of the others'.
template <class Real>
nb::dict fit_first(rows_in<Real> const& no_rows, index k, options o, index n,
                   std::vector<std::string> const& names, nb::handle collect, nb::handle answer,
                   nb::handle callback) {
  point_set<Real> const data(view(no_rows));
  result r;
  supervise([&](std::atomic<bool> const& stop, ask const& python) {
    first_of_all all(names, collect, answer, python);
    o.stop = &stop;
    o.on_iteration = each_iteration(callback, python);
    r = fit(data, k, o, all);
  });
  return to_dict(std::move(r), n, data.dims(), o);
}

template <class Real>
double inertia_of_first(rows_in<Real> const& no_rows, rows_in<double> const& centroids,
                        std::vector<std::string> const& names, nb::handle collect, nb::handle answer) {
  double sum = 0;
  supervise([&](std::atomic<bool> const& stop, ask const& python) {
    first_of_all all(names, collect, answer, python);
    sum = inertia(point_set<Real>(view(no_rows)), view(centroids), all, 1, &stop);
  });
  return sum;
}

template <class Real> void bind_partitions_of(nb::module_& m) {
  auto const rows = nb::arg("rows").noconvert();
  auto const weights = nb::arg("weights").none();
  m.def("fit_one", fit_one<Real>, rows, nb::arg("k"), nb::arg("options"), weights, nb::arg("names"),
        nb::arg("part"), nb::arg("turn"), nb::arg("pulse"));
  m.def("inertia_of_one", inertia_of_one<Real>, rows, nb::arg("centroids").noconvert(), weights,
        nb::arg("threads"), nb::arg("names"), nb::arg("part"), nb::arg("turn"), nb::arg("pulse"));
  m.def("fit_first", fit_first<Real>, rows, nb::arg("k"), nb::arg("options"), nb::arg("n"), nb::arg("names"),
        nb::arg("collect"), nb::arg("answer"), nb::arg("callback").none());
  m.def("inertia_of_first", inertia_of_first<Real>, rows, nb::arg("centroids").noconvert(), nb::arg("names"),
        nb::arg("collect"), nb::arg("answer"));
}

} // namespace

void bind_partitions(nb::module_& m) {
  bind_partitions_of<double>(m);
  bind_partitions_of<float>(m);
}

} // namespace kopse::python
