# The world's coastline in 300 places: examples/python/coastline.py [FOLDER]
# 472,443 points of the shores of GSHHG, intermediate resolution (Debian's package gmt-gshhg-low), as directions in
# space; each of the places speaks for about as much shore as the others where the shore is as ragged.
import sys
from pathlib import Path

import h5py
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import kopse

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/examples")
folder.mkdir(parents=True, exist_ok=True)

# The file holds bins of 5 degrees, row by row from the north pole; a point is an offset in one, of 1/65535 of it.
with h5py.File("/usr/share/gmt-gshhg/binned_GSHHS_i.nc") as file:
    degrees = file["Bin_size_in_minutes"][0] / 60
    across = file["N_bins_in_360_longitude_range"][0]
    segments = file["N_segments_in_a_bin"][:]
    first = file["Id_of_first_point_in_a_segment"][:]
    x = file["Relative_longitude_from_SW_corner_of_bin"][:].astype(np.uint16)
    y = file["Relative_latitude_from_SW_corner_of_bin"][:].astype(np.uint16)
bins = np.repeat(np.repeat(np.arange(len(segments)), segments), np.diff([*first, len(x)]))
longitude = np.radians((bins % across + x / 65535) * degrees)
latitude = np.radians(90 - (bins // across + 1 - y / 65535) * degrees)
shore = np.column_stack([np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)])
print(f"{len(shore):,} points of the shore")

run = kopse.kmeans(shore, 300)
kilometres = 6371 * np.sqrt(run.inertia / len(shore))
print(f"{run.n_iter} iterations; a point is {kilometres:.0f} km from its place, in the root mean square")

figure, ax = plt.subplots(figsize=(10, 5.2), layout="constrained", subplot_kw={"projection": "mollweide"})
wrapped = (longitude + np.pi) % (2 * np.pi) - np.pi
colour = np.random.default_rng(1).permutation(300)[run.labels]
ax.scatter(wrapped[::8], latitude[::8], c=colour[::8], s=1.5, cmap="prism", linewidths=0)
places = run.centers / np.linalg.norm(run.centers, axis=1, keepdims=True)
ax.scatter(np.arctan2(places[:, 1], places[:, 0]), np.arcsin(places[:, 2]), s=5, c="black")
ax.set(xticklabels=[], yticklabels=[])
figure.savefig(folder / "coastline.png", dpi=64)
