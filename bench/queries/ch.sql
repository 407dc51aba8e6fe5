-- The 22 queries of CH-benCHmark, on the tables of ch_tables.sql.  A query begins
-- with "-- name: what it asks" and ends with a semicolon.

-- q01: order lines by number
select ol_number, sum(ol_quantity) as sum_qty, sum(ol_amount) as sum_amount,
       avg(ol_quantity) as avg_qty, avg(ol_amount) as avg_amount, count(*)
  from order_line
 where ol_delivery_d > timestamp '2007-01-02'
 group by ol_number order by ol_number;

-- q02: European suppliers with the least stock of an item
select su_suppkey, su_name, n_name, i_id, i_name, su_address, su_phone, su_comment
  from item, supplier, stock, nation, region,
       (select s_i_id as m_i_id, min(s_quantity) as m_s_quantity
          from stock, supplier, nation, region
         where s_w_id * s_i_id % 10000 = su_suppkey and su_nationkey = n_nationkey
           and n_regionkey = r_regionkey and r_name like 'Europ%'
         group by s_i_id) m
 where i_id = s_i_id and s_w_id * s_i_id % 10000 = su_suppkey
   and su_nationkey = n_nationkey and n_regionkey = r_regionkey
   and i_data like '%b' and r_name like 'Europ%'
   and i_id = m_i_id and s_quantity = m_s_quantity
 order by n_name, su_name, i_id;

-- q03: undelivered orders with the highest revenue
select ol_o_id, ol_w_id, ol_d_id, sum(ol_amount) as revenue, o_entry_d
  from customer, new_order, orders, order_line
 where c_state like 'A%' and c_id = o_c_id and c_w_id = o_w_id and c_d_id = o_d_id
   and no_w_id = o_w_id and no_d_id = o_d_id and no_o_id = o_id
   and ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
   and o_entry_d > timestamp '2007-01-02'
 group by ol_o_id, ol_w_id, ol_d_id, o_entry_d
 order by revenue desc, o_entry_d, ol_w_id, ol_d_id, ol_o_id;

-- q04: orders that were delivered after they were entered
select o_ol_cnt, count(*)
  from orders
 where o_entry_d >= timestamp '2007-01-02' and o_entry_d < timestamp '2012-01-02'
   and exists (select * from order_line
                where o_id = ol_o_id and o_w_id = ol_w_id and o_d_id = ol_d_id
                  and ol_delivery_d >= o_entry_d)
 group by o_ol_cnt order by o_ol_cnt;

-- q05: revenue of local suppliers
select n_name, sum(ol_amount) as revenue
  from customer, orders, order_line, stock, supplier, nation, region
 where c_id = o_c_id and c_w_id = o_w_id and c_d_id = o_d_id
   and ol_o_id = o_id and ol_w_id = o_w_id and ol_d_id = o_d_id
   and ol_w_id = s_w_id and ol_i_id = s_i_id
   and s_w_id * s_i_id % 10000 = su_suppkey
   and ascii(substr(c_state, 1, 1)) = su_nationkey and su_nationkey = n_nationkey
   and n_regionkey = r_regionkey and r_name = 'Europe'
   and o_entry_d >= timestamp '2007-01-02'
 group by n_name order by revenue desc, n_name;

-- q06: revenue of delivered lines
select sum(ol_amount) as revenue
  from order_line
 where ol_delivery_d >= timestamp '1999-01-01'
   and ol_delivery_d < timestamp '2020-01-01' and ol_quantity between 1 and 100000;

-- q07: trade between two nations
select su_nationkey as supp_nation, substr(c_state, 1, 1) as cust_nation,
       extract(year from o_entry_d) as l_year, sum(ol_amount) as revenue
  from supplier, stock, order_line, orders, customer, nation n1, nation n2
 where ol_supply_w_id = s_w_id and ol_i_id = s_i_id
   and s_w_id * s_i_id % 10000 = su_suppkey
   and ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
   and c_id = o_c_id and c_w_id = o_w_id and c_d_id = o_d_id
   and su_nationkey = n1.n_nationkey
   and ascii(substr(c_state, 1, 1)) = n2.n_nationkey
   and ((n1.n_name = 'Germany' and n2.n_name = 'Cambodia')
     or (n1.n_name = 'Cambodia' and n2.n_name = 'Germany'))
   and ol_delivery_d between timestamp '2007-01-02' and timestamp '2012-01-02'
 group by su_nationkey, substr(c_state, 1, 1), extract(year from o_entry_d)
 order by su_nationkey, cust_nation, l_year;

