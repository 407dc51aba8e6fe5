-- Profit on green parts, by nation of the supplier and year.
select nation, year, sum(profit) as profit
  from (select n_name as nation, extract(year from o_orderdate) as year,
               l_extendedprice * (1 - l_discount)
                   - ps_supplycost * l_quantity as profit
          from part
          join lineitem on l_partkey = p_partkey
          join supplier on s_suppkey = l_suppkey
          join partsupp on ps_partkey = l_partkey and ps_suppkey = l_suppkey
          join orders on o_orderkey = l_orderkey
          join nation on n_nationkey = s_nationkey
         where p_name like '%green%'
       ) as sales
 group by nation, year
 order by nation, year desc
