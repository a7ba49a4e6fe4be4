"""``python -m sparsetopics.cli``, for use where the script is not on the path."""

from sparsetopics.cli.main import main

main(prog_name="sparsetopics")
