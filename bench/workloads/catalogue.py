# SPDX-License-Identifier: MIT
"""catalogue.py -- every workload, in the order of the table."""
from . import cc1plus, git, jq, loops, perl, python, redis, sqlite, xmllint

ALL = [workload for module in (loops, sqlite, cc1plus, python, perl, git, xmllint, jq, redis)
       for workload in module.WORKLOADS]
