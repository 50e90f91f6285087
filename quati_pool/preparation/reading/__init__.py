"""The formats of pages: one small file each, and what they share."""
