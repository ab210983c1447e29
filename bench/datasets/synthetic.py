#!/usr/bin/env python3
"""Makes synthetic data sets like those of the literature on exact k-means, at any size.

birch3    100,000 x 2: 100 Gaussian clusters of random places, sizes and widths, as the data set
          DS3 of BIRCH (Zhang, Ramakrishnan, Livny 1996).
fractal   2,000,000 x 3: clumps within clumps down to the smallest scale, as galaxies lie, by the
          recipe of Soneira and Peebles (1978), over a tenth of evenly spread points.
uniform   1,000,000 x 3: evenly spread in the unit cube; no clusters to find.
power     2,075,259 x 7: a made-up household's electricity, minute by minute, with the columns,
          the rounding and so the many ties and duplicate rows of the UCI set 'Individual
          household electric power consumption'. In order of time, as that set is.
phy       150,000 x 78: made-up particle events of two classes that overlap, like the set of the KDD
          Cup 2004: a few factors behind all columns, scales from 0.01 to 1000, skewed and rounded
          values, counts, zeros and 999 for what was not measured, columns that hardly vary.
cloud     2,048 x 10: made-up features of squares of two satellite images, like the UCI set 'Cloud':
          a few kinds of cloud, mean, greatest and least brightness that go together, texture.

Rows of all but power are in random order. The output is float64, NAME-NxD.npy in the cache
folder ($KOPSE_CACHE or ~/.cache/kopse) unless --out says otherwise.

The same flags give the same data. The random numbers are of NumPy's RandomState, which NumPy
promises never to change. Only in birch3, power, phy and cloud, which need logarithms, may a last
digit differ between machines; the sha256 sum that is printed tells.

Needs: Python 3.11, numpy.
"""

import argparse
from pathlib import Path

import numpy as np

from common import cache_folder, save

# Name: rows, columns, seed.
SIZES = {
    "birch3": (100_000, 2, 3),
    "fractal": (2_000_000, 3, 1978),
    "uniform": (1_000_000, 3, 1),
    "power": (2_075_259, 7, 2006),
    "phy": (150_000, 78, 2004),
    "cloud": (2_048, 10, 1989),
}


def main():
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("name", choices=SIZES, help="the data set to make")
    options.add_argument("--n", type=positive, help="rows, instead of the number above")
    options.add_argument(
        "--d", type=positive, help="columns, likewise; power always has 7, cloud 10, fractal at most 6"
    )
    options.add_argument("--seed", type=int, help="another seed, for another set of the same kind")
    options.add_argument("--out", type=Path, metavar="OUT.npy", help="where to write it")
    chosen = options.parse_args()

    n, d, seed = SIZES[chosen.name]
    n, d = chosen.n or n, chosen.d or d
    if chosen.name in ("power", "cloud") and d != SIZES[chosen.name][1]:
        options.error(f"{chosen.name} always has {SIZES[chosen.name][1]} columns")
    if chosen.name == "fractal" and d > 6:
        options.error("fractal has at most 6 columns")

    name = f"{chosen.name}-{n}x{d}"
    if chosen.seed is not None and chosen.seed != seed:
        seed = chosen.seed
        name += f"-seed{seed}"
    makers = (birch3, fractal, uniform, power, phy, cloud)
    make = next(maker for maker in makers if maker.__name__ == chosen.name)
    rows = make(n, d, np.random.RandomState(seed))
    assert rows.shape == (n, d) and rows.dtype == np.float64 and np.isfinite(rows).all()
    save(chosen.out or cache_folder() / f"{name}.npy", rows)


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def uniform(n, d, random):
    return random.random_sample((n, d))


def birch3(n, d, random, clusters=100, widest=4.0):
    """Sizes uniform from 0 to twice the mean, radii uniform from 0 to widest, centres uniform in
    [0, clusters]^d; a radius is the root mean square distance of a cluster's points to its centre.
    """
    centres = random.random_sample((clusters, d)) * clusters
    radii = random.random_sample(clusters) * widest
    shares = random.random_sample(clusters)

    ends = np.round(np.cumsum(shares) / shares.sum() * n).astype(np.int64)
    cluster = np.searchsorted(ends, np.arange(n), side="right")
    spread = radii[cluster, None] / np.sqrt(d)
    rows = centres[cluster] + spread * random.standard_normal((n, d))
    return rows[random.permutation(n)]