-- q08: market share of a nation
select extract(year from o_entry_d) as l_year,
       sum(case when n2.n_name = 'Germany' then ol_amount else 0 end)
           / sum(ol_amount) as mkt_share
  from item, supplier, stock, order_line, orders, customer, nation n1, nation n2,
       region
 where i_id = s_i_id and ol_i_id = s_i_id and ol_supply_w_id = s_w_id
   and s_w_id * s_i_id % 10000 = su_suppkey
   and ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
   and c_id = o_c_id and c_w_id = o_w_id and c_d_id = o_d_id
   and n1.n_nationkey = ascii(substr(c_state, 1, 1))
   and n1.n_regionkey = r_regionkey and ol_i_id < 1000 and r_name = 'Europe'
   and su_nationkey = n2.n_nationkey
   and o_entry_d between timestamp '2007-01-02' and timestamp '2012-01-02'
   and i_data like '%b' and i_id = ol_i_id
 group by extract(year from o_entry_d) order by l_year;

-- q09: revenue of some items by nation and year
select n_name, extract(year from o_entry_d) as l_year, sum(ol_amount) as sum_profit
  from item, stock, supplier, order_line, orders, nation
 where ol_i_id = s_i_id and ol_supply_w_id = s_w_id
   and s_w_id * s_i_id % 10000 = su_suppkey
   and ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
   and ol_i_id = i_id and su_nationkey = n_nationkey and i_data like '%bb'
 group by n_name, extract(year from o_entry_d) order by n_name, l_year desc;

-- q10: revenue by customer
select c_id, c_last, sum(ol_amount) as revenue, c_city, c_phone, n_name
  from customer, orders, order_line, nation
 where c_id = o_c_id and c_w_id = o_w_id and c_d_id = o_d_id
   and ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
   and o_entry_d >= timestamp '2007-01-02' and o_entry_d <= ol_delivery_d
   and n_nationkey = ascii(substr(c_state, 1, 1))
 group by c_id, c_last, c_city, c_phone, n_name
 order by revenue desc, c_id, c_phone;

-- q11: items that are most ordered of a nation's suppliers
select s_i_id, sum(s_order_cnt) as ordercount
  from stock, supplier, nation
 where s_w_id * s_i_id % 10000 = su_suppkey and su_nationkey = n_nationkey
   and n_name = 'Germany'
 group by s_i_id
having sum(s_order_cnt) > (select sum(s_order_cnt) * .005
                             from stock, supplier, nation
                            where s_w_id * s_i_id % 10000 = su_suppkey
                              and su_nationkey = n_nationkey and n_name = 'Germany')
 order by ordercount desc, s_i_id;

-- q12: lines of orders by carrier
select o_ol_cnt,
       sum(case when o_carrier_id = 1 or o_carrier_id = 2 then 1 else 0 end) as high,
       sum(case when o_carrier_id <> 1 and o_carrier_id <> 2 then 1 else 0 end) as low
  from orders, order_line
 where ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
   and o_entry_d <= ol_delivery_d and ol_delivery_d < timestamp '2020-01-01'
 group by o_ol_cnt order by o_ol_cnt;

-- q13: customers by number of orders
select c_count, count(*) as custdist
  from (select c_id, count(o_id)
          from customer left join orders
            on c_w_id = o_w_id and c_d_id = o_d_id and c_id = o_c_id
           and o_carrier_id > 8
         group by c_id) as c_orders (c_id, c_count)
 group by c_count order by custdist desc, c_count desc;

-- q14: share of revenue of promoted items
select 100.00 * sum(case when i_data like 'pr%' then ol_amount else 0 end)
           / (1 + sum(ol_amount)) as promo_revenue
  from order_line, item
 where ol_i_id = i_id and ol_delivery_d >= timestamp '2007-01-02'
   and ol_delivery_d < timestamp '2020-01-02';

-- q15: the supplier with the highest revenue
with revenue (supplier_no, total_revenue) as (
    select s_w_id * s_i_id % 10000, sum(ol_amount)
      from order_line, stock
     where ol_i_id = s_i_id and ol_supply_w_id = s_w_id
       and ol_delivery_d >= timestamp '2007-01-02'
     group by s_w_id * s_i_id % 10000)
