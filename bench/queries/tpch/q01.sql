-- Everything shipped up to 90 days before the last day, by flag and status.
select l_returnflag, l_linestatus,
       sum(l_quantity) as quantity,
       sum(l_extendedprice) as base,
       sum(l_extendedprice * (1 - l_discount)) as discounted,
       sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) as charged,
       avg(l_quantity) as mean_quantity,
       avg(l_extendedprice) as mean_price,
       avg(l_discount) as mean_discount,
       count(*) as lines
  from lineitem
 where l_shipdate <= date '1998-12-01' - interval '90 days'
 group by 1, 2
 order by 1, 2
