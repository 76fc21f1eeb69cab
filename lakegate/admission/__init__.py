"""Knowledge of a delivery before any job: size, first bytes, header, parts."""
