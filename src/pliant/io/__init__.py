"""Export of C and other formats, and result files."""
