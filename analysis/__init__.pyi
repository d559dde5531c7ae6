from .figure_catalogue import figure_named as figure_named
