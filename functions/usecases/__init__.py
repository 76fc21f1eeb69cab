"""What the control plane does: functions over ports, safe to call again at any time."""
