"""Specs made of what people have: mods of PyTorch's FlexAttention."""
