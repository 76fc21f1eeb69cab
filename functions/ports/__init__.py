"""What the control plane needs of AWS: one module for each port, and one for their errors.

Every method that writes is one *effect*: it happens whole or not at all, and it is idempotent.
"""
