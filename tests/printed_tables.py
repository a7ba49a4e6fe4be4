"""Score tables as commands print them, read back."""


def table_of(printed):
    """The cells of each run by the heads of their columns, from all parts of a table."""
    parts = [part.splitlines() for part in printed.split("\n\n")]
    rows = {}
    for header, *lines in (part for part in parts if part[0].split()[:1] == ["run"]):
        heads = header.split()
        for line in lines:
            cells = line.split()
            rows.setdefault(cells[0], {}).update(zip(heads, cells, strict=True))
    return rows
