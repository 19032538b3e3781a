"""What a sweep says: its samples' diversity and likelihood at each point (points.py), as a page (html.py)."""
