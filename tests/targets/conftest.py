"""A browser for exported pages."""

from page_browser import browser

__all__ = ["browser"]
