"""From the syntax tree to the typed spec."""
