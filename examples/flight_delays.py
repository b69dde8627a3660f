"""Late flights out of New York in 2013: statistics of a table with gaps, and its worst cases.

Run it on any number of processes, or on one without ``mpiexec``:

    mpiexec -n 4 python -m taskarr.run examples/flight_delays.py

It prints the same on any number of them, and saves the late flights to ``outliers.npy`` in the
current folder.
"""

from pathlib import Path

import numpy as np

import taskarr as ta

DATA = Path(__file__).parent / "data" / "flights.npy"
COLUMNS = ("month", "day", "scheduled", "departure delay", "arrival delay", "air time", "distance")
MONTH, DAY, SCHEDULED, DEPARTURE, ARRIVAL, AIR_TIME, DISTANCE = range(7)


def main():
    table = ta.load(DATA).astype(np.float64)
    flights = table[~ta.isnan(table).any(axis=1)]
    print(f"{len(flights)} complete flights of {len(table)}")

    mean = flights.mean(axis=0).numpy()
    std = flights.std(axis=0).numpy()
    print(f"\n{'column':16} {'count':>7} {'mean':>23} {'standard deviation':>23}")
    for name, m, s in zip(COLUMNS, mean, std, strict=True):
        print(f"{name:16} {len(flights):7} {m:23.15g} {s:23.15g}")

    print("\nmean arrival delay by month, in minutes")
    delay = flights[:, ARRIVAL]
    for month in range(1, 13):
        print(f"{month:5} {float(delay[flights[:, MONTH] == month].mean()):23.15g}")

    limit = mean[ARRIVAL] + 3 * std[ARRIVAL]
    late = flights[delay > limit]
    ta.save("outliers.npy", late)
    print(f"\n{len(late)} flights arrived more than {limit:.15g} minutes late; the ten worst:")
    rows = late.numpy()
    for row in rows[np.argsort(-rows[:, ARRIVAL], kind="stable")[:10]]:
        print(
            f"2013-{row[MONTH]:02.0f}-{row[DAY]:02.0f} at {row[SCHEDULED]:04.0f}: "
            f"{row[ARRIVAL]:5.0f} minutes late after {row[DISTANCE]:.0f} miles"
        )


if __name__ == "__main__":
    main()
