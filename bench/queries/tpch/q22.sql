-- Well-to-do customers of seven countries who have not ordered.
with abroad as (
    select c_custkey, substring(c_phone from 1 for 2) as country, c_acctbal
      from customer
     where substring(c_phone from 1 for 2)
           in ('13', '31', '23', '29', '30', '18', '17'))
select country, count(*) as customers, sum(c_acctbal) as balance
  from abroad
 where c_acctbal > (select avg(c_acctbal) from abroad where c_acctbal > 0.00)
   and not exists (select from orders where o_custkey = c_custkey)
 group by country
 order by country
