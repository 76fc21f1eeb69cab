"""Set-up, packaging, local stack, samples and site of a clone; not in the wheel."""
