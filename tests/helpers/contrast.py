"""How well one colour stands out from another."""

from matplotlib.colors import to_rgb


def luminance(colour) -> float:
    """Relative luminance of WCAG 2."""
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one, other):
    darker, lighter = sorted(luminance(to_rgb(colour)) for colour in (one, other))
    return (lighter + 0.05) / (darker + 0.05)
