"""Where people already work: oddarm inside other tools, each behind its own name."""
