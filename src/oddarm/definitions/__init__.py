"""Which arms are outliers if the means are known, and what a search for them costs at most."""
