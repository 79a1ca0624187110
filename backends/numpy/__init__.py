"""The NumPy backend: `tile` IR to a Python file that needs NumPy alone."""
