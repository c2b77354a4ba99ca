#!/usr/bin/python3
"""What docker/ and deploy/ hold, checked without running any of it: files parse, refer to what exists and keep the
promises of docs/deploy.md. The first argument is the folder of the built programs.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPOSE = ROOT / "deploy/compose"
BIN = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else None

SERVICE_KEYS = {"image", "build", "user", "read_only", "cap_drop", "security_opt", "volumes", "stop_grace_period",
                "restart", "healthcheck", "environment", "depends_on", "deploy", "command", "ports", "secrets"}


def load(path):
    return list(yaml.safe_load_all(path.read_text()))


def merged(*names):
    """Compose's merge, as far as these files use it: mappings are joined, anything else is replaced."""
    def join(a, b):
        if isinstance(a, dict) and isinstance(b, dict):
            return {key: join(a[key], b[key]) if key in a and key in b else a.get(key, b.get(key)) for key in {**a, **b}}
        return b
    whole = {}
    for name in names:
        whole = join(whole, load(COMPOSE / name)[0])
    return whole


class Stage:
    """A stage of the Dockerfile: its instructions, as (name, rest) with continued lines joined."""

    def __init__(self, base):
        self.base = base
        self.instructions = []

    def all(self, name):
        return [rest for instruction, rest in self.instructions if instruction == name]


def stages():
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "docker/Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    found = {}
    current = None
    for line in filter(None, map(str.strip, text.splitlines())):
        name, rest = line.split(None, 1)
        if name == "FROM":
            base, _, stage = rest.split()
            current = found.setdefault(stage, Stage(base))
        elif current:
            current.instructions.append((name, rest))
    return found


def worker_arguments():
    """Every list of arguments that is given to the worker, with the file it stands in."""
    for name in ("compose.tls.yaml",):
        yield name, load(COMPOSE / name)[0]["services"]["worker"]["command"]
    for document in load(ROOT / "deploy/kubernetes/remora-worker.yaml"):
        if document["kind"] == "Deployment":
            yield "remora-worker.yaml", document["spec"]["template"]["spec"]["containers"][0]["args"]
    for stage in ("worker-cpu", "worker-cuda"):
        yield f"Dockerfile {stage}", yaml.safe_load(stages()[stage].all("CMD")[0])


class Compose(unittest.TestCase):
    FILES = [("compose.yaml",), ("compose.yaml", "compose.gpu.yaml"), ("compose.yaml", "compose.tls.yaml"),
             ("compose.yaml", "compose.gpu.yaml", "compose.tls.yaml")]

    def test_keys_are_composes_and_references_resolve(self):
        for names in self.FILES:
            whole = merged(*names)
            self.assertLessEqual(set(whole), {"name", "services", "volumes", "secrets"}, names)
            self.assertEqual(set(whole["services"]), {"worker", "client"}, names)
            for name, service in whole["services"].items():
                with self.subTest(files=names, service=name):
                    self.assertLessEqual(set(service), SERVICE_KEYS)
                    self.assertTrue((COMPOSE / service["build"]["context"] / service["build"]["dockerfile"]).is_file())
                    self.assertIn(service["build"]["target"], stages())
                    for volume in service.get("volumes", []):
                        self.assertIn(volume.split(":")[0], whole["volumes"])
                    for secret in service.get("secrets", []):
                        self.assertIn(secret, whole["secrets"])
                    for other, how in service.get("depends_on", {}).items():
                        self.assertIn(other, whole["services"])
                        self.assertEqual(how["condition"], "service_healthy")
                        self.assertIn("healthcheck", whole["services"][other])

    def test_services_are_unprivileged_and_read_only(self):
        for names in self.FILES:
            for name, service in merged(*names)["services"].items():
                with self.subTest(files=names, service=name):
                    self.assertIs(service["read_only"], True)
                    self.assertRegex(service["user"], r"^[1-9]\d*:[1-9]\d*$")
                    self.assertEqual(service["cap_drop"], ["ALL"])
                    self.assertIn("no-new-privileges:true", service["security_opt"])

    def test_only_the_gpu_file_reserves_gpus(self):
        self.assertNotIn("deploy", merged("compose.yaml")["services"]["worker"])
        worker = merged("compose.yaml", "compose.gpu.yaml")["services"]["worker"]
        device, = worker["deploy"]["resources"]["reservations"]["devices"]
        self.assertEqual(device["driver"], "nvidia")
        self.assertIn("gpu", device["capabilities"])
        self.assertEqual(worker["build"]["target"], "worker-cuda")

    def test_secrets_are_files_that_are_not_in_the_checkout(self):
        for secret in merged("compose.yaml", "compose.tls.yaml")["secrets"].values():
            self.assertTrue(secret["file"].startswith("./secrets/"))
        ignored = (ROOT / ".gitignore").read_text().splitlines()
        self.assertIn("/deploy/compose/secrets/", ignored)
        self.assertIn("deploy/compose/secrets", (ROOT / ".dockerignore").read_text().splitlines())


