"""The paper's evaluation, from one command: runs, figures, claims and a report."""
