-- What a year's small orders of one kind of part bring in.
select sum(l.l_extendedprice) / 7.0 as yearly
  from part
  join lineitem l on l.l_partkey = p_partkey
 where p_brand = 'Brand#23'
   and p_container = 'MED BOX'
   and l.l_quantity < (select 0.2 * avg(same.l_quantity)
                         from lineitem same
                        where same.l_partkey = p_partkey)
