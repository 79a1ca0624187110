"""The language in editors and notebooks: colours, the language server, a cell magic."""
