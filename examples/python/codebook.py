# A codebook for vectors: examples/python/codebook.py [FOLDER]
# Patches of 4 x 4 pixels of a photograph, 16,960 vectors of 48 numbers, each replaced by the number of its nearest
# code, as vector databases do with theirs. Another photograph is coded with the same book.
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

import kopse

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/examples")
folder.mkdir(parents=True, exist_ok=True)
SIDE = 4


def patches(image):
    """A row a patch; what is left over at the edges is cut off."""
    high, wide = image.shape[0] // SIDE, image.shape[1] // SIDE
    cut = image[: high * SIDE, : wide * SIDE].reshape(high, SIDE, wide, SIDE, 3)
    return cut.swapaxes(1, 2).reshape(high * wide, -1).astype(np.float32), (high, wide)


def picture(rows, shape):
    high, wide = shape
    whole = rows.reshape(high, wide, SIDE, SIDE, 3).swapaxes(1, 2).reshape(high * SIDE, wide * SIDE, 3)
    return whole.round().clip(0, 255).astype(np.uint8)


vectors, shape = patches(load_sample_image("china.jpg"))
model = kopse.KMeans(n_clusters=1024, random_state=0, tol=1e-4).fit(vectors)
print(f"{len(vectors):,} vectors of {vectors.shape[1]}, {model.n_iter_} iterations of {model.stats_['algorithm']}")

shown = [("4 x 4 x 3 bytes a patch", picture(vectors, shape))]
other, other_shape = patches(load_sample_image("flower.jpg"))
for name, rows, size in (("its own", vectors, shape), ("the other", other, other_shape)):
    codes = model.predict(rows)  # 10 bits each
    decoded = model.cluster_centers_[codes]
    noise = 10 * np.log10(255**2 / ((rows - decoded) ** 2).mean())
    print(f"{name} photograph: {len(codes) * 10 // 8:,} bytes for {rows.size:,}, {noise:.1f} dB")
    shown.append((f"10 bits a patch, {noise:.1f} dB", picture(decoded, size)))

figure, axes = plt.subplots(1, 3, figsize=(10, 2.6), layout="constrained")
for ax, (title, one) in zip(axes, shown):
    ax.imshow(one)
    ax.set_title(title, fontsize=9)
    ax.axis("off")
figure.savefig(folder / "codebook.png", dpi=64)
