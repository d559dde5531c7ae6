"""The paradigms that ship, as YAML files."""
