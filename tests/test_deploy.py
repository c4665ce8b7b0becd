"""What is in deploy/ is what its readers accept: schemas, settings, units, hashes."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from frith.server.settings import Settings, load_settings

ROOT = Path(__file__).resolve().parents[1]
DEPLOY = ROOT / "deploy"
OVERLAYS = ("base", "overlays/small", "overlays/production")


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, **more)


def rendered(folder):
    if shutil.which("kubectl") is None:
        pytest.skip("needs kubectl, which renders Kustomize's folders")
    done = run("kubectl", "kustomize", str(DEPLOY / "kubernetes" / folder))
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def test_the_compose_file_fits_its_schema():
    pytest.importorskip("check_jsonschema")
    command = (sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec")
    done = run(*command, str(DEPLOY / "compose.yaml"))
    assert done.returncode == 0, done.stdout


def test_the_compose_file_is_whole():
    """Secrets, volumes and networks that are used are declared; programs get commands that exist."""
    told = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    help_ = run(sys.executable, "-m", "frith", "--help").stdout
    for name, service in told["services"].items():
        assert set(service.get("secrets", ())) <= set(told["secrets"]), name
        assert set(service["networks"]) <= set(told["networks"]), name
        named = {v.split(":")[0] for v in service.get("volumes", ()) if v[0] not in "./$"}
        assert named <= set(told["volumes"]), name
        assert set(service.get("depends_on", ())) <= set(told["services"]), name
        if service["image"].startswith("frith"):
            assert re.search(rf"^\W*{service['command'][0]}\s", help_, re.MULTILINE), name
    inside = told["networks"]["inside"]["ipam"]["config"][0]["subnet"]
    assert told["x-frith"]["environment"]["FRITH_TRUSTED_PROXIES"] == inside


def test_settings_in_the_files_are_settings(tmp_path):
    told = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    environment = dict(told["x-frith"]["environment"])
    secret = tmp_path / "database"
    secret.write_text("postgresql://frith:p%40ss@postgres/frith\n")
    environment["FRITH_DATABASE_FILE"] = str(secret)
    settings = load_settings(None, environment)
    assert settings.database.endswith("@postgres/frith")
    assert settings.deliver_every == 600, "on, where records are of strangers"
    known = {f"FRITH_{name.upper()}" for name in Settings.model_fields}
    assert {name for name in environment if name.startswith("FRITH_")} <= known
    for toml in DEPLOY.rglob("frith.toml"):
        text = toml.read_text().replace("/run/secrets/frith/database", str(secret))
        (tmp_path / "frith.toml").write_text(text)
        assert load_settings(tmp_path / "frith.toml", {}).anchor_witness


@pytest.mark.parametrize("folder", OVERLAYS)
def test_what_kustomize_renders_fits_the_schemas_of_kubernetes(folder):
    validate = pytest.importorskip("kubernetes_validate")
    documents = rendered(folder)
    for document in documents:
        validate.validate(document, "1.32", strict=True)
    kinds = {(d["kind"], d["metadata"]["name"].partition("-")[0]) for d in documents}
    assert ("Deployment", "frith") in kinds


@pytest.mark.parametrize("folder", OVERLAYS)
def test_pods_have_no_rights_and_a_limit_on_memory(folder):
    deployments = [d for d in rendered(folder) if d["kind"] == "Deployment"]
    assert len(deployments) == (1 if folder.endswith("small") else 2)
    for deployment in deployments:
        pod = deployment["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"]
        mounted = {v["name"] for v in pod["volumes"]}
        for container in (*pod["containers"], *pod["initContainers"]):
            assert container["securityContext"]["readOnlyRootFilesystem"]
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["limits"]["memory"]
            assert {m["name"] for m in container["volumeMounts"]} <= mounted


def test_workers_are_kept_off_the_hosts_of_servers():
    """What `deliver_every` promises about time needs it."""
    (worker,) = [d for d in rendered("overlays/production")
                 if (d["kind"], d["metadata"]["name"]) == ("Deployment", "frith-worker")]  # fmt: skip
    (apart,) = worker["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert apart["labelSelector"]["matchLabels"]["app.kubernetes.io/component"] == "server"


@pytest.mark.parametrize("unit", sorted((DEPLOY / "systemd").iterdir()), ids=lambda p: p.name)
def test_systemd_accepts_the_units(unit, tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    copy = tmp_path / unit.name
    copy.write_text(unit.read_text().replace("/opt/frith/bin/frith", "/bin/true"))
    done = run("systemd-analyze", "verify", "--man=no", str(copy))
    assert (done.returncode, done.stderr.strip()) == (0, "")


def test_the_lock_meets_every_requirement_and_pins_every_package():
    done = run(sys.executable, str(DEPLOY / "lock.py"), "--check")
    assert done.returncode == 0, done.stdout
    lines = (DEPLOY / "requirements.txt").read_text().splitlines()
    packages = [line for line in lines if line[0] not in "# "]
    hashes = [line for line in lines if line.startswith("    --hash=sha256:")]
    assert len(packages) == len(hashes) > 50
    assert all(re.fullmatch(r"[a-z0-9-]+==\S+ \\", line) for line in packages)


def test_the_bill_of_materials_lists_what_the_lock_pins():
    bill = json.loads((DEPLOY / "sbom.cdx.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    listed = {c["name"]: (c["version"], c["hashes"][0]["content"]) for c in bill["components"]}
    text = (DEPLOY / "requirements.txt").read_text()
    pinned = re.findall(r"^([a-z0-9-]+)==(\S+) \\\n    --hash=sha256:([0-9a-f]{64})$", text, re.M)
    assert listed == {name: (version, digest) for name, version, digest in pinned}


def test_the_image_installs_what_the_lock_pins_and_runs_without_rights():
    lines = (ROOT / "Containerfile").read_text()
    assert "--require-hashes" in lines
    assert "-r deploy/requirements.txt" in lines
    assert "\nUSER 10001\n" in lines
    for copied in re.findall(r"^COPY (?!--from)(.*) \S+$", lines, re.MULTILINE):
        assert all((ROOT / path).exists() for path in copied.split())


def test_nginx_accepts_the_proxys_configuration(tmp_path):
    nginx = shutil.which("nginx")
    if nginx is None:
        pytest.skip("needs nginx")
    text = (DEPLOY / "nginx.conf").read_text()
    for path in ("/run/secrets", "/run/nginx.pid", "/var/cache/nginx"):
        text = text.replace(path, str(tmp_path / Path(path).name))
    text = text.replace("server server:8080", "server 127.0.0.1:8080")
    for folder in ("secrets", "nginx"):
        (tmp_path / folder).mkdir()
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=frith.test",
        "-keyout", str(tmp_path / "secrets" / "tls_key"),
        "-out", str(tmp_path / "secrets" / "tls_certificate"), check=True)  # fmt: skip
    (tmp_path / "nginx.conf").write_text(text)
    done = run(nginx, "-t", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf"))
    assert done.returncode == 0, done.stderr
