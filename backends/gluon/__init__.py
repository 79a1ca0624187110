"""`tile` IR whose warps have roles to Gluon, the language of one program's warps that comes with Triton."""
