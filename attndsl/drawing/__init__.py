"""Pictures of specs: which keys a row sees, how programs walk them, and where the data flows."""
