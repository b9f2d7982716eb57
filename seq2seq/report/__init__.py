"""Reports of comparisons: tables, figures and pages."""
