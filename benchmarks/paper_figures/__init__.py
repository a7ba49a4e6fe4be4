"""The figures and tables of four papers and a talk, made again; a module for each."""
