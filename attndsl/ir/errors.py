"""What can go wrong in a pass that is no bug of the pass."""


class RequirementError(Exception):
    """A pass ran on IR that another pass has to prepare; the message names it."""
