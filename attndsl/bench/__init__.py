"""What the compiled operators cost on a GPU, beside what a user would otherwise take: the suites of `attndsl bench`."""
