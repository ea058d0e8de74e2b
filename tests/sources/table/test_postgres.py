"""Tables of a real PostgreSQL server as sources."""

import numpy as np
import pytest
from scipy import stats

import oddarm
from oddarm.errors import OddarmError, ParameterError, SourceError
from oddarm.rewards import Bernoulli, Bounded
from oddarm.testing import check_source
from support.tables import ARMS, drawn, expected, rows

psycopg = pytest.importorskip("psycopg")


@pytest.fixture(scope="module")
def server(postgres):
    """A server with the table of events that the other kinds of data are tested with."""
    data = rows()
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE TABLE events (id int, host text, score numeric, slow boolean)")
        with connection.cursor().copy("COPY events (id, host, score, slow) FROM STDIN") as copy:
            for row in zip(*data.values(), strict=True):
                copy.write_row(row)
    yield postgres
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP TABLE events")


def test_same_as_other_kinds(server):
    """A table of PostgreSQL gives the arms and pools of a file, and each row exactly once."""
    data = rows()
    truth = expected(data, data["id"])
    with oddarm.open_table(server, arm="host", reward="id", table="events") as source:
        assert source.arms == ARMS
        assert source.rewards == Bounded(
            minimum=0, maximum=1999, rows=tuple(len(truth[arm]) for arm in ARMS)
        )
        assert (source.rows, source.skipped) == (2000, 0)
        found = drawn(source)
        assert {arm: sorted(values) for arm, values in found.items()} == truth
        assert found != truth


def test_queries_conditions_and_expressions(server):
    """Queries, conditions and expressions are SQL of the server."""
    data = rows()
    query = "SELECT host AS h, score, id FROM events; "
    with oddarm.open_table(server, "h", "score > 5", query=query, where="id % 2 = 0") as source:
        truth = expected(
            {"host": data["host"][::2]}, [float(score > 5) for score in data["score"][::2]]
        )
        assert isinstance(source.rewards, Bernoulli)
        found = drawn(source)
        assert {arm: sum(values) for arm, values in found.items()} == {
            arm: sum(values) for arm, values in truth.items()
        }
    with oddarm.open_table(server, ["host", "slow"], "score", table="public.events") as source:
        assert len(source.arms) == 8
        assert source.arms[:2] == [("a", False), ("a", True)]


def test_the_seed_decides_the_order(server):
    """The same seed gives the same order, another seed another one, unrelated to the table's."""
    orders = []
    for seed in (5, 5, 6):
        with oddarm.open_table(server, "host", "id", table="events", seed=seed) as source:
            orders.append(drawn(source))
    one, two, other = orders
    assert one == two
    assert one != other
    for arm in ARMS:
        assert stats.kendalltau(one[arm], np.arange(len(one[arm]))).pvalue > 1e-6
        assert stats.kendalltau(one[arm], other[arm]).pvalue > 1e-6


def test_orders_are_uniform_and_independent(server):
    """Each order of an arm's rows is as likely, whatever the order of the next arm."""
    query = "SELECT i % 1200 AS arm, i / 1200 AS place FROM generate_series(0, 4799) AS i"
    with oddarm.open_table(server, "arm", "place", query=query) as source:
        orders = np.array([source.draw(arm, 4) for arm in range(1200)]).astype(int)
    assert (np.sort(orders, axis=1) == np.arange(4)).all()
    words = orders @ [64, 16, 4, 1]
    _, counts = np.unique(words, return_counts=True)
    assert len(counts) == 24
    assert stats.chisquare(counts).pvalue > 1e-6
    for position in range(4):
        pairs = np.zeros((4, 4))
        np.add.at(pairs, (orders[:-1, position], orders[1:, position]), 1)
        assert stats.chi2_contingency(pairs).pvalue > 1e-6


def test_conformance(server):
    """A table of PostgreSQL keeps to what every source promises."""
    opened = []

    def make():
        opened.append(oddarm.open_table(server, "host", "slow", table="events"))
        return opened[-1]

    check_source(make)
    for source in opened:
        source.close()


def test_search(server):
    """A search over a table of the server finds the odd arm and reads only a part of it."""
    query = (
        "SELECT 'host-' || i AS host, j % 1000 < CASE i WHEN 7 THEN 990 ELSE 60 * i END AS slow "
        "FROM generate_series(1, 6) AS i, generate_series(1, 1000) AS j "
        "UNION ALL SELECT 'host-7', j % 100 < 99 FROM generate_series(1, 1000) AS j"
    )
    with oddarm.open_table(server, "host", "slow", query=query) as source:
        search = oddarm.Search(source.arms, "maxgap", max_outliers=1, rewards=source.rewards)
        while not search.done:
            for arm in search.ask():
                search.tell(arm, source.draw(arm))
        assert search.result().ranking[0] == "host-7"
        assert search.pulls < source.rows


