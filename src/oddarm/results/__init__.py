"""What a search found, and how it is shown: sentence, table, plot, page, notebook."""
