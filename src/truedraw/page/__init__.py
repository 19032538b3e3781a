"""Reports as one HTML file that needs nothing else: the document and its plots."""
