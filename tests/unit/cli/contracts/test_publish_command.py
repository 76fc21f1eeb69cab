"""`lakegate publish`, `contracts`, `show` and `route`: the registry, as people see it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lakegate.base.extension_points import ROOT
from lakegate.gate.registry.registry_rows import Publication, Route
from tests.published_schemas import validate
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LANDING

DEPLOYED = Publication("shop-of-another", "1.0.0", "active", "contracts/x", (), plans=(("orders", "d" * 64),))
UNCONFIRMED = "Nothing was changed: confirm it with --yes"


def test_a_contract_is_published_and_routed(lakegate: Lakegate) -> None:
    """Publish, route, list: the version, its line, and the prefix that delivers to it."""
    published = lakegate.ok("publish", lakegate.contract())
    routed = lakegate.ok("route", "add", "orders", "shop")

    assert published.splitlines()[0] == "Published shop 1.0.0 (active)."
    assert "lakegate route add PREFIX/ shop" in published
    assert routed == "Added: orders/ → shop/orders_v1 1.0.0 (active)\n"
    assert lakegate.ok("contracts").splitlines()[1].split() == [
        "Shop",
        "1.0.0",
        "active",
        "orders_v1",
        "orders/",
        "shop",
    ]
    assert lakegate.ok("route", "list").splitlines()[1].split() == ["orders/", "shop/orders_v1", "1.0.0", "active"]


def test_publishing_twice_is_publishing_once(lakegate: Lakegate) -> None:
    """The same document again changes nothing and is not an error."""
    first, second = (lakegate.json("publish", lakegate.contract()) for _ in range(2))

    assert first == second
    assert len(lakegate.json("contracts")["contracts"]) == 1


def test_a_new_version_takes_over_the_routes(lakegate: Lakegate) -> None:
    """The command lists the prefixes that deliver to it from now on."""
    lakegate.routed()
    result = lakegate.ok("publish", lakegate.contract("1.1.0"))

    assert "orders/ → shop/orders_v1 1.1.0" in result
    assert [route["version"] for route in lakegate.json("route", "list")["routes"]] == ["1.1.0"]


def test_a_contract_is_shown_as_deliveries_are_judged_by_it(lakegate: Lakegate) -> None:
    """Resolved: each dataset with the types of its fields, and its rules in words; with --json, its plan."""
    lakegate.ok("publish", lakegate.contract())
    shown = lakegate.ok("show", "shop", "--resolved").splitlines()
    machine = lakegate.json("show", "shop", "--resolved")

    assert shown[:3] == ["orders: 2 fields", "  id: string", "  amount: integer"]
    assert any(line.split()[:2] == ["id:required:1", "id"] for line in shown)
    assert machine["resolved"]["orders"]["contract"] == "shop"
    assert "text" not in machine


def test_a_contract_is_shown_as_a_table_of_its_columns(lakegate: Lakegate) -> None:
    """What a consumer asks first: names, types, what is always there, and what it means."""
    about = "name: Shop\nteam: {name: Sales}\ndescription: {purpose: What was ordered.}\n"
    lakegate.ok("publish", lakegate.contract(**{"name: Shop\n": about}))
    first, purpose, *shown = lakegate.ok("show", "shop", "--columns").splitlines()

    assert (first, purpose) == ("Shop 1.0.0, owner: Sales", "What was ordered.")
    assert shown[0] == "orders: 2 columns"
    assert shown[1].split() == ["column", "type", "required", "key", "classification", "description"]
    assert [each.split() for each in shown[2:]] == [["id", "string", "yes"], ["amount", "integer", "public"]]
    assert lakegate.json("show", "shop", "--columns")["columns"]["orders"][0] == {
        "column": "id",
        "type": "string",
        "required": True,
        "key": False,
        "classification": None,
        "description": None,
    }


def labelled(lakegate: Lakegate, name: str, labels: str, version: str = "1.0.0", status: str = "active") -> None:
    path = lakegate.contract(version, status, **{"id: shop": f"id: {name}", "name: Shop": f"name: Shop\n{labels}"})
    lakegate.ok("publish", path)


def test_contracts_are_found_by_their_labels(lakegate: Lakegate) -> None:
    """Owner, domain, tag and status; several values of an option are alternatives, several options hold together."""
    labelled(lakegate, "a", "team: {name: Sales}\ntags: [eu, hourly]\ndomain: trade")
    labelled(lakegate, "b", "team: {name: Sales}\ntags: [us]", status="deprecated")
    labelled(lakegate, "c", "domain: weather")

    def found(*words: str) -> list[str]:
        return [each["contract"] for each in lakegate.json("contracts", *words)["contracts"]]

    assert found() == ["a", "b", "c"]
    assert found("--owner", "sales") == ["a", "b"]
    assert found("--tag", "EU", "--tag", "us") == ["a", "b"]
    assert found("--owner", "sales", "--status", "Active") == ["a"]
    assert found("--domain", "trade", "--domain", "weather") == ["a", "c"]
    assert lakegate.ok("contracts", "--owner", "nobody") == "No published contract has these labels and this status.\n"
    assert lakegate.ok("contracts", "--domain", "weather").splitlines()[1].split() == (
        ["Shop", "1.0.0", "active", "orders_v1", "c"]
    )
    assert lakegate.ok("contracts").splitlines()[0].split() == (
        ["name", "owner", "version", "status", "line", "delivered", "from", "contract"]
    )
    assert lakegate.json("show", "a")["labels"] == {
        "name": ["Shop"],
        "owner": ["Sales"],
        "domain": ["trade"],
        "tag": ["eu", "hourly"],
        "producer": [],
        "consumer": [],
    }


def test_producer_and_consumer_of_dcm_are_labels(lakegate: Lakegate) -> None:
    """The contract of the thesis is found by both."""
    lakegate.ok("publish", str(ROOT / "contracts/examples/weather.dcm.yaml"))
    by = ("--producer", "inmet"), ("--consumer", "weather domain"), ("--consumer", "nobody")

    assert [len(lakegate.json("contracts", *words)["contracts"]) for words in by] == [1, 1, 0]


TEXT = {"integer, classification": "string, classification"}


def test_a_number_that_is_too_low_is_refused_with_the_changes_responsible(lakegate: Lakegate) -> None:
    """A column of another type needs a new major number, which is named; nothing is published."""
    lakegate.ok("publish", lakegate.contract())
    path = lakegate.contract("1.2.0", **TEXT)
    result, machine = lakegate("publish", path), lakegate("publish", path, "--json")

    assert (result.exit_code, result.stdout.splitlines()) == (
        1,
        [
            "major  orders.amount  type-changed: integer → string",
            "       affects consumer and producer. The values are of another type.",
            "The changes need MAJOR, and 1.0.0 → 1.2.0 is not: use 2.0.0 or higher.",
        ],
    )
    answer = json.loads(machine.stdout)
    validate("diff", answer["comparison"])
    assert (machine.exit_code, answer["valid"], answer["comparison"]["sufficient"]) == (1, False, "2.0.0")
    assert [each["version"] for each in lakegate.json("contracts")["contracts"]] == ["1.0.0"]
    assert lakegate.json("publish", lakegate.contract("2.0.0", **TEXT))["version"] == "2.0.0"


def test_a_dry_run_publishes_nothing(lakegate: Lakegate) -> None:
    """For pull requests: the changes, what would have to be confirmed, and whether the version is new."""
    lakegate.ok("publish", lakegate.contract())
    path = lakegate.contract("1.0.1", status="draft", Shop="Market")

    assert lakegate.ok("publish", path, "--dry-run").splitlines() == [
        "patch  name  metadata: Shop → Market",
        "       affects nobody. No delivery is judged otherwise.",
        "patch  status  status: active → draft",
        "       affects nobody. No delivery is judged otherwise by the status that a document declares.",
        "The changes need PATCH, and 1.0.0 → 1.0.1 is enough.",
        "To confirm: the document's status is `draft`: publishing makes shop 1.0.1 active.",
        "shop 1.0.1 could be published. Nothing was written.",
    ]
    assert lakegate.json("publish", path, "--dry-run")["comparison"]["ok"] is True
    assert [each["version"] for each in lakegate.json("contracts")["contracts"]] == ["1.0.0"]


def test_a_dry_run_of_a_first_version_and_of_a_published_one(lakegate: Lakegate) -> None:
    """Neither is compared with anything."""
    first = lakegate.json("publish", lakegate.contract(), "--dry-run")
    lakegate.ok("publish", lakegate.contract())

    assert first == {"valid": True, "new": True, "confirm": [], "comparison": None, "warnings": [], "children": []}
    assert lakegate.ok("publish", lakegate.contract(), "--dry-run") == (
        "shop 1.0.0 is published already. Nothing was written.\n"
    )


def test_a_dry_run_refuses_a_number_that_is_too_low(lakegate: Lakegate) -> None:
    """As publishing would: with the exit code 1."""
    lakegate.ok("publish", lakegate.contract())

    assert lakegate("publish", lakegate.contract("1.2.0", **TEXT), "--dry-run").exit_code == 1


def test_a_changed_document_needs_a_new_number(lakegate: Lakegate) -> None:
    """What was published under a number stays; the error explains what to do."""
    lakegate.ok("publish", lakegate.contract())
    result = lakegate("publish", lakegate.contract(Shop="Market"))

    assert (result.exit_code, str(result.exception)) == (
        1,
        "this version is published with another content: give the changed one a new number",
    )


def test_a_changed_draft_is_told_how_to_go_on(lakegate: Lakegate) -> None:
    """The number of a draft is taken; what was published can be put in force, and the message says how."""
    published = lakegate.ok("publish", lakegate.contract(status="draft"))
    changed = lakegate("publish", lakegate.contract())
    lakegate.ok("reactivate", "shop/orders_v1")
    again = lakegate("publish", lakegate.contract())

    way_out = "  In force: lakegate reactivate shop/orders_v1, or a new number without status: draft."
    assert published.splitlines()[-1] == way_out
    taken = "this version is published with another content: give the changed one a new number"
    assert str(changed.exception) == (
        f"{taken}. 1.0.0 is a draft: `lakegate reactivate shop/orders_v1` puts it in force as it was published"
    )
    assert str(again.exception) == taken


def test_a_refused_document_is_shown_with_its_lines(lakegate: Lakegate) -> None:
    """Publishing lints first, in the words of `lint`; nothing is published."""
    path = lakegate.contract(integer="whole")
    result = lakegate("publish", path)
    machine = lakegate("publish", path, "--json")

    assert (result.exit_code, machine.exit_code) == (1, 1)
    assert f"{path}: refused (1 error, " in result.stdout
    assert json.loads(machine.stdout)["valid"] is False
    assert lakegate.json("contracts") == {"contracts": []}


def test_a_rule_that_cannot_be_compiled_refuses_the_document(lakegate: Lakegate) -> None:
    """What only the compiler finds out is shown alike."""
    path = lakegate.contract(**{"required: true}": "logicalTypeOptions: {pattern: '(a)\\1'}}"})
    result = lakegate("publish", path)

    assert result.exit_code == 1
    assert "refused" in result.stdout


DBT = "quality: [{type: custom, engine: dbt, implementation: x}]"


SQL = "quality: [{type: sql, query: 'SELECT max(ntile(4)) FROM {model}', mustBe: 1}]"
LIBRARY = "quality: [{type: custom, engine: greatExpectations, implementation: {type: expect_column_to_exist_once}}]"
SCHEDULED = "quality: [{type: custom, engine: dbt, implementation: x, schedule: '0 5 * * *', scheduler: cron}]"


def with_a_rule_of_dbt(lakegate: Lakegate, version: str = "1.0.0", rule: str = DBT) -> str:
    """A contract whose one rule of another engine is skipped in every delivery."""
    return lakegate.contract(version, **{"    logicalType: object": f"    logicalType: object\n    {rule}"})


@pytest.mark.parametrize("rule", [DBT, SQL, LIBRARY, SCHEDULED])
def test_rules_that_can_never_be_measured_refuse_the_document(lakegate: Lakegate, rule: str) -> None:
    """A rule that no delivery is judged by is not a promise: it is shown with its line, and nothing is published."""
    path = with_a_rule_of_dbt(lakegate, rule=rule)
    result, machine = lakegate("publish", path), lakegate("publish", path, "--json")

    assert (result.exit_code, machine.exit_code) == (1, 1)
    assert f"{path}:10: error not-measured\n" in result.stdout
    assert result.stdout.splitlines()[-1] == f"{path}: refused (1 error, 0 warnings)"
    assert (
        result.stderr
        == machine.stderr
        == "lakegate: 1 rule can never be measured: correct it, or give --allow-unmeasured\n"
    )
    assert [each["code"] for each in json.loads(machine.stdout)["errors"]] == ["not-measured"]
    assert lakegate.json("contracts") == {"contracts": []}


def test_a_version_remembers_how_many_rules_were_allowed_to_go_unmeasured(lakegate: Lakegate) -> None:
    """Given --allow-unmeasured the version is published, and every list shows it, also after a route was added."""
    published = lakegate.ok("publish", with_a_rule_of_dbt(lakegate), "--allow-unmeasured")
    lakegate.ok("publish", lakegate.contract("2.0.0"), "--allow-unmeasured")
    lakegate.ok("route", "add", "orders/", "shop")
    listed = lakegate.json("contracts")["contracts"]

    assert published.splitlines()[0] == "Published shop 1.0.0 (active). 1 rule can never be measured."
    assert [(each["version"], each["unmeasured_rules"]) for each in listed] == [("1.0.0", 1), ("2.0.0", 0)]
    assert lakegate.json("show", "shop", "1.0.0")["unmeasured_rules"] == 1


def test_a_document_is_read_from_standard_input(lakegate: Lakegate) -> None:
    """`-` publishes what is piped in."""
    with open(lakegate.contract()) as file:  # noqa: PTH123 - a text of this test's own
        result = lakegate("publish", "-", text=file.read())

    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("draft", "active"),
        ("Proposed", "active"),
        ("in development", "active"),
        ("live", "active"),
        ("Active", "active"),
        ("Deprecated", "deprecated"),
        ("sunset", "sunset"),
        ("RETIRED", "retired"),
    ],
)
def test_a_version_has_the_status_that_the_table_gives_its_document(
    lakegate: Lakegate, written: str, kept: str
) -> None:
    """What is not on its way out becomes active by being published; upper and lower case are the same."""
    assert lakegate.json("publish", lakegate.contract(status=written), "--yes")["status"] == kept


@pytest.mark.parametrize("status", ["draft", "Proposed", "in development", "live"])
def test_what_is_not_active_yet_is_published_only_when_confirmed(lakegate: Lakegate, status: str) -> None:
    """In a line that is active one sentence names the effect, and nothing is written without --yes; then it is."""
    lakegate.ok("publish", lakegate.contract())
    path = lakegate.contract("1.0.1", status=status)
    refused = lakegate("publish", path)
    before = lakegate.json("contracts")["contracts"]
    confirmed = lakegate("publish", path, "--yes")

    assert (str(refused.exception), refused.stdout) == (
        f"the document's status is `{status}`: publishing makes shop 1.0.1 active. {UNCONFIRMED}",
        "",
    )
    assert [each["version"] for each in before] == ["1.0.0"]
    assert confirmed.stdout.splitlines()[0] == "Published shop 1.0.1 (active)."


@pytest.mark.parametrize("status", ["draft", "Proposed", "in development"])
def test_a_line_that_begins_with_a_draft_is_one(lakegate: Lakegate, status: str) -> None:
    """Nothing is put in force, so that nothing has to be confirmed; twice is once, and so is another draft of the line."""
    texts = [lakegate.ok("publish", lakegate.contract(status=status)).splitlines() for _ in range(2)]
    again = lakegate.json("publish", lakegate.contract("1.0.1", status=status, Shop="Market"))

    assert texts[0] == texts[1]
    assert (
        "  shop/orders_v1 is a draft: until it is active, deliveries are refused or, with mode: observe, only observed."
    ) in texts[0]
    assert again["drafts"] == ["shop/orders_v1"]


def test_what_lint_warns_of_is_shown_when_a_document_is_published(lakegate: Lakegate, tmp_path: Path) -> None:
    """As `lint` shows it, and with --json in the answer; a key that resembles a known one is confirmed."""
    path = tmp_path / "warned.yaml"
    fields = "{n: {type: long, zzz: 1}}"
    head = "dataContractSpecification: 1.2.1\nid: warned\ninfo: {title: t, version: 1.0.0, status: active}\n"
    path.write_text(f"{head}models: {{d: {{fields: {fields}}}}}\n")

    text = lakegate.ok("publish", str(path))
    again = lakegate.json("publish", str(path))
    path.write_text(f"{head.replace('1.0.0', '1.0.1')}models: {{d: {{fields: {fields}, qualty: []}}}}\n")
    refused = lakegate("publish", str(path))

    assert "warning unknown-key-kept" in text
    assert [(each["code"], each["line"]) for each in again["warnings"]] == [("unknown-key-kept", 4)]
    assert "Did you mean `quality`? What it holds is not checked" in str(refused.exception)
    assert lakegate.ok("publish", str(path), "--yes")


def test_a_retired_version_closes_live_routes_only_when_confirmed(lakegate: Lakegate) -> None:
    """The prefixes whose deliveries would all be refused from then on are named."""
    lakegate.routed()
    lakegate.ok("route", "add", "more/", "shop")
    path = lakegate.contract("1.1.0", status="retired")
    refused = lakegate("publish", path)
    before = [route["status"] for route in lakegate.json("route", "list")["routes"]]
    lakegate.ok("publish", path, "--yes")

    assert str(refused.exception) == (
        f"shop 1.1.0 is retired: every delivery below `more/`, `orders/` would be refused. {UNCONFIRMED}"
    )
    assert before == ["active", "active"]
    assert [route["status"] for route in lakegate.json("route", "list")["routes"]] == ["retired", "retired"]


def test_a_retired_version_that_closes_nothing_asks_for_nothing(lakegate: Lakegate) -> None:
    """A retired version below the one that leads its line moves no route."""
    lakegate.ok("publish", lakegate.contract("1.2.0"))
    lakegate.ok("route", "add", "orders/", "shop")

    assert lakegate.json("publish", lakegate.contract("1.1.0", status="retired"))["status"] == "retired"


@pytest.mark.parametrize(("answer", "versions"), [("y\n", 1), ("n\n", 0), ("\n", 0)])
def test_a_terminal_is_asked(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch, answer: str, versions: int) -> None:
    """On a terminal the effect is shown and a person decides; everything but yes changes nothing."""
    monkeypatch.setattr("lakegate.cli.command_runner.is_interactive", lambda: True)
    result = lakegate("publish", lakegate.contract(status="live"), text=answer)

    assert "  the document's status is `live`: publishing makes shop 1.0.0 active\n" in result.stderr
    assert len(lakegate.json("contracts")["contracts"]) == versions
    assert str(result.exception) == ("None" if versions else "not confirmed: nothing was changed")


def test_a_document_is_shown_as_it_was_published(lakegate: Lakegate) -> None:
    """Of the newest version, or of the one that is named; found by the beginning of its id."""
    lakegate.ok("publish", lakegate.contract())
    lakegate.ok("publish", lakegate.contract("1.10.0"))
    lakegate.ok("publish", lakegate.contract("1.9.0"))

    assert "version: 1.10.0" in lakegate.ok("show", "sho").splitlines()
    assert "version: 1.9.0" in lakegate.json("show", "shop", "1.9.0")["text"].splitlines()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["show", "shopp"], "shopp: no such contract is published. Did you mean `shop`?"),
        (["show", "sh"], "sh: 2 contracts begin so"),
        (["show", ""], ": no such contract is published."),
        (["show", "shop", "9.9.9"], "shop has no version 9.9.9: `lakegate contracts` lists those that are published"),
        (["route", "add", "x", "shop", "--line", "2"], "no version 2.x of the contract shop is published"),
        (
            ["route", "add", "x", "shop", "--dataset", "none"],
            "choose a dataset of shop 1.0.0 with --dataset: `orders`",
        ),
        (["route", "add", "x", "shop/none"], "choose a dataset of shop 1.0.0 with --dataset: `orders`"),
        (["route", "add", "x", "shop/orders_v2"], "no version 2.x of the contract shop is published"),
        (
            ["route", "add", "x", "shop/orders_v1", "--line", "1"],
            "`shop/orders_v1` names the dataset: leave out --dataset and --line",
        ),
        (["route", "remove", "x"], "x/ has no route"),
        (
            ["route", "add", "/x", "shop"],
            "a prefix is folders, each with a slash behind it and none before the first: '/x/' is not",
        ),
    ],
)
def test_what_is_missing_is_reported_in_one_sentence(lakegate: Lakegate, words: list[str], expected: str) -> None:
    """Every mistake names what is known, or what to do."""
    lakegate.ok("publish", lakegate.contract())
    lakegate.dependencies.registry.publish(DEPLOYED)
    result = lakegate(*words)

    assert (str(result.exception), result.stdout) == (expected, "")


@pytest.mark.parametrize("dataset", ["shop/orders", "shop/orders_v1"])
def test_a_route_names_its_dataset_as_other_commands_do(lakegate: Lakegate, dataset: str) -> None:
    """With its contract, and with or without the major version."""
    lakegate.ok("publish", lakegate.contract())

    assert lakegate.ok("route", "add", "orders", dataset) == "Added: orders/ → shop/orders_v1 1.0.0 (active)\n"


def test_a_route_is_removed(lakegate: Lakegate) -> None:
    """The prefix is free again."""
    lakegate.routed()

    assert lakegate.ok("route", "remove", "orders") == "Removed: orders/ → shop/orders_v1 1.0.0 (active)\n"
    assert lakegate.json("route", "list") == {"routes": []}


def test_faults_of_routes_are_reported(lakegate: Lakegate) -> None:
    """The exit code is 1 where something was found, and the JSON document has both routes."""
    lakegate.routed()
    clean = lakegate.ok("route", "lint")
    lakegate.ok("route", "add", "orders/eu", "shop")
    text, machine = lakegate("route", "lint"), lakegate("route", "lint", "--json")
    (finding,) = json.loads(machine.stdout)["findings"]

    assert clean == "No fault of a route was found.\n"
    assert (text.exit_code, machine.exit_code) == (1, 1)
    assert text.stdout == (
        "redundant    orders/eu/ → shop/orders_v1: orders/ delivers to shop/orders_v1 already: remove one of the two\n"
    )
    assert (finding["fault"], finding["route"]["prefix"], finding["other"]["prefix"]) == (
        "redundant",
        "orders/eu/",
        "orders/",
    )
    lakegate.ok("route", "remove", "orders/eu")
    assert lakegate.json("route", "lint") == {"valid": True, "findings": []}


def test_an_empty_registry_is_shown_with_the_first_command(lakegate: Lakegate) -> None:
    """Nothing published, nothing routed: the next command is named."""
    assert "lakegate publish FILE" in lakegate.ok("contracts")
    assert "lakegate route add" in lakegate.ok("route", "list")


def test_json_output_contains_the_whole_route(lakegate: Lakegate) -> None:
    """Everything that intake knows of it."""
    lakegate.ok("publish", lakegate.contract())
    result = lakegate.json("route", "add", "a/b/", "shop", "--dataset", "orders", "--line", "1")

    assert Route(LANDING, "a/b/", "shop", "orders", 1, "1.0.0", "active", result["plan"]).full_name == result["line"]
    assert (result["bucket"], result["prefix"], result["status"]) == (LANDING, "a/b/", "active")


def test_an_abbreviated_contract_is_routed_only_when_confirmed(lakegate: Lakegate) -> None:
    """The whole route is shown; a letter too few never delivers to a contract that nobody meant."""
    lakegate.ok("publish", lakegate.contract())
    refused = lakegate("route", "add", "orders", "s")
    before = lakegate.json("route", "list")
    lakegate.ok("route", "add", "orders", "s", "--yes")

    assert str(refused.exception) == (
        f"`s` is the beginning of one contract id: orders/ would deliver to shop/orders_v1 1.0.0. {UNCONFIRMED}"
    )
    assert before == {"routes": []}
    assert lakegate.ok("route", "add", "orders", "s") == "Added: orders/ → shop/orders_v1 1.0.0 (active)\n"


def test_a_route_inside_another_takes_its_keys_only_when_confirmed(lakegate: Lakegate) -> None:
    """What lands below the new prefix goes elsewhere from then on; within one line nothing changes."""
    lakegate.routed()
    lakegate.ok("publish", lakegate.contract("2.0.0"))
    lakegate.ok("route", "add", "orders/a/", "shop", "--line", "1")
    refused = lakegate("route", "add", "orders/se/", "shop")

    assert str(refused.exception) == (
        "what lands below orders/se/ is delivered to shop/orders_v1 by the route orders/ now: "
        "it would go to shop/orders_v2 2.0.0. "
        f"{UNCONFIRMED}"
    )
    assert len(lakegate.json("route", "list")["routes"]) == 2


def test_a_route_to_a_retired_version_is_added_only_when_confirmed(lakegate: Lakegate) -> None:
    """Everything delivered there is refused."""
    lakegate.ok("publish", lakegate.contract(status="retired"))
    refused = lakegate("route", "add", "orders/", "shop")

    assert str(refused.exception) == (
        f"shop/orders_v1 1.0.0 is retired: every delivery below `orders/` would be refused. {UNCONFIRMED}"
    )


def test_long_ids_are_not_wrapped_where_there_is_no_terminal(lakegate: Lakegate) -> None:
    """`contracts` and `route list` have one line for each row in a pipe, as `report`, `log` and `history` have."""
    name = f"org.example.{'sales-' * 12}orders"
    lakegate.ok("publish", lakegate.contract(**{"id: shop": f"id: {name}"}))
    lakegate.ok("route", "add", f"landing/{'sales-' * 12}orders/", name)

    for listed in (lakegate.ok("contracts"), lakegate.ok("route", "list")):
        assert len(listed.splitlines()) == 2
        assert name in listed
