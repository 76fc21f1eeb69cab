"""Open Data Fabric: accepted rows as slices, datasets exchanged."""
