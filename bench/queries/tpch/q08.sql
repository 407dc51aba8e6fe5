-- Brazil's share of the American market of one type of part, by year.
select year,
       sum(case when nation = 'BRAZIL' then volume else 0 end) / sum(volume)
           as market_share
  from (select extract(year from o_orderdate) as year,
               l_extendedprice * (1 - l_discount) as volume,
               sn.n_name as nation
          from part
          join lineitem on l_partkey = p_partkey
          join supplier on s_suppkey = l_suppkey
          join orders on o_orderkey = l_orderkey
          join customer on c_custkey = o_custkey
          join nation cn on cn.n_nationkey = c_nationkey
          join region on r_regionkey = cn.n_regionkey
          join nation sn on sn.n_nationkey = s_nationkey
         where r_name = 'AMERICA'
           and o_orderdate between date '1995-01-01' and date '1996-12-31'
           and p_type = 'ECONOMY ANODIZED STEEL'
       ) as sales
 group by year
 order by year
