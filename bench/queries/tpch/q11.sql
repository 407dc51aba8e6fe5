-- Parts that are more than a small share of Germany's stock.  The share is
-- 0.0001 at scale 1, and less in proportion at others.
with german as (
    select ps_partkey, ps_supplycost * ps_availqty as value
      from nation
      join supplier on s_nationkey = n_nationkey
      join partsupp on ps_suppkey = s_suppkey
     where n_name = 'GERMANY')
select ps_partkey, sum(value) as stock
  from german
 group by ps_partkey
having sum(value) > (select sum(value) * 0.0001 / {scale} from german)
 order by stock desc
