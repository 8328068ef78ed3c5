"""Makes NotoSansCJKsc-Regular-subset.ttf from Debian's NotoSansCJK-Regular.ttc (see README.md).

    python3 make-cjk.py NotoSansCJK-Regular.ttc NotoSansCJKsc-Regular-subset.ttf

Takes the Simplified Chinese font of the collection, keeps the characters that names are written with and the Japanese
forms of shared ideographs, and turns the cubic outlines (CFF) into quadratic ones (glyf) with an error of at most one
thousandth of the em, so that one embedding path serves every font.
"""
import io
import sys
from fontTools import subset
from fontTools.pens.cu2quPen import Cu2QuPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont, newTable

RANGES = [
    (0x0020, 0x007E), (0x00A0, 0x00FF), (0x1100, 0x11FF), (0x2000, 0x206F), (0x2E80, 0x2FDF), (0x3000, 0x30FF),
    (0x3100, 0x312F), (0x3130, 0x318F), (0x31A0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3),
    (0xF900, 0xFAFF), (0xFF00, 0xFFEF), (0x1B000, 0x1B16F), (0x20000, 0x323AF),
]


def subset_font(source):
    options = subset.Options()
    options.font_number = 2  # Noto Sans CJK SC
    options.layout_scripts = ["hani.JAN", "kana.JAN", "hani.dflt"]
    options.layout_features = ["locl"]
    options.hinting = False
    options.desubroutinize = True
    options.drop_tables += ["vhea", "vmtx", "VORG", "BASE", "GPOS"]
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14]
    options.notdef_outline = True
    font = subset.load_font(source, options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=[c for first, last in RANGES for c in range(first, last + 1)])
    subsetter.subset(font)
    # The outlines can only be drawn from a font that has been written and read again.
    written = io.BytesIO()
    font.save(written)
    return TTFont(written)


def to_quadratic(font):
    order = font.getGlyphOrder()
    outlines = font.getGlyphSet()
    glyphs = {}
    for name in order:
        pen = TTGlyphPen(outlines)
        outlines[name].draw(Cu2QuPen(pen, 1.0, reverse_direction=True))
        glyphs[name] = pen.glyph()
    font["loca"] = newTable("loca")
    glyf = font["glyf"] = newTable("glyf")
    glyf.glyphOrder = order
    glyf.glyphs = glyphs
    maxp = font["maxp"]
    maxp.tableVersion = 0x00010000
    maxp.maxZones = 1
    for field in ("maxTwilightPoints", "maxStorage", "maxFunctionDefs", "maxInstructionDefs", "maxStackElements", "maxSizeOfInstructions",
                  "maxComponentElements", "maxPoints", "maxContours", "maxCompositePoints", "maxCompositeContours",
                  "maxComponentDepth"):
        setattr(maxp, field, 0)
    del font["CFF "]
    font["post"].formatType = 3.0
    font.sfntVersion = "\x00\x01\x00\x00"
    font["head"].glyphDataFormat = 0
    font.recalcTimestamp = False


if __name__ == "__main__":
    source, target = sys.argv[1:]
    made = subset_font(source)
    to_quadratic(made)
    made.save(target)
