"""Who is an outlier when means are known, and what finding out must cost."""
