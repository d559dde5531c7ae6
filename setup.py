"""The packages of the distribution, found and not listed: the folders of the repository that are
parts of ``spanlab``."""

from __future__ import annotations

from pathlib import Path

from setuptools import find_packages, setup

#: an extension has its tests beside its code
TESTS = ["tests", "tests.*", "*.tests", "*.tests.*"]
OUTSIDE = ["benchmarks", "benchmarks.*", "docs", "examples", "scripts", "scripts.*", *TESTS]
PACKAGES = [
    "spanlab",
    *(f"spanlab.{name}" for name in sorted(find_packages(str(Path(__file__).parent), exclude=OUTSIDE))),
]

if __name__ == "__main__":
    # its own name: a file of the root that is no module of the package
    setup(script_name=__file__, packages=PACKAGES)
