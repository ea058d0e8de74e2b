"""Text tables: columns, cells and widths."""

from oddarm.results.table import Column, text_table


def test_tables_keep_their_columns():
    """A cell with an end of line or an escape stays in its row and column."""
    table = text_table([Column("name", left=True), Column("n")], [("a\nb", "1"), ("c", "2")])
    assert table.splitlines() == ["name  n", r"a\nb  1", "c     2"]


def test_shortened_columns_take_the_room_that_is_left():
    """What is shortened to fit grows again when another column was left out."""
    columns = Column("name", least=12), Column("long", dropped=1), Column("n")
    rows = [("x" * 40, "y" * 20, "1")]
    widths = {
        width: list(map(len, text_table(columns, rows, width).split("\n")[1].split()))
        for width in (70, 50, 36, 30, 10)
    }
    assert widths == {70: [40, 20, 1], 50: [25, 20, 1], 36: [33, 1], 30: [27, 1], 10: [12, 1]}


def test_columns_of_one_turn_are_left_out_together():
    """Columns that are of no use without each other go at once; two may have the same head."""
    columns = Column("n"), Column("low", dropped=1), Column("high", dropped=1), Column("n")
    rows = [("1", "2", "3", "4")]
    assert text_table(columns, rows, 15).splitlines() == ["n  low  high  n", "1    2     3  4"]
    assert text_table(columns, rows, 14).splitlines() == ["n  n", "1  4"]


def test_tables_without_rows():
    """A table of nothing is its heads."""
    assert text_table([Column("name"), Column("n")], []) == "name  n"
