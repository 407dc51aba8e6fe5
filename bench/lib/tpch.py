"""Tables and indexes of TPC-H, as data.

Types are those of the specification (fixed text, decimals), with integer
identifiers, bigint where scale 1000 needs it.  Indexes: every primary key and
every column by which the queries select or join.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    name: str
    columns: str
    primary_key: str
    indexes: tuple
    rows: int               # at scale 1
    csv_bytes: int          # at scale 1, what the generator writes
    scales: bool = True     # nation and region do not


TABLES = (
    Table("region", """
        r_regionkey integer not null, r_name char(25) not null,
        r_comment varchar(152)""",
          "r_regionkey", (), 5, 400, scales=False),
    Table("nation", """
        n_nationkey integer not null, n_name char(25) not null,
        n_regionkey integer not null, n_comment varchar(152)""",
          "n_nationkey", ("n_regionkey",), 25, 2_200, scales=False),
    Table("supplier", """
        s_suppkey integer not null, s_name char(25) not null,
        s_address varchar(40) not null, s_nationkey integer not null,
        s_phone char(15) not null, s_acctbal decimal(15,2) not null,
        s_comment varchar(101) not null""",
          "s_suppkey", ("s_nationkey",), 10_000, 1_400_000),
    Table("customer", """
        c_custkey integer not null, c_name varchar(25) not null,
        c_address varchar(40) not null, c_nationkey integer not null,
        c_phone char(15) not null, c_acctbal decimal(15,2) not null,
        c_mktsegment char(10) not null, c_comment varchar(117) not null""",
          "c_custkey", ("c_name", "c_nationkey"), 150_000, 24_500_000),
    Table("part", """
        p_partkey integer not null, p_name varchar(55) not null,
        p_mfgr char(25) not null, p_brand char(10) not null,
        p_type varchar(25) not null, p_size integer not null,
        p_container char(10) not null, p_retailprice decimal(15,2) not null,
        p_comment varchar(23) not null""",
          "p_partkey", ("p_name",), 200_000, 24_200_000),
    Table("partsupp", """
        ps_partkey integer not null, ps_suppkey integer not null,
        ps_availqty integer not null, ps_supplycost decimal(15,2) not null,
        ps_comment varchar(199) not null""",
          "ps_partkey, ps_suppkey", ("ps_suppkey",), 800_000, 119_000_000),
    Table("orders", """
        o_orderkey bigint not null, o_custkey integer not null,
        o_orderstatus char(1) not null, o_totalprice decimal(15,2) not null,
        o_orderdate date not null, o_orderpriority char(15) not null,
        o_clerk char(15) not null, o_shippriority integer not null,
        o_comment varchar(79) not null""",
          "o_orderkey", ("o_custkey", "o_orderdate"), 1_500_000, 172_000_000),
    Table("lineitem", """
        l_orderkey bigint not null, l_partkey integer not null,
        l_suppkey integer not null, l_linenumber integer not null,
        l_quantity decimal(15,2) not null,
        l_extendedprice decimal(15,2) not null,
        l_discount decimal(15,2) not null, l_tax decimal(15,2) not null,
        l_returnflag char(1) not null, l_linestatus char(1) not null,
        l_shipdate date not null, l_commitdate date not null,
        l_receiptdate date not null, l_shipinstruct char(25) not null,
        l_shipmode char(10) not null, l_comment varchar(44) not null""",
          "l_orderkey, l_linenumber",
          ("l_orderkey", "l_partkey", "l_suppkey", "l_shipdate"),
          6_001_215, 766_000_000),
)

# Measured: heap and indexes at scale 1, and what is needed on top of that
# while indexes are sorted.  Bytes per unit of scale.
BYTES_LOADED = 1_950_000_000
BYTES_SORTING = 300_000_000
BYTES_EMPTY_CLUSTER = 200_000_000


def bytes_needed(scale: float) -> int:
    """Room on disk that loading a scale takes, in bytes."""
    return int(BYTES_EMPTY_CLUSTER + scale * (BYTES_LOADED + BYTES_SORTING))
