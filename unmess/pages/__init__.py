"""HTML pages with styles, script and plots inside, for use offline; Markdown pages.

| file | contents |
| --- | --- |
| `rendering.py` | renders a template with the styles and scripts of all pages and its own |
| `base.css`, `tables.js`, `macros.html.jinja` | what all pages have: tables that sort and filter |
| `plot.py` | a plot area with axes, as SVG |
| `markdown.py` | renders a Markdown page from a template, and escapes text for it |
"""
