"""SAM's command line with the parser of YAML that is written in C: `python -P sam.py deploy …`, by the Python of `.tools/sam`.

SAM reads the template seven times in one deployment, and its parser in Python took half of the processor time of it. Beside the
standard library only that environment's packages can be imported here.
"""

from __future__ import annotations

from importlib import import_module


def main() -> None:
    """Run the command line, once `yaml` has the quick classes under the names that SAM and its libraries use."""
    yaml = import_module("yaml")
    yaml.SafeLoader, yaml.SafeDumper = yaml.CSafeLoader, yaml.CSafeDumper  # type: ignore[attr-defined] # before SAM derives from them
    import_module("samcli.cli.main").cli()


if __name__ == "__main__":
    main()
