-- Trade between France and Germany, by direction and year.
select supplying, buying, year, sum(volume) as revenue
  from (select sn.n_name as supplying, cn.n_name as buying,
               extract(year from l_shipdate) as year,
               l_extendedprice * (1 - l_discount) as volume
          from supplier
          join lineitem on l_suppkey = s_suppkey
          join orders on o_orderkey = l_orderkey
          join customer on c_custkey = o_custkey
          join nation sn on sn.n_nationkey = s_nationkey
          join nation cn on cn.n_nationkey = c_nationkey
         where (sn.n_name, cn.n_name) in (('FRANCE', 'GERMANY'),
                                          ('GERMANY', 'FRANCE'))
           and l_shipdate between date '1995-01-01' and date '1996-12-31'
       ) as trade
 group by supplying, buying, year
 order by supplying, buying, year
