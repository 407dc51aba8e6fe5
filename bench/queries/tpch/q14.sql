-- The share of promoted parts in a month's revenue, in percent.
select 100.00 * sum(case when p_type like 'PROMO%'
                         then l_extendedprice * (1 - l_discount)
                         else 0 end)
       / sum(l_extendedprice * (1 - l_discount)) as promoted
  from lineitem
  join part on p_partkey = l_partkey
 where l_shipdate >= date '1995-09-01'
   and l_shipdate < date '1995-09-01' + interval '1 month'
