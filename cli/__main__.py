"""``python -m spanlab.cli`` is ``spanlab``."""

from . import main

if __name__ == "__main__":
    main()
