"""Local files judged as the gate would."""
