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

Rows of the first three are in random order. The output is float64, NAME-NxD.npy in the cache
folder ($KOPSE_CACHE or ~/.cache/kopse) unless --out says otherwise.

The same flags give the same data. The random numbers are of NumPy's RandomState, which NumPy
promises never to change. Only in birch3 and power, which need logarithms, may a last digit differ
between machines; the sha256 sum that is printed tells.

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
}


def main():
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("name", choices=SIZES, help="the data set to make")
    options.add_argument("--n", type=positive, help="rows, instead of the number above")
    options.add_argument(
        "--d", type=positive, help="columns, likewise; power always has 7, fractal at most 6"
    )
    options.add_argument("--seed", type=int, help="another seed, for another set of the same kind")
    options.add_argument("--out", type=Path, metavar="OUT.npy", help="where to write it")
    chosen = options.parse_args()

    n, d, seed = SIZES[chosen.name]
    n, d = chosen.n or n, chosen.d or d
    if chosen.name == "power" and d != 7:
        options.error("power always has 7 columns")
    if chosen.name == "fractal" and d > 6:
        options.error("fractal has at most 6 columns")

    name = f"{chosen.name}-{n}x{d}"
    if chosen.seed is not None and chosen.seed != seed:
        seed = chosen.seed
        name += f"-seed{seed}"
    makers = {"birch3": birch3, "fractal": fractal, "uniform": uniform, "power": power}
    rows = makers[chosen.name](n, d, np.random.RandomState(seed))
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


if __name__ == "__main__":
    main()
