"""What `import attndsl.torch` tells torch: the operators that exported programs and packages of AOTInductor call.

Such a program holds the texts of its specs, and needs nothing else of the process that loads it.
"""

from attndsl.op import portable as portable
