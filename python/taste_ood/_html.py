"""Pages in notebooks."""

import html


def framed(page: str, height: int = 420) -> str:
    """A self-contained page in a frame of its own: its style follows light and dark, and touches nothing else."""
    inner = html.escape(page, quote=True)
    style = f"width:100%;height:{height}px;border:0;resize:vertical;overflow:auto"
    return f'<iframe srcdoc="{inner}" style="{style}" sandbox="allow-scripts" loading="lazy"></iframe>'
