"""What passes and emitters find out about a `tile` kernel without changing it: one analysis a file."""
