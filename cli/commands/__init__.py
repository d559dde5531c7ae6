"""Commands of the command line, by what they are about; ``cli/app.py`` registers them. Part of the command line."""
