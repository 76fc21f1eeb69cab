"""The control plane: one thin handler per Lambda over use cases, ports and adapters."""
