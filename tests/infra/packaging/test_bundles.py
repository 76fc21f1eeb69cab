"""What is deployed: the same bytes every time, all that the code needs, and little else."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

from infra.packaging import __main__
from infra.packaging.bundles import (
    FUNCTIONS,
    JUDGE,
    LAMBDA_PYTHON,
    PULL,
    RUNNING,
    Bundle,
    bundle_functions,
    bundle_job,
    fill,
    tarred,
    unpack,
    wanted,
    wheels,
    zipped,
)
from infra.setup.environments import LOCKS, MARK
from lakegate.base.errors import SetUpError
from lakegate.base.extension_points import ROOT, TOOLS
from lakegate.contract.file_formats import Format, Storage
from lakegate.plan.result import Result
from lakegate.spark.worker_daemon import MODULE
from tests.deliveries.delivery import plan_of, request_for, rule
from tests.infra.packaging.conftest import quick_job
from tests.sam.built import packed

LAMBDA_LIMIT = 50_000_000
"""Bytes of a zip that Lambda takes."""
UNPACKED_LIMIT = 250_000_000
"""Bytes that Lambda unpacks (Lambda developer guide, Lambda quotas)."""
PORT_BYTES = 4
"""What the parent of Spark's workers writes before Spark, which has ended here, asks for one."""
HOME_AND_SYSTEM = f"{Path(sys.executable).resolve().parent}:/usr/bin:/bin"
"""Where the Python of these tests is, and the programs of the system."""
UNCHECKED_HASH = 0b01
"""The flags in the header of bytecode that has a hash of its source and no time, and is not compared with it (PEP 552)."""
JUDGED = """
import json, sys
from pathlib import Path
from functions.judge_handler import handler

class Context:
    def get_remaining_time_in_millis(self):
        return 120_000

folder = Path(sys.argv[1])
event = {"workload": "0" * 64, "attempt": 1, "request": (folder / "request.json").as_uri()}
print(handler(event, Context())["answer"])
print(sorted({"pyspark", "boto3", "pandas"} & set(sys.modules)))
"""


@pytest.fixture(scope="module")
def functions(build: Path) -> Path:
    """The functions' bundle."""
    return build / "lambda/functions.zip"


