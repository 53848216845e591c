# SPDX-License-Identifier: MIT
"""workloads -- what bench/run measures; one file per program, each with the maker of its input."""
