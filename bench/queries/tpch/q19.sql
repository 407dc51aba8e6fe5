-- Revenue of three kinds of parts, delivered in person by air.
select sum(l_extendedprice * (1 - l_discount)) as revenue
  from lineitem
  join part on p_partkey = l_partkey
 where l_shipmode in ('AIR', 'AIR REG')
   and l_shipinstruct = 'DELIVER IN PERSON'
   and ((p_brand = 'Brand#12'
         and p_container in ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
         and l_quantity between 1 and 11 and p_size between 1 and 5)
     or (p_brand = 'Brand#23'
         and p_container in ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
         and l_quantity between 10 and 20 and p_size between 1 and 10)
     or (p_brand = 'Brand#34'
         and p_container in ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
         and l_quantity between 20 and 30 and p_size between 1 and 15))
