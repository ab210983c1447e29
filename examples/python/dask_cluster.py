# SPDX-License-Identifier: BSD-3-Clause
"""The stars of data/stars.npy on two workers of a Dask cluster, to the bits of one process."""

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import kopse
import kopse.dask


def main():
    stars = np.load("data/stars.npy")[:, :3]
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
        X = da.from_array(stars, chunks=(50_000, 3)).persist()  # four blocks, each with a tree where it is
        model = kopse.dask.KMeans(n_clusters=1000, random_state=0).fit(X)
        labels = model.labels_.compute()
        inertia = -model.score(X)
    alone = kopse.KMeans(n_clusters=1000, init="k-means||", random_state=0).fit(stars)
    print(f"{len(model.stats_['partitions'])} partitions, {model.n_iter_} iterations, inertia {model.inertia_:.6f}")
    print("the same labels:", (labels == alone.labels_).all(), "the same inertia:", inertia == alone.inertia_ == model.inertia_)


if __name__ == "__main__":
    main()
