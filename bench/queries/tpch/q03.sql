-- The ten most valuable orders that had not been shipped.
select o_orderkey,
       sum(l_extendedprice * (1 - l_discount)) as revenue,
       o_orderdate, o_shippriority
  from customer
  join orders on o_custkey = c_custkey
  join lineitem on l_orderkey = o_orderkey
 where c_mktsegment = 'BUILDING'
   and o_orderdate < date '1995-03-15'
   and l_shipdate > date '1995-03-15'
 group by o_orderkey, o_orderdate, o_shippriority
 order by revenue desc, o_orderdate
 limit 10
