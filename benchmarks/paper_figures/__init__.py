"""The figures and tables of five papers, made again; a module for each paper."""