def test_arms_by_expression_and_min_rows(server):
    """An arm may be an expression; arms with few rows are left out, with their rows."""
    data = rows()
    sizes = {arm: data["host"].count(arm) for arm in ARMS}
    fewest = min(sizes, key=sizes.get)
    options = {"table": "events", "min_rows": sizes[fewest] + 1}
    with oddarm.open_table(server, "upper(host) -- loud", "id", **options) as source:
        assert source.arms == [arm.upper() for arm in ARMS if arm != fewest]
        assert source.left_out == [fewest.upper()]
        truth = expected(data, data["id"])
        found = {arm.lower(): sorted(values) for arm, values in drawn(source).items()}
        assert found == {arm: truth[arm] for arm in ARMS if arm != fewest}


def test_clipped_rewards(server):
    """Infinite rewards are usable if they are clipped; nan is not."""
    clipped = oddarm.rewards.Clipped(0, 9)
    infinite = "CASE WHEN id % 2 = 0 THEN 'inf'::float8 ELSE -3 END"
    with oddarm.open_table(server, "host", infinite, table="events", rewards=clipped) as source:
        assert set(source.draw("d", 100).tolist()) == {0, 9}
    with pytest.raises(SourceError, match="must be a finite number"):
        oddarm.open_table(server, "host", "'nan'::float8", table="events", rewards=clipped)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"table": None}, "with neither table nor query: pass one of them"),
        ({"table": "event"}, 'relation "event" does not exist.*: check the names'),
        ({"arm": "lower(hosts)"}, r"no column 'hosts', which arm == 'lower\(hosts\)' names: "),
        ({"arm": "host, id"}, "it has several values; name each as a column of its own"),
        ({"arm": "host); DROP TABLE events; --"}, "nor an SQL expression .*syntax error"),
        ({"min_rows": 5_000}, "0 of 4 arms of table 'events' .* have 5,000 rows or more"),
        ({"arm": "hosts"}, "has no column 'hosts': name one of 'id', 'host', 'score'"),
        (
            {"reward": "scores"},
            "has no column 'scores': name one of .*; did you mean 'score'",
        ),
        ({"reward": "host"}, 'is of type text, must be numbers .* as in reward="score::float8"'),
        ({"reward": "score / (id - 9)"}, r"cannot be read \(division by zero\)"),
        ({"where": "id <"}, "where == 'id <' is not an SQL condition .*syntax error"),
        ({"where": "id < 0"}, "has no rows to sample where id < 0"),
        ({"where": "host = 'a'"}, "has one value, 'a', must have 3 or more"),
        ({"table": None, "query": "SELECT FROM WHERE"}, "is not one SELECT .*syntax error"),
        ({"table": None, "query": "DELETE FROM events"}, "the query on .*syntax error"),
    ],
)
def test_bad_requests(server, options, words):
    """What cannot be done is one sentence with the remedy."""
    given = {"arm": "host", "reward": "slow", "table": "events", **options}
    with pytest.raises(OddarmError, match=words) as caught:
        oddarm.open_table(server, **given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arm", "reward", "words"),
    [
        ("host", "nullif(id, 3)", r"row \(id = 3, host = .*: reward 'nullif\(id, 3\)' is empty"),
        ("host", "CASE id WHEN 3 THEN 'NaN' ELSE id * 1.5 END", r"row \(id = 3.*must be a finite"),
        ("host", "CASE id WHEN 3 THEN '-inf'::float8 ELSE 0 END", r"row \(id = 3.*is -inf, must"),
        ("late", "id", r"row \(host = .*id = 3.*: arm column 'late' is empty, must name an arm"),
    ],
)
def test_bad_rows(server, arm, reward, words):
    """A bad row is an error that shows it, or is left out and counted."""
    query = "SELECT host, id, nullif(host, CASE id WHEN 3 THEN host END) AS late FROM events"
    options = {"query": query} if arm == "late" else {"table": "events"}
    with pytest.raises(SourceError, match=words) as caught:
        oddarm.open_table(server, arm, reward, **options)
    assert "bad_rows='skip'" in str(caught.value)
    with oddarm.open_table(server, arm, reward, bad_rows="skip", **options) as source:
        assert (source.skipped, source.rows) == (1, 1999)


