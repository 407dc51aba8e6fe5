-- Late items by mail and ship: how many belonged to urgent orders.
select l_shipmode,
       count(*) filter (where o_orderpriority in ('1-URGENT', '2-HIGH'))
           as urgent,
       count(*) filter (where o_orderpriority not in ('1-URGENT', '2-HIGH'))
           as others
  from lineitem
  join orders on o_orderkey = l_orderkey
 where l_shipmode in ('MAIL', 'SHIP')
   and l_commitdate < l_receiptdate
   and l_shipdate < l_commitdate
   and l_receiptdate >= date '1994-01-01'
   and l_receiptdate < date '1994-01-01' + interval '1 year'
 group by l_shipmode
 order by l_shipmode
