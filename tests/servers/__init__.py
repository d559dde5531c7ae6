"""Real chat servers with tiny generated models, each in an environment of its own; ``make
test-servers`` installs them and runs the tests that need them."""