class Kubernetes(unittest.TestCase):
    def setUp(self):
        documents = {document["kind"]: document for document in load(ROOT / "deploy/kubernetes/remora-worker.yaml")}
        self.assertEqual(set(documents), {"Service", "Deployment"})
        self.service, self.deployment = documents["Service"], documents["Deployment"]
        self.pod = self.deployment["spec"]["template"]
        self.container, = self.pod["spec"]["containers"]

    def test_the_service_is_headless_and_selects_the_pods(self):
        self.assertEqual((self.service["apiVersion"], self.deployment["apiVersion"]), ("v1", "apps/v1"))
        self.assertEqual(self.service["spec"]["clusterIP"], "None")
        labels = self.pod["metadata"]["labels"]
        self.assertEqual(self.service["spec"]["selector"], labels)
        self.assertEqual(self.deployment["spec"]["selector"]["matchLabels"], labels)
        ports = {port["name"]: port["containerPort"] for port in self.container["ports"]}
        for port in self.service["spec"]["ports"]:
            self.assertEqual(ports[port["targetPort"]], port["port"])

    def test_probes_ask_for_health(self):
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            self.assertEqual(self.container[probe]["exec"]["command"], ["/usr/bin/remora", "ping", "--health"], probe)
        self.assertIn({"name": "REMORA_WORKERS", "value": "localhost:7070"}, self.container["env"])

    def test_the_pod_is_unprivileged_and_has_a_gpu(self):
        self.assertTrue(self.pod["spec"]["securityContext"]["runAsNonRoot"])
        context = self.container["securityContext"]
        self.assertTrue(context["readOnlyRootFilesystem"])
        self.assertFalse(context["allowPrivilegeEscalation"])
        self.assertEqual(context["capabilities"]["drop"], ["ALL"])
        self.assertEqual(self.container["resources"]["limits"]["nvidia.com/gpu"], 1)

    def test_files_that_the_worker_reads_are_mounted(self):
        volumes = {volume["name"]: volume for volume in self.pod["spec"]["volumes"]}
        mount, = self.container["volumeMounts"]
        # The worker takes secrets that belong to root if only its own group can read them besides.
        self.assertEqual(volumes[mount["name"]]["secret"]["defaultMode"], 0o440)
        self.assertEqual(self.pod["spec"]["securityContext"]["fsGroup"], 65532)
        paths = [argument for argument in self.container["args"] if argument.startswith("/")]
        self.assertGreater(len(paths), 2)
        for path in paths:
            self.assertTrue(path.startswith(mount["mountPath"] + "/"), path)


