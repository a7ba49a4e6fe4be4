"""What a finished run can be asked: proportions, prevalence, documents, names, exports."""
