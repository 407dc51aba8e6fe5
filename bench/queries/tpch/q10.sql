-- The twenty customers who sent back most in a quarter.
select c_custkey, c_name,
       sum(l_extendedprice * (1 - l_discount)) as lost,
       c_acctbal, n_name, c_address, c_phone, c_comment
  from customer
  join orders on o_custkey = c_custkey
  join lineitem on l_orderkey = o_orderkey
  join nation on n_nationkey = c_nationkey
 where o_orderdate >= date '1993-10-01'
   and o_orderdate < date '1993-10-01' + interval '3 months'
   and l_returnflag = 'R'
 group by c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment
 order by lost desc
 limit 20
