"""Whole experiments, one file each: from data to a page with the published numbers beside ours."""
