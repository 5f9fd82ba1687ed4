"""Results as dataclasses that print as tables, show as tables in notebooks, and convert to dictionaries."""
import dataclasses
import enum
import html
from typing import Any, Dict, Iterable, List, Sequence, Tuple

Column = Tuple[str, str]  # what stands above it, and the field that it shows


def plain(value: Any) -> Any:
    """A value as dictionaries, lists, text and numbers: what json.dumps takes."""
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return "x".join(cell(item) for item in value)
    return str(value)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def table(columns: Sequence[Column], rows: Iterable[Any]) -> str:
    """Rows below headings; numbers are on the right."""
    rows = list(rows)
    cells = [[cell(getattr(row, field)) for _, field in columns] for row in rows]
    right = [bool(rows) and all(is_number(getattr(row, field)) or getattr(row, field) is None for row in rows)
             for _, field in columns]
    lines = [[heading for heading, _ in columns]] + cells
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    return "\n".join("  ".join(text.rjust(width) if flush else text.ljust(width)
                               for text, width, flush in zip(line, widths, right)).rstrip() for line in lines)


def html_table(columns: Sequence[Column], rows: Iterable[Any]) -> str:
    head = "".join(f"<th>{html.escape(heading)}</th>" for heading, _ in columns)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell(getattr(row, field)))}</td>" for _, field in columns) + "</tr>"
                   for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Result:
    """A dataclass of results. One with rows says which in ROWS, and in COLUMNS what of them is shown."""

    ROWS = ""
    COLUMNS: Sequence[Column] = ()
    HIDDEN: Sequence[str] = ()  # fields that are no data

    def to_dict(self) -> Dict[str, Any]:
        """All fields, and those of what they hold."""
        return {field.name: plain(getattr(self, field.name))
                for field in dataclasses.fields(self)
                if field.name not in self.HIDDEN and not field.name.startswith("_")}

    def summary(self) -> str:
        """A line or two before the table."""
        return ""

    def rows(self) -> List[Any]:
        return list(getattr(self, self.ROWS)) if self.ROWS else []

    def __str__(self) -> str:
        if not self.ROWS:
            facts = [(field.name, getattr(self, field.name)) for field in dataclasses.fields(self)
                     if field.name not in self.HIDDEN and not field.name.startswith("_")]
            width = max((len(name) for name, _ in facts), default=0)
            return self.summary() or "\n".join(f"{name.ljust(width)}  {cell(value)}" for name, value in facts)
        return "\n".join(part for part in (self.summary(), table(self.COLUMNS, self.rows())) if part)

    def _repr_html_(self) -> str:
        if not self.ROWS:
            return f"<pre>{html.escape(str(self))}</pre>"
        return f"<p>{html.escape(self.summary())}</p>{html_table(self.COLUMNS, self.rows())}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(type(self).__name__ if cycle else str(self))