@pytest.fixture(scope="module")
def task(functions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its contents, as Lambda unpacks them."""
    folder = tmp_path_factory.mktemp("task")
    with zipfile.ZipFile(functions) as archive:
        archive.extractall(folder)  # noqa: S202 - made a moment ago
    return folder


@pytest.fixture(scope="module")
def release(build: Path) -> Path:
    """The job's release."""
    return build / "code" / (build / "release").read_text()


def python(*words: str, **environment: str) -> str:
    """The output of a Python without this project."""
    ended = subprocess.run(  # noqa: S603 - this interpreter
        [sys.executable, "-S", *words], cwd="/", env=environment, capture_output=True, text=True, check=False
    )
    assert not ended.returncode, ended.stderr
    return ended.stdout


def imports(task: Path) -> str:
    """A statement that imports all modules of ours that an unpacked bundle has."""
    ours = [path for name in ("functions", "lakegate") for path in sorted((task / name).rglob("*.py"))]
    return "import " + ", ".join(".".join(path.relative_to(task).with_suffix("").parts) for path in ours)


def test_a_bundle_is_the_same_bytes_every_time(tmp_path: Path) -> None:
    """A deployment without a change changes nothing: neither a place nor a time is in the bytecode."""
    made = []
    for name in ("one", "two"):
        root, tools = tmp_path / name, tmp_path / name / "tools"
        locked = tools / f"wheels/lambda-{RUNNING}"
        for folder in (root / "functions", locked):
            folder.mkdir(parents=True)
        (root / "functions/__init__.py").touch()
        (root / "functions/intake_handler.py").write_text("def known(word):\n    return word in {'a', 'b', 'c'}\n")
        shutil.copyfile(LOCKS / "lambda.lock", locked / MARK)
        made.append(bundle_functions(root, tools, root / "build", root / "kept"))
    with zipfile.ZipFile(made[0]) as archive:
        bytecode = archive.read("functions/__pycache__/intake_handler.cpython-311.pyc")

    assert made[0].read_bytes() == made[1].read_bytes()
    assert int.from_bytes(bytecode[4:8], "little") == UNCHECKED_HASH


@pytest.mark.full  # per commit of one module: the test above
def test_the_functions_bundle_is_the_same_bytes_every_time(functions: Path, tmp_path: Path) -> None:
    """So is the whole bundle: the one that the tests deploy was made apart from this one."""
    assert functions.read_bytes() == packed(tmp_path / "build", tmp_path / "kept").read_bytes()


@pytest.mark.full
def test_the_jobs_release_is_the_same_bytes_every_time(release: Path, tmp_path: Path) -> None:
    """So is the job's, under the same name, because it is named after its bytes."""
    again = quick_job(tmp_path)

    assert release.name == again.name
    assert release.name == (tmp_path / "release").read_text()
    assert sorted(path.name for path in again.iterdir()) == [
        "avro.jar",
        "deequ.jar",
        "environment.tar.gz",
        "validate.py",
    ]


def test_the_bundle_holds_all_that_its_handlers_need(task: Path) -> None:
    """A bare interpreter imports every module of ours, calls every service and judges, with the bundle alone."""
    clients = "from lakegate.aws.clients import client as c\n"
    clients += "[c(s).meta for s in ('s3','dynamodb','emr-serverless','events')]"
    judge = "import lakegate.plan.plan, lakegate.plan.result, lakegate.verdict.verdict\n"
    judge += "from lakegate.report.delivery_report import render_unmeasured, TITLES\n"
    judge += "assert '<h1' in render_unmeasured([*TITLES][0], None, [], [])\n"
    judge += "import lakegate.gate.registry.publish_contract"
    code = f"{imports(task)}\n{clients}\n{judge}\nimport botocore, sys; print(botocore.__file__)"

    output = python("-c", code, PYTHONPATH=str(task), AWS_DEFAULT_REGION="eu-west-1")

    assert output.startswith(str(task))


def test_intake_starts_without_schemas_and_yaml(task: Path) -> None:
    """What a start does not need, a start does not pay for."""
    code = "import functions.intake_handler, sys; print(sorted({'yaml', 'jsonschema', 'boto3', 'jinja2'} & set(sys.modules)))"

    assert python("-c", code, PYTHONPATH=str(task)).strip() == "[]"


def test_the_bundle_is_thin_and_compiled(functions: Path) -> None:
    """It holds the descriptions of the services that functions call, no tests and no doubles, and every module compiled."""
    with zipfile.ZipFile(functions) as archive:
        names = set(archive.namelist())
    services = {name.split("/")[2] for name in names if re.match(r"botocore/data/[^/]+/", name)}
    ours = [name for name in names if name.startswith(("lakegate/", "functions/"))]
    compiled = {
        re.sub(r"__pycache__/(\w+)\.cpython-311\.pyc$", r"\1.py", name) for name in ours if "__pycache__" in name
    }

    code = "".join((ROOT / name).read_text() for name in compiled)
    called = set(re.findall(r'client\("([a-z0-9-]+)"\)', code))
    assert services == called
    assert not [
        name
        for name in names
        if name.startswith(("contracts/", "infra/", "lakegate/engine/", "lakegate/cli/", "tests/"))
    ]
    assert compiled == {name for name in ours if name.endswith(".py")}
    assert functions.stat().st_size < LAMBDA_LIMIT / 4


def test_everyone_may_read_the_bundle(functions: Path) -> None:
    """Lambda runs as another user than the one who packed."""
    with zipfile.ZipFile(functions) as archive:
        assert {0o644} == {entry.external_attr >> 16 & 0o777 for entry in archive.infolist()}


def test_the_environment_runs_the_job(release: Path, tmp_path: Path) -> None:
    """Unpacked beside the Spark of EMR, its own interpreter starts the parent of workers and validate.py, with what they need."""
    with tarfile.open(release / "environment.tar.gz") as archive:
        archive.extractall(tmp_path, filter="tar")
    spark = Path(pyspark.__file__).parents[1]
    bare = tmp_path / "spark"
    bare.mkdir()
    for name in ("pyspark", "py4j"):
        (bare / name).symlink_to(spark / name)
    need = "import lakegate.spark.spark_job, pydeequ.verification, boto3, jsonschema, pandas"
    code = f"{need}; boto3.client('s3'); print(pandas.__file__)"

    def run(*words: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(  # noqa: S603 - this interpreter
            [tmp_path / "bin/python", *words],
            cwd=tmp_path,
            env={
                "PYTHONPATH": str(bare),
                "SPARK_VERSION": "3.5",
                "AWS_DEFAULT_REGION": "eu-west-1",
                "PATH": HOME_AND_SYSTEM,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )

    ended, workers, job = run("-c", code), run("-m", MODULE), run(release / "validate.py", "--help")

    assert ended.stdout.startswith(bytes(tmp_path)), ended.stderr
    assert job.stdout.startswith(b"usage: validate.py"), job.stderr
    assert (len(workers.stdout), workers.stderr) == (PORT_BYTES, b"")


def launched(folder: Path, path: str) -> subprocess.CompletedProcess[str]:
    """What an environment's `bin/python` says of itself, started through a link, where the image has programs at `path`."""
    (folder / "environment").symlink_to(folder, target_is_directory=True)
    code = "import sys; print(sys.executable, sys.version_info[:2], sys.path[1])"
    return subprocess.run(  # noqa: S603 - the launcher, by its relative path as in the settings of a run
        ["./environment/bin/python", "-c", code],
        cwd=folder,
        env={"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def empty_job(build: Path, monkeypatch: pytest.MonkeyPatch, python: Path | None = None) -> Path:
    """The environment of a release without packages, unpacked."""
    monkeypatch.setattr("infra.packaging.bundles.fill", lambda folder, *_: folder.mkdir(parents=True))
    release = bundle_job(ROOT, TOOLS, build, python)
    with tarfile.open(release / "environment.tar.gz") as archive:
        archive.extractall(build / "unpacked", filter="tar")
    return build / "unpacked"


def test_the_environment_finds_the_python_of_the_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it is on the PATH, with the packages of the environment before all others; without one a sentence says so."""
    folder = empty_job(tmp_path, monkeypatch)
    launcher = (folder / "bin/python").read_text()
    (folder / "bin/python").write_text(re.sub(r"/usr/(local/)?bin/", "/nowhere/", launcher))
    elsewhere = tmp_path / "opt"
    elsewhere.mkdir()
    (elsewhere / "python3.11").symlink_to(Path(sys.executable).resolve())
    tools = "/usr/bin:/bin" if not Path("/usr/bin/python3.11").exists() else str(without_python(tmp_path))

    found = launched(folder, f"{elsewhere}:{tools}")
    (folder / "environment").unlink()
    missing = launched(folder, tools)

    assert found.stdout.split()[0] == str(elsewhere / "python3.11"), found.stderr
    assert found.stdout.split()[-1].endswith("environment/lib/python3.11/site-packages")
    assert (missing.returncode, missing.stderr) == (
        127,
        "no Python 3.11 in this image: package with PYTHON_ARCHIVE\n",
    )


def without_python(folder: Path) -> Path:
    """A folder with the programs that a shell script needs, and no Python."""
    made = folder / "tools"
    made.mkdir()
    for name in ("sh", "dirname"):
        (made / name).symlink_to(shutil.which(name) or "")
    return made


def test_an_interpreter_travels_with_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one of an archive is taken before that of the image, without what a job does not need of it."""
    home = Path(sys.base_prefix)
    archive = tmp_path / "python.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as packed:
        for name in ("bin/python3.11", "lib/python3.11/encodings", "lib/python3.11/test/__init__.py"):
            packed.add(home / name, f"python/{name}")
        for path in [
            *home.glob("lib/*.so*"),
            *home.glob("lib/python3.11/*.py"),
            *home.glob("lib/python3.11/lib-dynload"),
        ]:
            packed.add(path, f"python/{path.relative_to(home)}")
    folder = empty_job(tmp_path, monkeypatch, archive)

    ended = launched(folder, "/usr/bin:/bin")

    assert ended.stdout.split()[0].endswith("environment/python/bin/python3.11"), ended.stderr
    assert not (folder / "python/lib/python3.11/test").exists()


def test_an_archive_that_has_no_python_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence, and no release."""
    (tmp_path / "text").write_text("no archive")
    with tarfile.open(tmp_path / "other.tar", "w") as packed:
        packed.add(tmp_path / "text", "python/bin/python3.9")

    for name, words in (
        ("text", "cannot be read"),
        ("other.tar", "has no python/bin/python3.11"),
        ("none", "cannot be"),
    ):
        with pytest.raises(SetUpError, match=words):
            empty_job(tmp_path, monkeypatch, tmp_path / name)
    assert not (tmp_path / "release").exists()


@pytest.mark.parametrize("name", ["lambda", "job"])
def test_what_is_deployed_is_what_was_tested(name: str) -> None:
    """Every package of a bundle has the version, and the hashes, that the tests run with."""
    tested = (LOCKS / "dev.lock").read_text()
    pins = re.split(r"\n(?=\w)", (LOCKS / f"{name}.lock").read_text())
    bare = [re.sub(r"\n    # via.*", "", pin, flags=re.DOTALL).strip() for pin in pins]

    assert len(bare) > 10
    assert [pin.split()[0] for pin in bare if pin not in tested] == []


def test_archives_depend_on_names_and_contents_alone(tmp_path: Path) -> None:
    """Neither the order of writing, nor times, nor a umask is in an archive."""
    for name, order in (("one", ("a", "b/c")), ("two", ("b/c", "a"))):
        for place in order:
            path = tmp_path / name / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(place)
            path.chmod(0o600 if name == "one" else 0o664)
        for make in (zipped, tarred):
            make(tmp_path / name, tmp_path / f"{name}.{make.__name__}")

    for make in (zipped, tarred):
        assert (tmp_path / f"one.{make.__name__}").read_bytes() == (tmp_path / f"two.{make.__name__}").read_bytes()


def test_wheels_that_cannot_be_had_as_locked_are_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without network a person reads what to do, and nothing half stays behind."""
    (tmp_path / "lambda.lock").write_text("six==1.17.0 --hash=sha256:" + "0" * 64)
    monkeypatch.setenv("PIP_NO_INDEX", "1")

    with pytest.raises(SetUpError, match=r"lambda\.lock could not be fetched as locked: fix the network"):
        wheels("lambda", tmp_path / "tools", tmp_path)

    assert [each.name for each in (tmp_path / "tools/wheels").iterdir()] == [".lambda-3.11.lock"]


def test_a_wheel_with_an_install_step_is_refused(tmp_path: Path) -> None:
    """What unpacking alone would install wrongly is never packaged; programs are left out."""
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        archive.writestr("a.data/scripts/tool", "")
        archive.writestr("a/__init__.py", "")
    with zipfile.ZipFile(tmp_path / "b.whl", "w") as archive:
        archive.writestr("b.data/headers/b.h", "")

    unpack(tmp_path / "a.whl", tmp_path / "out", bool)
    with pytest.raises(SetUpError, match="install step"):
        unpack(tmp_path / "b.whl", tmp_path / "out", bool)

    assert [path.name for path in (tmp_path / "out").rglob("*") if path.is_file()] == ["__init__.py"]


def test_an_unknown_name_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Anyone who mistypes reads what there is."""
    assert __main__.main(["fun"]) == 2

    assert capsys.readouterr().err == "There is no fun to be packaged: functions, judge, pull, table, job.\n"


@pytest.mark.parametrize("bundle", [FUNCTIONS, JUDGE, PULL], ids=lambda bundle: bundle.name)
def test_a_bundle_fits_and_is_for_the_runtime_of_the_template(bundle: Bundle) -> None:
    """Unpacked, what Lambda gets has less than 250 MB; its compiled parts are for the Python that the template names."""
    names = {
        entry.filename: entry.file_size
        for wheel in wheels(bundle.name, TOOLS, python=LAMBDA_PYTHON)
        for entry in zipfile.ZipFile(wheel).infolist()
        if wanted(entry.filename, bundle.services, bundle.unused)
    }
    tags = {found[1] for name in names if (found := re.search(r"\.cpython-(\d+)-", name))}
    with_bytecode = sum(size * (2 if name.endswith(".py") else 1) for name, size in names.items())

    assert with_bytecode < UNPACKED_LIMIT
    assert tags == {LAMBDA_PYTHON.replace(".", "")}
    assert re.findall(r"Runtime: (\S+)", (ROOT / "template.yaml").read_text()) == [f"python{LAMBDA_PYTHON}"]


def test_the_pull_functions_bundle_is_the_functions_with_a_client_of_ssh(tmp_path: Path) -> None:
    """A bare interpreter imports every module of ours and finds asyncssh; it is the code of one function."""
    fill(tmp_path / "task", PULL, ROOT, TOOLS, RUNNING)
    code = "import os; os.environ['LAKEGATE_STACK'] = 'x'\n"
    code += f"{imports(tmp_path / 'task')}\nimport lakegate.features.pull.sftp_source as s; print(s.asyncssh.__file__)"

    assert (ROOT / "template.yaml").read_text().count("build/pull/pull.zip") == 1
    assert python("-c", code, PYTHONPATH=str(tmp_path / "task")).startswith(str(tmp_path))


def test_the_judges_bundle_judges(tmp_path: Path) -> None:
    """A bare interpreter answers an attempt with the bundle alone: of a table and of a text, and without Spark."""
    fill(tmp_path / "task", JUDGE, ROOT, TOOLS, RUNNING)
    drift = "import os; os.environ['LAKEGATE_STACK'] = 'x'; import functions.drift_handler"
    assert python("-c", f"{drift}\nprint('imported')", PYTHONPATH=str(tmp_path / "task")) == "imported\n"
    answers = []
    for name, storage in (("csv", Storage()), ("parquet", Storage(Format.PARQUET))):
        folder = tmp_path / name
        folder.mkdir()
        plan = replace(plan_of({"id": "integer", "name": "string"}, rule("unique", "id")), storage=storage)
        table = pa.table({"id": pa.array([1, 2, 2], pa.int64()), "name": pa.array(["a", "b", "c"], pa.string())})
        path = folder / "day.parquet"
        pq.write_table(table, path)
        data = path.read_bytes() if name == "parquet" else b"id,name\n1,a\n2,b\n2,c\n"
        request = request_for(plan, folder, data)
        (folder / "plan.json").write_bytes(plan.to_bytes())
        (folder / "request.json").write_bytes(request.to_bytes())
        answers.append(python("-c", JUDGED, str(folder), PYTHONPATH=str(tmp_path / "task")).split("\n")[:2])
        result = Result.from_bytes((folder / "out/result.json").read_bytes())
        answers.append(
            [str(result.rows), str(result.measurements[-1].accept and result.measurements[-1].accept.failing)]
        )

    assert answers == [["measured", "[]"], ["3", "2"]] * 2