select su_suppkey, su_name, su_address, su_phone, total_revenue
  from supplier, revenue
 where su_suppkey = supplier_no
   and total_revenue = (select max(total_revenue) from revenue)
 order by su_suppkey;

-- q16: suppliers without complaints, by item
select i_name, substr(i_data, 1, 3) as brand, i_price,
       count(distinct s_w_id * s_i_id % 10000) as supplier_cnt
  from stock, item
 where i_id = s_i_id and i_data not like 'zz%'
   and s_w_id * s_i_id % 10000 not in
       (select su_suppkey from supplier where su_comment like '%bad%')
 group by i_name, substr(i_data, 1, 3), i_price
 order by supplier_cnt desc, i_name, brand, i_price;

-- q17: revenue of small lines
select sum(ol_amount) / 2.0 as avg_yearly
  from order_line,
       (select i_id, avg(ol_quantity) as a from item, order_line
         where i_data like '%b' and ol_i_id = i_id group by i_id) t
 where ol_i_id = t.i_id and ol_quantity < t.a;

-- q18: large orders
select c_last, c_id, o_id, o_entry_d, o_ol_cnt, sum(ol_amount)
  from customer, orders, order_line
 where c_id = o_c_id and c_w_id = o_w_id and c_d_id = o_d_id
   and ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
 group by o_id, o_w_id, o_d_id, c_id, c_last, o_entry_d, o_ol_cnt
having sum(ol_amount) > 200
 order by sum(ol_amount) desc, o_entry_d, o_w_id, o_d_id, o_id;

-- q19: revenue of three kinds of items
select sum(ol_amount) as revenue
  from order_line, item
 where (ol_i_id = i_id and i_data like '%a' and ol_quantity between 1 and 10
        and i_price between 1 and 400000 and ol_w_id in (1, 2, 3))
    or (ol_i_id = i_id and i_data like '%b' and ol_quantity between 1 and 10
        and i_price between 1 and 400000 and ol_w_id in (1, 2, 4))
    or (ol_i_id = i_id and i_data like '%c' and ol_quantity between 1 and 10
        and i_price between 1 and 400000 and ol_w_id in (1, 5, 3));

-- q20: suppliers with much stock of what is little ordered
select su_name, su_address
  from supplier, nation
 where su_suppkey in
       (select s_i_id * s_w_id % 10000
          from stock, order_line
         where s_i_id in (select i_id from item where i_data like 'co%')
           and ol_i_id = s_i_id and ol_delivery_d > timestamp '2010-05-23 12:00:00'
         group by s_i_id, s_w_id, s_quantity
        having 2 * s_quantity > sum(ol_quantity))
   and su_nationkey = n_nationkey and n_name = 'Germany'
 order by su_name;

-- q21: suppliers whose lines came last
select su_name, count(*) as numwait
  from supplier, order_line l1, orders, stock, nation
 where ol_o_id = o_id and ol_w_id = o_w_id and ol_d_id = o_d_id
   and ol_w_id = s_w_id and ol_i_id = s_i_id
   and s_w_id * s_i_id % 10000 = su_suppkey and l1.ol_delivery_d > o_entry_d
   and not exists (select * from order_line l2
                    where l2.ol_o_id = l1.ol_o_id and l2.ol_w_id = l1.ol_w_id
                      and l2.ol_d_id = l1.ol_d_id
                      and l2.ol_delivery_d > l1.ol_delivery_d)
   and su_nationkey = n_nationkey and n_name = 'Germany'
 group by su_name order by numwait desc, su_name;

-- q22: good customers without orders
select substr(c_state, 1, 1) as country, count(*) as numcust,
       sum(c_balance) as totacctbal
  from customer
 where substr(c_phone, 1, 1) in ('1', '2', '3', '4', '5', '6', '7')
   and c_balance > (select avg(c_balance) from customer
                     where c_balance > 0.00 and substr(c_phone, 1, 1) in
                           ('1', '2', '3', '4', '5', '6', '7'))
   and not exists (select * from orders where o_c_id = c_id and o_w_id = c_w_id
                      and o_d_id = c_d_id)
 group by substr(c_state, 1, 1) order by country;
