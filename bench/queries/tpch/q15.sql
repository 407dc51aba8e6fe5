-- The supplier with the highest revenue of a quarter.
with revenue as (
    select l_suppkey, sum(l_extendedprice * (1 - l_discount)) as total
      from lineitem
     where l_shipdate >= date '1996-01-01'
       and l_shipdate < date '1996-01-01' + interval '3 months'
     group by l_suppkey)
select s_suppkey, s_name, s_address, s_phone, total
  from supplier
  join revenue on l_suppkey = s_suppkey
 where total = (select max(total) from revenue)
 order by s_suppkey
