"""Speed and memory as ratios measured in one run, against peers and against the physical floor.

    python -m benchmarks [--only NAME ...] [--out FILE.json]

No figure here is a promise in seconds: each compares two things measured side by side.
"""
