-- Europe's cheapest suppliers of brass parts of size 15.
with european as not materialized (
    select s.*, n_name, ps_partkey, ps_supplycost
      from region
      join nation on n_regionkey = r_regionkey
      join supplier s on s_nationkey = n_nationkey
      join partsupp on ps_suppkey = s_suppkey
     where r_name = 'EUROPE')
select s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone,
       s_comment
  from part
  join european e on e.ps_partkey = p_partkey
 where p_size = 15
   and p_type like '%BRASS'
   and e.ps_supplycost = (select min(cheapest.ps_supplycost)
                            from european cheapest
                           where cheapest.ps_partkey = p_partkey)
 order by s_acctbal desc, n_name, s_name, p_partkey
 limit 100
