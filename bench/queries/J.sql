-- J: rows inserted in an order that has nothing to do with the target's indexes.
insert into picks
select l_partkey, l_suppkey, l_orderkey from lineitem
 where l_shipdate = date '1995-01-15'
