# The sky in 1,000 clusters of stars: examples/python/stars.py [FOLDER]
# Directions of 200,000 stars are clustered in space, where distance is that of chords; every algorithm gives the
# same bits, so the one that computes all distances may judge the one that does not.
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import kopse

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/examples")
folder.mkdir(parents=True, exist_ok=True)

stars = np.load("data/stars.npy")[:, :3]
tree = kopse.Tree(stars)
run = kopse.kmeans(tree, 1000)
print(f"1,000 clusters, {run.n_iter} iterations, inertia {run.inertia:.6f}")

few = {name: kopse.kmeans(tree, 1000, algorithm=name, max_iter=2, tol=1e9) for name in ("frontier", "lloyd")}
assert few["frontier"].centers.tobytes() == few["lloyd"].centers.tobytes()
for name, one in few.items():
    work = sum(entry["distances"] for entry in one.stats["trace"])
    print(f"{name}: {work:,} distances in the first iteration, the same bits")

figure = plt.figure(figsize=(9, 8), layout="constrained")
sky = figure.add_subplot(2, 1, 1, projection="mollweide")
shown = np.random.default_rng(0).choice(len(stars), 40_000, replace=False)
longitude, latitude = np.arctan2(stars[:, 1], stars[:, 0]), np.arcsin(stars[:, 2])
colour = np.random.default_rng(1).permutation(1000)[run.labels]
sky.scatter(-longitude[shown], latitude[shown], c=colour[shown], s=1, cmap="prism", linewidths=0)
sky.set(xticklabels=[], yticklabels=[])
sky.grid(alpha=0.3)
kopse.plots.convergence(run, figure.add_subplot(2, 2, 3))
kopse.plots.sizes(run, figure.add_subplot(2, 2, 4))
figure.savefig(folder / "stars.png", dpi=64)
