"""The scores of one model on held-out data, and readers for the topics of other toolkits."""
