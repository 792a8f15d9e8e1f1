"""Lays out the pages of the site, as scripts/site.sh builds it: site.py FOLDER.

Pages are the Markdown files of the repository under their own paths, so that their links hold. Files that they link to,
such as pictures and examples, are copied too; a link to a folder becomes one to its README, or is left as text. The
pages of the reference name the public classes and functions of the Python package, whose docstrings mkdocstrings
renders.
"""

from __future__ import annotations

import ast
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("*.md", "docs/**/*.md", "docs/**/*.ipynb", "python/README.md", "lab/README.md", "lab/*/**/*.md")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
FENCE = re.compile(r"(?ms)(^```.*?^```)")

# The pages of the reference: title, module, and its names; None stands for all public names of the module.
REFERENCE: dict[str, tuple[str, str, list[str] | None]] = {
    "engine": (
        "Engine and results",
        "clearance",
        [
            "Engine",
            "Result",
            "Report",
            "SceneResult",
            "Poses",
            "Tangent",
            "transforms",
            "move_poses",
            "distance_gradient",
        ],
    ),
    "shapes": ("Shapes and meshes", "clearance", ["Library", "Shape", "load", "decompose"]),
    "scenes": (
        "Scenes, rollouts and sweeps",
        "clearance",
        [
            "Scene",
            "Body",
            "Part",
            "Rollout",
            "SceneRollout",
            "SweepResult",
            "SkipProposal",
            "show",
            "View",
            "Placements",
            "BoxRegion",
            "SurfaceRegion",
        ],
    ),
    "files": (
        "Files and streams",
        "clearance",
        [
            "score_file",
            "score_stream",
            "ScoreStream",
            "rollout_file",
            "sweep_file",
            "audit_file",
            "audit_rollout_file",
            "audit_sweep_file",
            "pair_rows",
            "FileReport",
            "read_worlds",
            "write_worlds",
            "Worlds",
        ],
    ),
    "contact": ("Contacts", "clearance.contact", None),
    "mujoco": ("MuJoCo models", "clearance.mujoco", None),
    "gymnasium": ("Gymnasium environments", "clearance.gymnasium", None),
    "urdf": ("URDF models", "clearance.urdf", None),
    "pinocchio": ("Robots of Pinocchio", "clearance.pinocchio", None),
    "torch": ("PyTorch", "clearance.torch", None),
    "jax": ("JAX", "clearance.jax", None),
    "ray": ("Ray", "clearance.ray", None),
}
ERRORS = ("errors", "Errors and constants")  # the page of all other names of the package


def public(module: str) -> list[str]:
    """The names in ``__all__`` of a module, read from its source."""
    file = ROOT / "python/src" / (module.replace(".", "/") + ("/__init__.py" if module == "clearance" else ".py"))
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return names
    raise SystemExit(f"{file} has no __all__")


def page(title: str, module: str, names: list[str]) -> str:
    """A page of the reference. Constants have no docstrings, and are listed."""
    constants = ", ".join(f"`{module}.{n}`" for n in names if n.isupper())
    documented = [f"::: {module}.{n}" for n in names if not n.isupper()]
    return "\n\n".join([f"# {title}", *documented, *([f"Constants: {constants}."] if constants else [])]) + "\n"


def reference() -> dict[str, str]:
    """The pages of the reference by name. Each public name is on one of them."""
    pages: dict[str, str] = {}
    left = [n for n in public("clearance") if n[0] != "_"]
    titles = {}
    for name, (title, module, names) in REFERENCE.items():
        titles[name] = title
        chosen = public(module) if names is None else names
        missing = set(chosen) - set(public(module))
        if missing:
            raise SystemExit(f"scripts/site.py: {module} has no {sorted(missing)}")
        if module == "clearance":
            left = [n for n in left if n not in chosen]
        pages[name] = page(title, module, chosen)
    modules = {f.stem for f in (ROOT / "python/src/clearance").glob("[a-z]*.py")}
    absent = modules - {m.rpartition(".")[2] for _, m, _ in REFERENCE.values()}
    if absent:
        raise SystemExit(f"scripts/site.py: no page has the modules {sorted(absent)}")
    left = [n for n in left if n not in modules]  # modules that are attributes of the package have their pages
    name, titles[name] = ERRORS
    pages[name] = page(ERRORS[1], "clearance", left)
    listed = "\n".join(f"- [{t}]({n}.md)" for n, t in titles.items())
    pages["index"] = f"# Reference\n\nThe public names of the Python package, from their docstrings.\n\n{listed}\n"
    return pages


def linked(page: Path, target: str) -> Path | None:
    """The file that a link of a page leads to, if it is one of the repository."""
    name = target.partition("#")[0]
    if not name or "://" in name or name.startswith("mailto:"):
        return None
    return (page.parent / name).resolve()


def text_of(page: Path, out: Path) -> str:
    """The text of a page; the files to which it links are copied."""

    def link(m: re.Match[str]) -> str:
        file = linked(page, m[3])
        if file is None:
            return m[0]
        if file.is_dir():
            readme = file / "README.md"
            if not readme.exists():
                return m[2]
            return f"[{m[2]}]({m[3].rstrip('/')}/README.md)"
        to = out / file.relative_to(ROOT)
        if file.suffix != ".md" and file.exists() and not to.exists():
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, to)
        return m[0]

    parts = FENCE.split(page.read_text())
    return "".join(p if p.startswith("```") else LINK.sub(link, p) for p in parts)


def main() -> None:
    out = (ROOT / sys.argv[1]).resolve()
    shutil.rmtree(out, ignore_errors=True)
    for pattern in PAGES:
        for page in sorted(ROOT.glob(pattern)):
            to = out / page.relative_to(ROOT)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_text(text_of(page, out) if page.suffix == ".md" else page.read_text())
    (out / "reference").mkdir(parents=True)
    for name, text in reference().items():
        (out / "reference" / f"{name}.md").write_text(text)


if __name__ == "__main__":
    main()
