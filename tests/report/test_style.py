"""What all figures share: numbers in cells can be read, whatever colour the cell has."""

import itertools

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize, to_rgb

from seq2seq.report.style import ink_on


def luminance(colour) -> float:
    """Relative luminance of WCAG 2."""
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def test_ink_stands_out_from_every_colour():
    steps = [place / 16 for place in range(17)]
    every = ListedColormap(list(itertools.product(steps, repeat=3)))
    image = ScalarMappable(Normalize(0, 60), every)
    for value in np.linspace(0, 60, 5000):
        ink = luminance(to_rgb(ink_on(image, value)))
        darker, lighter = sorted((ink, luminance(image.to_rgba(value)[:3])))
        assert (lighter + 0.05) / (darker + 0.05) > 4.5