def fractal(n, d, random, clumps=64, radius=0.2, shrink=1.76, field=0.1):
    """Every clump holds one to three clumps, two on average, smaller by the factor shrink, at
    random places within it; the last, smallest clumps are the points. With two clumps within each
    and this shrink the dimension is log 2 / log 1.76 = 1.23, as measured for galaxies. The cube
    wraps around, so there is no edge.
    """
    spread = int(n * field)
    places = random.random_sample((clumps, d))
    while len(places) < n - spread:
        children = random.randint(1, 4, len(places))
        places = np.repeat(places, children, axis=0)
        places += radius * in_ball(len(places), d, random)
        radius /= shrink
    places = places[random.permutation(len(places))[: n - spread]] % 1.0

    rows = np.concatenate([places, random.random_sample((spread, d))])
    return rows[random.permutation(n)]


def in_ball(n, d, random):
    """Points evenly spread in the ball of radius 1: those of a cube that fall into the ball."""
    found = np.empty((0, d))
    while len(found) < n:
        cube = random.random_sample((2 * n, d)) * 2 - 1
        squared = sum(cube[:, i] * cube[:, i] for i in range(d))
        found = np.concatenate([found, cube[squared <= 1]])
    return found[:n]


# The household. Its columns, as the UCI set has them, with units and steps:
#   global active power    kW    0.002      sub-metering 1, kitchen                  Wh   1
#   global reactive power  kW    0.002      sub-metering 2, laundry                  Wh   1
#   voltage                V     0.01       sub-metering 3, water heater, cooling    Wh   1
#   global intensity       A     0.2        (watt-hours in that minute)


def power(n, d, random):
    minute = np.arange(n)
    hour = minute / 60 % 24
    winter = 0.5 + 0.5 * np.cos(2 * np.pi * minute / (60 * 24 * 365.25))  # begins in winter
    at_home = 0.25 + bump(hour, 8, 1.5) + 1.4 * bump(hour, 20, 2.5)

    # Appliances: events a day, minutes of each, watt-hours a minute while it runs.
    kitchen = runs(n, random, 0.9, (20, 60), (34, 40)) + runs(n, random, 3.0, (2, 10), (1, 2))
    fridge = runs(n, random, 14.0, (15, 40), (1, 2))
    laundry = fridge + runs(n, random, 0.35, (30, 100), (25, 74))
    heater = runs(n, random, 7.0, (40, 120), (17, 19)) + runs(n, random, 20.0, (5, 60), (1, 1))
    heater += runs(n, random, 0.4, (20, 60), (11, 12))

    # All the rest of the house: lights, heating, and what runs at night.
    other = 0.2 + (0.25 + 0.5 * winter) * at_home * np.exp(0.5 * drift(n, random, (5, 60, 720)))
    other += runs(n, random, 6.0, (3, 40), (12, 40)) * 0.06
    other *= np.exp(0.02 * random.standard_normal(n))
    active = other + (kitchen + laundry + heater) * 0.06

    lagging = drift(n, random, (3, 20, 240))
    reactive = np.where(lagging > -0.4, 0.12 * np.exp(0.6 * lagging), 0.0)
    volts = 241.5 + 2.8 * drift(n, random, (2, 60, 1440)) - 0.6 * active
    amperes = np.hypot(active, reactive) * 1000 / volts

    rows = np.column_stack(
        [
            to_step(active, 500),
            to_step(reactive, 500),
            to_step(volts, 100),
            to_step(amperes, 5),
            kitchen,
            laundry,
            heater,
        ]
    )
    # The meter drops out now and then, for one in eighty minutes overall as in the UCI set; such a
    # gap repeats the last reading.
    gap = runs(n, random, 0.06, (1, 600), (1, 1)) > 0
    gap[0] = False
    return rows[np.maximum.accumulate(np.where(gap, 0, minute))]


def to_step(values, steps_per_unit):
    return np.round(values * steps_per_unit) / steps_per_unit


def bump(hour, at, width):
    """About 1 at an hour of the day, falling to 0 within width hours of it."""
    away = (hour - at + 12) % 24 - 12
    return np.exp(-0.5 * (away / width) ** 2)


def runs(n, random, per_day, minutes, level):
    """An appliance's watt-hours in each of n minutes: it starts per_day times a day at random,
    and then runs for so many minutes at a level, both drawn between the bounds given. Where two
    runs overlap the later one counts.
    """
    starts = np.sort(random.randint(0, n, max(1, int(per_day * n / (60 * 24)))))
    lengths = random.randint(minutes[0], minutes[1] + 1, len(starts))
    levels = random.randint(level[0], level[1] + 1, len(starts))

    minute = np.arange(n)
    latest = np.searchsorted(starts, minute, side="right") - 1
    on = (latest >= 0) & (minute - starts[latest] < lengths[latest])
    return np.where(on, levels[latest], 0).astype(np.float64)


