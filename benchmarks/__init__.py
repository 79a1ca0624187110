"""What attndsl costs: `python -m benchmarks NAME` measures, shows a table and keeps it in benchmarks/results."""
