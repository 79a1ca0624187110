"""What assign-roles writes: a kernel whose warps have roles, made of a plain one."""
