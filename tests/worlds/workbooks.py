"""Excel workbooks, written by hand."""

import io
import zipfile
from datetime import datetime

MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
RELATIONS = "".join(
    f'<Relationship Id="r{n}" Type="{OFFICE}/{kind}" Target="{target}"/>'
    for n, (kind, target) in enumerate(
        {
            "worksheet": "worksheets/sheet1.xml",
            "styles": "styles.xml",
            "sharedStrings": "sharedStrings.xml",
        }.items()
    )
)
TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
TYPES = "".join(
    f'<Override PartName="/xl/{part}.xml" ContentType="{TYPE}.{kind}+xml"/>'
    for part, kind in {
        "workbook": "sheet.main",
        "worksheets/sheet1": "worksheet",
        "styles": "styles",
        "sharedStrings": "sharedStrings",
    }.items()
)


def cell(value, place, strings):
    """A cell of a sheet; texts are shared."""
    if value is None:
        return ""
    if isinstance(value, str):
        strings.append(value)
        return f'<c r="{place}" t="s"><v>{len(strings) - 1}</v></c>'
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{value:d}</v></c>'
    if isinstance(value, datetime):
        days = (value - datetime(1899, 12, 30)).total_seconds() / 86_400
        return f'<c r="{place}" s="1"><v>{days}</v></c>'
    return f'<c r="{place}"><v>{value}</v></c>'


def workbook(rows, more_cells=""):
    """The bytes of a workbook with one sheet; ``more_cells`` follow in its last row."""
    strings = []
    lines = [
        "".join(cell(value, f"{chr(65 + n)}{row}", strings) for n, value in enumerate(values))
        for row, values in enumerate(rows, 1)
    ]
    lines[-1] += more_cells
    cells = "".join(f'<row r="{row}">{line}</row>' for row, line in enumerate(lines, 1))
    shared = "".join(f"<si><t>{text}</t></si>" for text in strings)
    parts = {
        "[Content_Types].xml": "<Types xmlns="
        f'"http://schemas.openxmlformats.org/package/2006/content-types">{TYPES}</Types>',
        "_rels/.rels": f'<Relationships {PACKAGE}><Relationship Id="r0" Target="xl/workbook.xml" '
        f'Type="{OFFICE}/officeDocument"/></Relationships>',
        "xl/workbook.xml": f'<workbook {MAIN} xmlns:r="{OFFICE}"><sheets><sheet name="a" '
        'sheetId="1" r:id="r0"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f"<Relationships {PACKAGE}>{RELATIONS}</Relationships>",
        "xl/styles.xml": f'<styleSheet {MAIN}><cellXfs count="2"><xf numFmtId="0"/>'
        '<xf numFmtId="14"/></cellXfs></styleSheet>',
        "xl/sharedStrings.xml": f"<sst {MAIN}>{shared}</sst>",
        "xl/worksheets/sheet1.xml": f"<worksheet {MAIN}><sheetData>{cells}</sheetData></worksheet>",
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return file.getvalue()
