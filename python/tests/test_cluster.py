"""The job of KubeRay and the container of examples/cluster: fields, versions, and the command that they run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, parts

from clearance.__main__ import main

jsonschema = pytest.importorskip("jsonschema")
yaml = pytest.importorskip("yaml")

FOLDER = ROOT / "examples/cluster"


def some(required: list[str], **properties: Any) -> dict[str, Any]:
    """The schema of an object with these fields and no others."""
    return {"type": "object", "additionalProperties": False, "properties": properties, "required": required}


def listed(item: Any) -> dict[str, Any]:
    return {"type": "array", "items": item, "minItems": 1}


TEXT, COUNT, FLAG = {"type": "string"}, {"type": "integer", "minimum": 0}, {"type": "boolean"}
TEXTS = {"type": "object", "additionalProperties": TEXT}
CONTAINER = some(
    ["name", "image"], name=TEXT, image=TEXT, resources=some(["limits"], requests=TEXTS, limits=TEXTS),
    volumeMounts=listed(some(["name", "mountPath"], name=TEXT, mountPath=TEXT)),
)  # fmt: skip
VOLUME = some(["name"], name=TEXT, persistentVolumeClaim=some(["claimName"], claimName=TEXT))
POD = some(["spec"], spec=some(["containers"], containers=listed(CONTAINER), volumes=listed(VOLUME)))
WORKERS = some(
    ["groupName", "template"], groupName=TEXT, replicas=COUNT, minReplicas=COUNT, maxReplicas=COUNT,
    rayStartParams=TEXTS, template=POD,
)  # fmt: skip
# Written by hand, of the fields that the job has, after the definition of RayJob in version 1.5.0 of KubeRay. The job
# was checked with the whole definition as well, which is not part of the tests.
JOB = some(
    ["apiVersion", "kind", "metadata", "spec"],
    apiVersion={"const": "ray.io/v1"},
    kind={"const": "RayJob"},
    metadata=some(["name"], name={"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}),
    spec=some(
        ["entrypoint", "rayClusterSpec"],
        entrypoint=TEXT,
        entrypointNumCpus={"type": "number"},
        backoffLimit=COUNT,
        shutdownAfterJobFinishes=FLAG,
        ttlSecondsAfterFinished=COUNT,
        rayClusterSpec=some(
            ["headGroupSpec"],
            rayVersion=TEXT,
            headGroupSpec=some(["template"], rayStartParams=TEXTS, template=POD),
            workerGroupSpecs=listed(WORKERS),
        ),
    ),
)


def job() -> Any:
    return yaml.safe_load((FOLDER / "rayjob.yaml").read_text())


def pods(found: Any) -> list[Any]:
    cluster = found["spec"]["rayClusterSpec"]
    return [g["template"]["spec"] for g in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"])]


def test_job() -> None:
    found = job()
    jsonschema.validate(found, JOB)
    for pod in pods(found):
        have = {v["name"] for v in pod["volumes"]}
        assert {m["name"] for c in pod["containers"] for m in c["volumeMounts"]} <= have
    with pytest.raises(jsonschema.ValidationError, match="replica"):
        found["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["replica"] = 1
        jsonschema.validate(found, JOB)


def test_versions() -> None:
    """The job, the image and the tests have one version of Ray and of pyarrow."""
    pinned = dict(re.findall(r"^(\S+)==(\S+)$", (ROOT / "python/requirements-dev.txt").read_text(), re.M))
    steps = (FOLDER / "Dockerfile").read_text()
    assert f"FROM rayproject/ray:{pinned['ray']}-py311" in steps and f"pyarrow=={pinned['pyarrow']}" in steps
    assert job()["spec"]["rayClusterSpec"]["rayVersion"] == pinned["ray"]
    (tag,) = re.findall(r"--tag (\S+)", steps)
    assert {c["image"] for pod in pods(job()) for c in pod["containers"]} == {tag}


def test_the_command(cluster: None, pair_files: Path, answers: Any, tmp_path: Path) -> None:
    """What the job runs answers the pairs of its volume."""
    (tmp_path / "pairs").mkdir()
    shutil.copy(pair_files / "a.parquet", tmp_path / "pairs")
    shutil.copy(pair_files / "shapes0.json", tmp_path / "shapes.json")
    program, *words = shlex.split(job()["spec"]["entrypoint"])
    assert program == "clearance"
    assert main([w.replace("/data/", f"{tmp_path}{os.sep}") for w in words]) == 0
    assert parts(tmp_path / "results").equals(answers)
