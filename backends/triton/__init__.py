"""The Triton backend: `tile` IR to a Python file that needs torch and Triton alone."""