def drift(n, random, minutes):
    """Noise that wanders on each of several time scales; its mean is 0, its deviation about 1."""
    total = np.zeros(n)
    for scale in minutes:
        knots = random.standard_normal(n // scale + 2)
        total += np.interp(np.arange(n) / scale, np.arange(len(knots)), knots)
    return total * np.sqrt(1.5 / len(minutes))  # interpolating leaves 2/3 of the variance


def phy(n, d, random, factors=6):
    """Every column is a weighted sum of the factors and a noise of its own, made into one of six
    kinds of value, on a scale of its own. The classes differ by half a deviation or so in half of
    the factors. 999 stands for what was not measured, in one event of six for all such columns.
    """
    signal = random.random_sample(n) < 0.5
    hidden = random.standard_normal((n, factors))
    hidden[:, ::2] += 0.6 * signal[:, None]
    unmeasured = random.random_sample(n) < 1 / 6

    kinds = np.array(["plain"] * 5 + ["skewed"] * 4 + ["count", "zeros", "999", "rare"])
    kinds = random.permutation(np.resize(kinds, d))
    rows = np.empty((n, d))
    for column, kind in enumerate(kinds):
        loadings = random.standard_normal(factors)
        noise = 0.3 + 0.7 * random.random_sample()
        scale = 10 ** (5 * random.random_sample() - 2)
        value = noise * random.standard_normal(n)
        for factor, loading in enumerate(loadings):
            value += loading / np.sqrt(factors) * hidden[:, factor]
        rows[:, column] = as_kind(kind, value, scale, unmeasured, random)
    return rows


def as_kind(kind, value, scale, unmeasured, random):
    """A column of phy from about standard normal numbers."""
    if kind == "count":
        return np.floor(np.exp(0.7 * value + 1))
    if kind == "rare":
        return np.where(random.random_sample(len(value)) < 0.004, np.round(np.abs(value), 1), 0)
    if kind == "skewed":
        value = np.exp(0.8 * value)
    steps = 10.0 ** (3 - np.floor(np.log10(scale)))  # three digits behind that of the scale
    value = to_step(scale * value, steps)
    if kind == "zeros":
        return np.where(value > 0, value, 0)
    return np.where(unmeasured, 999, value) if kind == "999" else value


# The squares of a satellite image, and their columns, in units of brightness:
#   visible: mean, greatest, least, mean distribution, contrast, entropy, second angular moment
#   infrared: mean, greatest, least


def cloud(n, d, random):
    """Five kinds of square, from clear sky to high, thick cloud: how bright and how cold it is, how
    uneven, and how many of the squares it is. Texture follows from the unevenness.
    """
    bright = np.array([18.0, 40.0, 70.0, 110.0, 165.0])
    warm = np.array([215.0, 190.0, 200.0, 150.0, 95.0])
    rough = np.array([1.2, 4.0, 9.0, 14.0, 6.0])
    kind = np.searchsorted(np.cumsum([0.3, 0.2, 0.2, 0.2]), random.random_sample(n))

    uneven = rough[kind] * np.exp(0.45 * random.standard_normal(n))
    visible = bright[kind] * np.exp(0.15 * random.standard_normal(n))
    infrared = warm[kind] + 9 * random.standard_normal(n) - 0.15 * (visible - bright[kind])
    above, below, hotter, colder = (1.5 + np.abs(random.standard_normal((4, n)))) * uneven

    contrast = uneven * uneven * np.exp(0.5 * random.standard_normal(n))
    entropy = 1.2 + 0.9 * np.log1p(uneven) + 0.08 * random.standard_normal(n)
    moment = np.exp(-entropy) * np.exp(0.1 * random.standard_normal(n))
    columns = [visible, visible + above, np.maximum(visible - below, 0), 0.11 * uneven]
    columns += [contrast, entropy, moment, infrared, infrared + hotter, infrared - colder]
    steps = [10, 1, 1, 10_000, 10_000, 10_000, 10_000, 10, 1, 1]
    return np.column_stack([to_step(column, step) for column, step in zip(columns, steps)])


if __name__ == "__main__":
    main()