@pytest.fixture(scope="module")
def forget(server):
    """Functions that write: one plainly, one that would first make the transaction writable."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION forget() RETURNS int LANGUAGE sql AS "
            "$$ DELETE FROM events WHERE id = 0 RETURNING id $$; CREATE FUNCTION forget_anyway() "
            "RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'SET TRANSACTION READ WRITE'; "
            "RETURN forget(); END $$; CREATE SEQUENCE numbers"
        )
        yield connection
        connection.execute("DROP FUNCTION forget_anyway(); DROP FUNCTION forget()")
        connection.execute("DROP SEQUENCE numbers")


@pytest.mark.parametrize(
    "options",
    [
        {"reward": "forget()"},
        {"reward": "forget_anyway()"},
        {"where": "true; DROP TABLE events"},
        {"where": "true) AND true; DROP TABLE events; SELECT (1"},
        {"where": "true) OR (true"},
        {"where": "forget() = 0"},
        {"where": "nextval('numbers') > 0"},
        {"where": "set_config('transaction_read_only', 'off', false) = 'off'"},
        {"where": "EXISTS (WITH a AS (DELETE FROM events RETURNING 1) SELECT 1 FROM a)"},
        {"where": "query_to_xml('DROP TABLE events', true, true, '') IS NOT NULL"},
        {"query": "SELECT * FROM events; DROP TABLE events"},
        {"query": "SELECT * FROM events) AS a; DROP TABLE events; SELECT * FROM (SELECT 1"},
        {"query": "SELECT * FROM events) AS a, (SELECT 1"},
        {"query": "WITH a AS (DELETE FROM events RETURNING *) SELECT * FROM a"},
        {"query": "DELETE FROM events RETURNING *"},
        {"query": "SELECT * INTO others FROM events"},
        {"query": "COPY events TO PROGRAM 'true'"},
        {"query": "SELECT * FROM events WHERE forget() = 0"},
        {"query": "COMMIT"},
    ],
)
def test_data_is_only_read(server, forget, options):
    """SQL that would write to the database is refused, and nothing is written."""
    given = {"arm": "host", "reward": "id", **options}
    if "query" not in options:
        given["table"] = "events"
    with pytest.raises(SourceError):
        oddarm.open_table(server, **given)
    assert forget.execute("SELECT count(*) FROM events").fetchone() == (2000,)
    assert forget.execute("SELECT to_regclass('others')").fetchone() == (None,)
    assert forget.execute("SELECT is_called FROM numbers").fetchone() == (False,)


def test_writing_is_named(server, forget):
    """A function that writes is refused in words that say so."""
    del forget
    with pytest.raises(SourceError, match=r"read-only transaction.*: the data is only read"):
        oddarm.open_table(server, "host", "forget()", table="events")


def test_other_rows_are_other_data(server):
    """The fingerprint tells rows, their arms and their order apart, and is the same otherwise."""

    def told(query, **options):
        with oddarm.open_table(server, "host", "slow", query=query, **options) as source:
            return source.fingerprint()["content"]

    usual = "SELECT * FROM events ORDER BY id"
    assert told(usual) == told(usual)
    others = {
        told(usual),
        told(usual, seed=1),
        told("SELECT * FROM events ORDER BY id DESC"),
        told("SELECT host, slow <> (id = 77) AS slow FROM events ORDER BY id"),
        told("SELECT * FROM events WHERE id <> 77 ORDER BY id"),
        told("SELECT host || 'x' AS host, slow FROM events ORDER BY id"),
    }
    assert len(others) == 6


def test_rights(server):
    """It takes SELECT on the data and TEMP on the database; without either it says so."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE ROLE reader LOGIN PASSWORD 'secret'")
        connection.execute("REVOKE TEMP ON DATABASE postgres FROM PUBLIC")
        url = server.replace(server.split("@")[0], "postgresql://reader:secret")
        request = {"arm": "host", "reward": "slow", "table": "events"}
        try:
            with pytest.raises(SourceError, match=r"temporary tables in database.*and TEMP on"):
                oddarm.open_table(url, **request)
            connection.execute("GRANT TEMP ON DATABASE postgres TO reader")
            with pytest.raises(SourceError, match=r"permission denied for table events.*GRANT SEL"):
                oddarm.open_table(url, **request)
            connection.execute("GRANT SELECT ON events TO reader")
            with oddarm.open_table(url, **request) as source:
                assert source.rows == 2000
        finally:
            connection.execute("GRANT TEMP ON DATABASE postgres TO PUBLIC")
            connection.execute("DROP OWNED BY reader")
            connection.execute("DROP ROLE reader")


def test_unreachable(server):
    """A server that is not there, a wrong password or a bad URL is named without the password."""
    host = server.split("@")[1]
    for url in ("postgresql://oddarm:hush@127.0.0.1:1/x", f"postgresql://oddarm:hush@{host}"):
        with pytest.raises(SourceError, match=r"cannot be reached .*check the URL") as caught:
            oddarm.open_table(url, "host", "slow", table="events")
        assert "hush" not in str(caught.value)
    with pytest.raises(ParameterError, match="has options that PostgreSQL does not"):
        oddarm.open_table("postgresql://host/x?nonsense=1", "host", "slow", table="events")


def test_lost_connection(server):
    """A connection that the server ends in the middle is an error of ours."""
    source = oddarm.open_table(server, "host", "slow", table="events")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND query LIKE '%oddarm_rows%'"
        )
    with pytest.raises(SourceError, match=r"the connection to table 'events' .* failed"):
        source.draw("a", 10)
    source.close()


def test_blocks_are_the_draws_of_each_arm(server):
    """Rows drawn of several arms at once are those of each arm alone, in the order named."""
    options = {"arm": "host", "reward": "id", "table": "events"}
    blocks, one = (oddarm.open_table(server, **options) for _ in range(2))
    with blocks, one:
        for count in (2, 5, 1):
            got = blocks.draw_block(ARMS[::-1], [count] * len(ARMS))
            assert got.tolist() == np.concatenate([one.draw(a, count) for a in ARMS[::-1]]).tolist()
