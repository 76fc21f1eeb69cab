# Lakegate: every command of the project. `make help` lists them from the comments behind two hashes.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
SETUP := infra/setup
LOCAL_EMR := integrations/local_emr
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
# set-up touches nothing outside the clone
export PIP_CACHE_DIR := $(CURDIR)/.cache/pip
# the tests start hundreds of Python processes: without bytecode files each of them compiles all that it imports
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup quick test coverage spark lint format nightly mutation simulate bench sample-data published-schemas wrappers docs lock clean

help: ## List the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

# parts of the set-up that do not need each other run at once; a make that was started by another one shares its processes
AT_ONCE = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j3)

setup: schemas ## Make .venv/ (with .venv/bin/lakegate) and fetch the official schemas; no Java and no jars
	@[ "$(MAKECMDGOALS)" != setup ] || echo "Ready. Next: make sample-data, then $(BIN)/lakegate check --contract contracts/examples/weather.dcm.yaml samples/weather-dirty.csv; or make demo: the whole stack on this machine"

.PHONY: spark-tools schemas
spark-tools: .venv/ready ## What Spark needs, in .tools/: pinned jars, an archive of their classes, Java 17 where there is none
	@$(BIN)/python -m infra.setup.tools
	@$(BIN)/python -m infra.setup.classes

schemas: .venv/ready
	@$(BIN)/python -m infra.setup.schemas

environment-%: .venv/ready
	@$(BIN)/python -m infra.setup.environments $*

PROGRAMS := (spark or tools or service or simulation or e2e)

# a run gets its folders, because collecting all tests takes ten seconds of each process
WITHOUT_PROGRAMS := $(addprefix tests/,agreement bench contract engine golden infra integrations mutation security unit)
WITH_PROGRAMS := $(addprefix tests/,agreement infra integrations sam simulation spark)
COVERAGE := .cache/coverage.json

quick: setup lint ## The inner loop: lint, types and the tests that need no JVM, no other program and no AWS, in about a minute
	$(BIN)/python -m pytest -q -m "not ($(PROGRAMS) or slow or full)" -n 2 $(addprefix tests/,bench contract infra integrations unit)

test: .venv/ready ## The whole gate
	@$(MAKE) $(AT_ONCE) stack-tools tools lint
	$(BIN)/python -m pytest -q -m "not ($(PROGRAMS) or full)" -n 2 $(WITHOUT_PROGRAMS)
	$(BIN)/python -m tests.simulation 2000 --pairs 20 --planted --known --seed 22 # one seed, so that the gate repeats; `make nightly` draws others
	$(BIN)/python -m pytest -q -m "$(PROGRAMS) and not (e2e or full)" -n 2 --dist loadgroup --no-loadscope-reorder $(WITH_PROGRAMS)
	$(BIN)/python -m pytest -q -m "e2e and not full" -n 2 --dist loadgroup --no-loadscope-reorder tests/e2e

coverage: setup ## At least 97 % of the lines are run by tests without programs: half as long again as these tests
	$(BIN)/python -m slipcover --json --out $(COVERAGE) --dont-wrap-pytest -m pytest -q -m "not ($(PROGRAMS) or full)" -n 2 $(WITHOUT_PROGRAMS)
	$(BIN)/python -m slipcover --merge $(COVERAGE) --out $(COVERAGE) --skip-covered --fail-under 97

spark: setup spark-tools ## Only the tests that need Spark
	$(BIN)/python -m pytest -q -m spark tests/spark tests/infra tests/$(LOCAL_EMR)

lint: .venv/ready ## Style and strict types
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/mypy --no-error-summary

format: .venv/ready ## Put the code into the one format
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --quiet --fix .

ORDER ?= $(shell date +%Y%m%d)
nightly: tools stack-tools ## The full numbers of every property
	@$(BIN)/python -m infra.setup.environments great-expectations browser schemathesis openapi-clients cdk airflow dagster duckdb-iceberg postgres
	@$(BIN)/python -m infra.setup.browser
	LAKEGATE_FULL=1 $(BIN)/python -m pytest -q --random-order --random-order-seed $(ORDER)
	@$(MAKE) coverage
	$(BIN)/python -m tests.bench.drafts
	$(BIN)/python -m tests.agreement 20000
	$(BIN)/python -m tests.simulation 1000000 --pairs 1 --planted
	$(MAKE) mutation POSITIONS=--all

POSITIONS ?= --positions 60
SEED ?= 7
mutation: setup ## Do the tests notice changes of the code? 60 positions per package: make mutation [POSITIONS=--all] [SEED=11]
	@$(BIN)/python -m infra.setup.environments mutation
	$(BIN)/python -m tests.mutation $(POSITIONS) --seed $(SEED)

N ?= 100000
simulate: setup ## Play N random schedules of crashes, lost events and overtaking workers against the protocol: make simulate N=1000000
	$(BIN)/python -m tests.simulation $(N)

sample-data: setup ## Write weather and orders files to samples/: clean, in between, dirty
	$(BIN)/python -m infra.samples samples

