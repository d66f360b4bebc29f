"""Benchmarks: a ratio in one run against what a user would otherwise use."""
