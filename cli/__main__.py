"""``python -m sparsetopics.cli``: the command line where no script is on the path."""

from sparsetopics.cli.main import main

main(prog_name="sparsetopics")