BIG ?=
bench: setup spark-tools ## One table: check natively and by Spark, a Spark program by hand, datacontract-cli (BIG=1: with 2.1 GB)
	@$(BIN)/python -m infra.setup.environments datacontract ministack sam
	@$(BIN)/python -m tests.bench $(if $(BIG),--big)

published-schemas: .venv/ready ## Write the JSON Schemas of Lakegate's own formats to lakegate/schemas, from their dataclasses
	$(BIN)/python -m infra.site.published_schemas
	$(BIN)/python -m infra.site.command_schemas

wrappers: .venv/ready ## Write what the Terraform module and the CDK construct have of template.yaml into infra/terraform and infra/cdk; a release has them
	$(BIN)/python -m infra.packaging.wrappers

docs: .venv/ready ## Build the documentation site into build/site; a broken link ends in an error
	@$(BIN)/python -m infra.setup.environments docs
	@NO_MKDOCS_2_WARNING=1 PYTHONPATH=$(CURDIR) .tools/docs/bin/python -P -m mkdocs build --quiet --strict
	@echo "open build/site/index.html" >&2

lock: ## Resolve the pins of infra/setup/*.in again
	$(PYTHON) -m venv .tools/lock
	.tools/lock/bin/pip install --quiet pip-tools==7.6.2
	for name in boot dev jdk job judge lambda pull table image sam checkov ministack great-expectations datacontract docs mutation sbom browser schemathesis openapi-clients cdk airflow dagster duckdb-iceberg postgres; do .tools/lock/bin/pip-compile --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras \
	  --no-header --no-emit-index-url --no-emit-trusted-host --no-emit-find-links -o $(SETUP)/$$name.lock $(SETUP)/$$name.in; done

clean: ## Remove everything that set-up and tests wrote
	rm -rf .venv .tools .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis samples build dist *.egg-info integrations/*/*.egg-info

OR_FAIL := || { echo "The Python packages could not be installed: check the network connection and run make setup again" >&2; exit 2; }

.venv/ready: $(SETUP)/boot.lock $(SETUP)/dev.lock pyproject.toml $(LOCAL_EMR)/pyproject.toml
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || \
	  { echo "Lakegate needs Python 3.11 (EMR 7.14's): install it, or run make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@echo "setting up .venv (about a minute and a half the first time)" >&2
	@"$(PYTHON)" -m venv .venv
	@$(BIN)/pip install --quiet --require-hashes -r $(SETUP)/boot.lock $(OR_FAIL)
	@$(BIN)/pip install --quiet --no-compile --require-hashes --no-build-isolation -r $(SETUP)/dev.lock $(OR_FAIL)
	@PYTHONWARNINGS=ignore $(BIN)/pip install --quiet --no-deps --no-build-isolation --editable . --editable $(LOCAL_EMR) $(OR_FAIL)
	@touch $@

# ---- what is deployed ----------------------------------------------------------------------------------------------------
.PHONY: tools package release image template test-docker
TOOL := .tools/sam/bin
export SAM_CLI_TELEMETRY := 0

tools: environment-sam environment-checkov environment-sbom ## Install SAM, cfn-lint, checkov and cyclonedx-py into .tools/, each with its own pins

package: setup spark-tools tools ## Make the functions' bundles and the job's release in build/, and the built template in .aws-sam/
	@$(BIN)/python -m infra.packaging
	@$(TOOL)/sam build >/dev/null
	@echo "deploy it with: $(BIN)/lakegate stack deploy (docs/deploy.md)" >&2

release: setup spark-tools tools ## Make everything of this version in dist/: wheel, bundles, SBOM, digests, notes (docs/release.md)
	@$(BIN)/python -m infra.packaging.release

image: setup ## Make a container image of the command, build/lakegate-image.tar, on Debian 12; no container engine is needed (docs/install.md)
	@$(BIN)/python -m infra.packaging.image

template: tools ## Read template.yaml for mistakes: SAM, cfn-lint with its serverless rules, checkov
	$(TOOL)/sam validate
	$(TOOL)/cfn-lint
	.tools/checkov/bin/checkov --config-file .checkov.yaml

test-docker: package ## The real `sam local`, in containers of an image that is built here (needs a container engine)
	LAKEGATE_DOCKER=1 $(BIN)/python -m pytest -q tests/sam/test_docker.py tests/infra/packaging/test_image.py

# ---- the stack on this machine -------------------------------------------------------------------------------------------
.PHONY: stack-tools demo smoke e2e

stack-tools: setup spark-tools environment-ministack environment-sam ## Install Java, jars, the embedded AWS and SAM into .tools/

demo: stack-tools ## The whole stack on this machine: eleven deliveries through the real template.yaml, each with its verdict
	@$(BIN)/lakegate demo

STACK ?= lakegate
smoke: setup ## The smoke test of a deployed stack, at most ten minutes: make smoke STACK=lakegate (LOCAL=1: of the local stack)
	@$(BIN)/lakegate stack smoke --stack $(STACK) $(if $(LOCAL),--local)

e2e: stack-tools ## Only the tests of the whole stack on the embedded AWS, with real Spark
	$(BIN)/python -m pytest -q tests/e2e
