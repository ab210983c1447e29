# The README's first snippet: 200,000 stars in 1,000 clusters.
import numpy as np
import kopse

stars = np.load("data/stars.npy")[:, :3]  # directions, float32
model = kopse.KMeans(n_clusters=1000, random_state=0).fit(stars)

print(f"inertia {model.inertia_:.6f} after {model.n_iter_} iterations")
print(model.predict(stars[:5]))
print(f"of all distances {sum(i['distances'] for i in model.stats_['trace']) / (200_000 * 1000 * model.n_iter_):.2%} were computed")
