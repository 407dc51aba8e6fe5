-- How many customers have how many orders, special requests left out.
select orders, count(*) as customers
  from (select c_custkey, count(o_orderkey) as orders
          from customer
          left join orders on o_custkey = c_custkey
                          and o_comment not like '%special%requests%'
         group by c_custkey
       ) as counted
 group by orders
 order by customers desc, orders desc
