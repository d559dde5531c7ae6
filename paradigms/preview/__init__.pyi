from .example import ExampleDisplay as ExampleDisplay
