# The colours of a photograph, 96,615 of them, reduced to 16, 256 and 4096: examples/python/colours.py [FOLDER]
# Pixels are the points, red, green and blue their columns; the centers are the palette.
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

image = load_sample_image("china.jpg")
pixels = image.reshape(-1, 3).astype(np.float32)
colours, of_pixel, counts = np.unique(pixels, axis=0, return_inverse=True, return_counts=True)
print(f"{len(pixels):,} pixels, {len(colours):,} colours")

# Equal pixels are one row with a weight: the same palette, to the bit, for a third of the rows.
tree = kopse.Tree(colours)
pictures = {f"{len(colours):,} colours": image}
for k in (16, 256, 4096):
    run = kopse.kmeans(tree, k, sample_weight=counts)
    reduced = run.centers[run.labels][of_pixel]
    error = np.sqrt(((pixels - reduced) ** 2).mean())
    print(f"{k:5} colours: {run.n_iter:3} iterations, {error:.2f} of 255 off in the root mean square")
    pictures[f"{k} colours"] = reduced.reshape(image.shape).round().astype(np.uint8)

figure, axes = plt.subplots(2, 2, figsize=(8, 5.6), layout="constrained")
for ax, (title, picture) in zip(axes.flat, pictures.items()):
    ax.imshow(picture[60:360, 100:540])
    ax.set_title(title, fontsize=10)
    ax.axis("off")
figure.savefig(folder / "colours.png", dpi=64)
