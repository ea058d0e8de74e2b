"""Many searches: simulated ones, what one will cost, and what each strategy would have cost."""
