"""What the demo shows: panels side by side in a terminal, plain lines anywhere else."""

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from rich.console import Console, Group
from rich.layout import Layout
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from runwire.cli.view import piece_of

if TYPE_CHECKING:
    from runwire.cli.demo.proof import Check

REFRESH_PER_S: Final = 10
# More of a run than any panel can show is forgotten.
PANE_CHARACTERS: Final = 4000
PANEL_WIDTH: Final = 38
MIN_PANEL_LINES: Final = 2
NEWS_LINES: Final = 5
# A plain line is printed when so much of a run has come since its last one.
PLAIN_CHARACTERS: Final = 90


class Stage(ABC):
    """Where the demo performs. Use as a context manager around the live part."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._began = time.monotonic()

    @abstractmethod
    def chunk(self, run: str, data: bytes) -> None:
        """A reader got this chunk of a run."""

    @abstractmethod
    def news(self, line: str) -> None:
        """Something happened to the deployment. May be called from any thread."""

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def clock(self) -> str:
        """Seconds since the demo began."""
        return f"{time.monotonic() - self._began:5.1f} s"


class PlainStage(Stage):
    """One line whenever a run has said enough, or has ended."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._waiting: dict[str, str] = {}

    def chunk(self, run: str, data: bytes) -> None:
        piece = piece_of(data)
        if piece is None:
            return
        waiting = self._waiting.get(run, "")
        if piece.own_line:
            self._line(run, waiting)
            self._line(run, piece.text)
            waiting = ""
        else:
            waiting += piece.text
            if len(waiting) >= PLAIN_CHARACTERS:
                self._line(run, waiting)
                waiting = ""
        self._waiting[run] = waiting

    def _line(self, run: str, text: str) -> None:
        if text := " ".join(text.split()):
            self.console.print(f"{self.clock()}  {run[:24]:24}  {text}", markup=False, highlight=False, soft_wrap=True)

    def news(self, line: str) -> None:
        self.console.print(f"{self.clock()}  ** {line}", markup=False, highlight=False, soft_wrap=True, style="bold")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for run, text in self._waiting.items():
            self._line(run, text)


class PanelStage(Stage):
    """A panel per run, refreshed ten times a second, and the latest news below."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._panes: dict[str, Text] = {}
        self._ended: dict[str, str] = {}
        self._news: list[str] = []
        self._live = Live(self, console=console, refresh_per_second=REFRESH_PER_S, transient=True)

    def chunk(self, run: str, data: bytes) -> None:
        pane = self._panes.setdefault(run, Text())
        piece = piece_of(data)
        if piece is None:
            return
        if piece.own_line and pane.plain and not pane.plain.endswith("\n"):
            pane.append("\n")
        pane.append(piece.text + ("\n" if piece.own_line else ""), piece.style or None)
        if len(pane) > PANE_CHARACTERS:
            self._panes[run] = pane[-PANE_CHARACTERS // 2 :]
        if data.startswith(b'{"type":"finish"'):
            self._ended[run] = "red" if "error" in piece.text or "abort" in piece.text else "green"

    def news(self, line: str) -> None:
        self._news.append(f"{self.clock()}  {line}")

    def __rich__(self) -> Layout:
        layout = Layout()
        layout.split_column(Layout(self._grid(), name="runs"), Layout(self._ticker(), size=NEWS_LINES + 2))
        return layout

    def _grid(self) -> Table:
        columns = max(1, self.console.width // PANEL_WIDTH)
        rows = -(-len(self._panes) // columns) or 1
        lines = max(MIN_PANEL_LINES, (self.console.height - NEWS_LINES - 2) // rows - 2)
        grid = Table.grid(expand=True)
        for _ in range(columns):
            grid.add_column(ratio=1)
        width = self.console.width // columns - 4
        room = columns * max(1, (self.console.height - NEWS_LINES - 2) // (lines + 2))
        panels = [self._panel(run, self._panes[run], lines, width) for run in self._visible(room)]
        for at in range(0, len(panels), columns):
            grid.add_row(*panels[at : at + columns])
        return grid

    def _visible(self, room: int) -> list[str]:
        """As many runs as there is room for, in their order; where it is short, the ended ones go first."""
        chosen = set(sorted(self._panes, key=self._ended.__contains__)[:room])
        return [run for run in self._panes if run in chosen]

    def _panel(self, run: str, pane: Text, lines: int, width: int) -> Panel:
        # Only the end can be seen, so only the end is wrapped.
        end = pane[-lines * max(width, 1) :]
        end.rstrip()
        shown = end.wrap(self.console, max(width, 1))[-lines:]
        return Panel(
            Group(*shown) if shown else "", title=Text(run), border_style=self._ended.get(run, "blue"), height=lines + 2
        )

    def _ticker(self) -> Panel:
        return Panel(Text("\n".join(self._news[-NEWS_LINES:])), title="what happens", border_style="yellow")

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()
        for line in self._news:
            self.console.print(line, markup=False, highlight=False)


def stage_for(*, plain: bool) -> Stage:
    """Panels in a terminal, unless plain lines are wanted."""
    console = Console()
    return PanelStage(console) if console.is_terminal and not plain else PlainStage(console)


def summary(checks: Sequence["Check"]) -> Table:
    """Every claim, what was expected, what was seen."""
    table = Table(title="What was claimed, and what was seen", title_justify="left")
    for name in ("", "claim", "expected", "seen"):
        table.add_column(name)
    for check in checks:
        mark = Text("ok", "bold green") if check.holds else Text("FAILED", "bold red")
        table.add_row(mark, Text(check.claim), Text(check.expected), Text(check.actual))
    return table
