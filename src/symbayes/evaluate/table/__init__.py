"""The rows of METRICS, one file for each subject."""
