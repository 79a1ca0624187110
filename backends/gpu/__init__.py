"""What the emitters for GPUs share: what a kernel takes, its launcher, and compiling it ahead of time."""
