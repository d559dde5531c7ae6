"""``python -m spanlab`` is ``spanlab``."""

from .cli import main

if __name__ == "__main__":
    main()
