"""The program as the analysis sees it: axes, laws, and the steps that a trace of it writes."""