class Images(unittest.TestCase):
    def test_stages_run_as_a_number_that_is_not_root(self):
        for name in ("worker-cpu", "worker-cuda", "client"):
            self.assertEqual(stages()[name].all("USER"), ["65532:65532"], name)
            labels = " ".join(stages()[name].all("LABEL"))
            for label in ("title", "description", "version", "revision", "licenses"):
                self.assertIn(f"org.opencontainers.image.{label}=", labels, name)

    def test_bases_are_arguments_with_defaults(self):
        text = (ROOT / "docker/Dockerfile").read_text()
        for name, argument in (("build", "BUILD_BASE"), ("worker-cpu", "CPU_BASE"), ("worker-cuda", "CUDA_BASE"),
                               ("client", "CPU_BASE")):
            self.assertEqual(stages()[name].base, "${" + argument + "}")
            self.assertRegex(text, rf"(?m)^ARG {argument}=\S+:\S+$")
        self.assertRegex(text, r"(?m)^ARG CPU_BASE=debian:12-slim$")

    def test_workers_have_a_health_check_and_drain_at_sigterm(self):
        for name in ("worker-cpu", "worker-cuda"):
            stage = stages()[name]
            self.assertRegex(stage.all("HEALTHCHECK")[0], r'CMD \["/usr/bin/remora", "ping", "--health"\]$')
            self.assertEqual(stage.all("STOPSIGNAL"), ["SIGTERM"])
            self.assertEqual(yaml.safe_load(stage.all("ENTRYPOINT")[0]), ["/usr/bin/remora", "worker"])
        environment = " ".join(stages()["worker-cuda"].all("ENV"))
        self.assertIn("NVIDIA_DRIVER_CAPABILITIES=compute,utility", environment)

    def test_nothing_secret_is_copied(self):
        for name, stage in stages().items():
            if name == "build":
                continue
            for rest in stage.all("COPY"):
                self.assertTrue(rest.startswith("--from=build"), rest)
            self.assertEqual(stage.all("RUN"), [], name)

    @unittest.skipUnless(BIN, "no folder of programs given")
    def test_the_worker_knows_every_option_it_is_given(self):
        usage = subprocess.run([BIN / "remorad", "--help"], capture_output=True, text=True, check=True).stdout
        known = set(re.findall(r"--[a-z-]+", usage))
        if "--tls-cert" not in known:
            self.skipTest("this worker has no TLS, which the files for other machines need")
        for where, arguments in worker_arguments():
            for argument in arguments:
                if argument.startswith("--"):
                    self.assertIn(argument, known, where)


class Services(unittest.TestCase):
    def test_the_systemd_unit_is_hardened_and_verifies(self):
        text = (ROOT / "deploy/systemd/remorad.service.in").read_text()
        for line in ("User=remora", "ProtectSystem=strict", "NoNewPrivileges=yes", "RuntimeDirectory=remora",
                     "ProtectHome=yes", "CapabilityBoundingSet="):
            self.assertIn(f"\n{line}\n", text)
        self.assertIn("remorad --config @REMORA_SYSCONF_DIR@/remora/remorad.toml", text)
        options = tomllib.loads((ROOT / "deploy/remorad.toml").read_text())
        self.assertEqual(options, {"listen": "unix:/run/remora/remora.sock"})
        analyze = shutil.which("systemd-analyze")
        if not analyze:
            return
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        unit = folder / "remorad.service"
        unit.write_text(text.replace("@REMORA_BIN_DIR@", "/bin").replace("/bin/remorad", "/bin/true")
                        .replace("@REMORA_SYSCONF_DIR@", "/etc").replace("@REMORA_DOC_DIR@", "/usr/share/doc"))
        done = subprocess.run([analyze, "verify", "--man=no", unit], capture_output=True, text=True)
        complaints = [line for line in done.stderr.splitlines() if "remorad.service" in line]
        self.assertEqual(complaints, [])

    def test_scripts_are_shell(self):
        for script in ["deploy/slurm/remora-worker.sbatch", "tools/test_deb.sh", "tools/test_images.sh",
                       "tools/debian_base.sh", "deploy/debian/worker/postinst", "deploy/debian/worker/prerm",
                       "deploy/debian/worker/postrm"]:
            text = (ROOT / script).read_text()
            shell = text.splitlines()[0].removeprefix("#!")
            subprocess.run([shell, "-n", ROOT / script], check=True)
        slurm = (ROOT / "deploy/slurm/remora-worker.sbatch").read_text()
        self.assertRegex(slurm, r"(?m)^#SBATCH --signal=B:TERM@\d+$")


if __name__ == "__main__":
    unittest.main()
