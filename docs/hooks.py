"""What the site adds to MkDocs: the version in its footer, and notebooks as pages."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

_VERSION = Path(__file__).parents[1] / "src" / "frith" / "_version.py"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    griffe.stdlib_decorators["frith._cached.cached_property"] = {
        "cached",
        "property",
    }  # not a method
    names: dict[str, str] = {}
    exec(_VERSION.read_text(encoding="utf-8"), names)
    config.copyright = f"frith {names['__version__']}, MIT license"
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """A page for each notebook; the notebook itself stays beside it, for download."""
    for file in [f for f in files if f.src_uri.endswith(".ipynb")]:
        page = file.src_uri.removesuffix(".ipynb") + ".md"
        notebook = json.loads(Path(file.abs_src_path).read_text(encoding="utf-8"))
        content = "\n\n".join(_cell(cell) for cell in notebook["cells"])
        name = Path(file.src_uri).name
        download = f'<p><a href="{name}" download>Download this notebook</a></p>'
        files.append(File.generated(config, page, content=f"{content}\n\n{download}\n"))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links to notebooks, which the repository needs, lead to their pages here."""
    return markdown.replace(".ipynb)", ".md)")


def _cell(cell: dict[str, Any]) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    shown = [_output(output) for output in cell["outputs"]]
    return "\n\n".join([f"```python\n{source}\n```", *filter(None, shown)])


def _output(output: dict[str, Any]) -> str:
    """What a cell printed or displayed: HTML and pictures as they are, all else as text."""
    if output["output_type"] == "stream":
        return _text("".join(output["text"]), output["name"])
    data = output["data"]
    for kind in ("text/html", "image/svg+xml"):
        if kind in data:
            return f'<div class="output">{"".join(data[kind])}</div>'
    if "image/png" in data:
        return f'<div class="output"><img alt="" src="data:image/png;base64,{data["image/png"]}"></div>'
    return _text("".join(data["text/plain"]), "result")


def _text(text: str, kind: str) -> str:
    return f'<pre class="output {kind}">{escape(text.rstrip())}</pre>' if text.strip() else ""
