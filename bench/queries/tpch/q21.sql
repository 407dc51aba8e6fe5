-- Saudi Arabian suppliers who alone kept orders of several waiting.
select s_name, count(*) as waiting
  from supplier
  join lineitem late on late.l_suppkey = s_suppkey
  join orders on o_orderkey = late.l_orderkey
  join nation on n_nationkey = s_nationkey
 where o_orderstatus = 'F'
   and late.l_receiptdate > late.l_commitdate
   and n_name = 'SAUDI ARABIA'
   and exists (select from lineitem other
                where other.l_orderkey = late.l_orderkey
                  and other.l_suppkey <> late.l_suppkey)
   and not exists (select from lineitem other
                    where other.l_orderkey = late.l_orderkey
                      and other.l_suppkey <> late.l_suppkey
                      and other.l_receiptdate > other.l_commitdate)
 group by s_name
 order by waiting desc, s_name
 limit 100
