"""MaxGap: strategies that find the largest gap between neighbours."""
