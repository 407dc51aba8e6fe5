-- 32 queries of an application (bench/lib/app.py has its tables).  A query begins
-- with "-- name: what it is for" and ends with a semicolon.  Where there is a LIMIT
-- the order is total, unless the query says "first rows": then counts are compared.
-- :users, :items, :orders and :events are the numbers of rows.

-- user_page: the last events of one user
select id, created_at, kind, payload from events
 where user_id = :users / 7 order by created_at desc, id limit 20;

-- user_orders: one user's orders with their lines
select o.id, o.created_at, o.status, l.quantity, l.price
  from orders o join order_items l on l.order_id = o.id
 where o.user_id = 12 order by o.created_at desc, l.id limit 50;

-- session: all events of a session, by an expression index
select id, created_at, kind, item_id, payload from events
 where payload ->> 'session' = md5('4711') order by id;

-- sessions: some sessions at once
select id, kind, payload ->> 'ip' from events
 where payload ->> 'session' in (md5('1'), md5('20'), md5('300'), md5('4000'),
    md5('5000'), md5('6000'), md5('7000'), md5('8000'), md5('9000'), md5('10000'));

-- by_email: a user and all that belongs to him
select u.name, o.id, o.total, l.item_id, i.title
  from users u join orders o on o.user_id = u.id
  join order_items l on l.order_id = o.id join items i on i.id = l.item_id
 where u.email = 'user77@example.org';

-- keyset_orders: the next page of all orders
select id, user_id, status, total from orders
 where (created_at, id) < (timestamptz '2024-05-05 05:05+00', :orders / 2)
 order by created_at desc, id desc limit 50;

-- keyset_events: the next page of one kind of events, with users
select e.id, e.created_at, e.payload, u.name
  from events e join users u on u.id = e.user_id
 where e.kind = 'buy' and e.created_at < timestamptz '2024-06-01 00:00+00'
 order by e.created_at desc, e.id limit 50;

-- keyset_ids: a page of items by id, with the number of their events
select i.id, i.title, (select count(*) from events e where e.item_id = i.id)
  from items i where i.id > :items * 3 / 4 order by i.id limit 25;

-- in_users: fifty users by id
select id, name, settings from users
 where id in (select (g * 7919::bigint) % :users + 1 from generate_series(1, 50) g);

-- in_items_events: events of some items, no order
select id, created_at, user_id, payload from events
 where item_id in (:items - 1, :items - 20, :items - 300, :items - 4000,
    :items - 5000, :items / 2, :items / 3, :items / 4, :items / 5);

-- in_orders: lines of a hundred orders, with items
select l.order_id, l.quantity, i.sku, i.title
  from order_items l join items i on i.id = l.item_id
 where l.order_id = any (array(select (g * 104729::bigint) % :orders + 1
                                 from generate_series(1, 100) g));

-- hour: one hour of events
select id, kind, user_id, payload from events
 where created_at >= timestamptz '2024-03-03 10:00+00'
   and created_at < timestamptz '2024-03-03 11:00+00';

-- day_counts: one day by kind
select kind, count(*), count(distinct user_id) from events
 where created_at >= timestamptz '2023-11-11 00:00+00'
   and created_at < timestamptz '2023-11-12 00:00+00' group by kind;

-- errors: errors of a week, with who had them
select e.id, e.created_at, u.email, e.payload ->> 'ip'
  from events e join users u on u.id = e.user_id
 where e.kind = 'error' and e.created_at >= timestamptz '2023-07-01 00:00+00'
   and e.created_at < timestamptz '2023-07-08 00:00+00';

-- open_orders: open orders of a month, with users
select o.id, o.total, u.name, u.country
  from orders o join users u on u.id = o.user_id
 where o.status = 'open' and o.created_at >= timestamptz '2024-08-01 00:00+00'
   and o.created_at < timestamptz '2024-09-01 00:00+00';

-- first_lines: any ten lines of expensive items (first rows)
select l.id, l.order_id, i.title
  from items i join order_items l on l.item_id = i.id
 where i.category_id = 150 and i.price > 150 limit 10;

-- first_events: any fifty events of new users (first rows)
select u.id, u.name, e.id, e.kind, e.payload
  from users u join events e on e.user_id = u.id
 where u.created_at >= timestamptz '2024-10-01 00:00+00' limit 50;

-- first_five: any five orders of a country's users (first rows)
select u.id, o.id, o.total, o.note from users u join orders o on o.user_id = u.id
 where u.country = 'c35' and o.status = 'returned' limit 5;

-- four_tables: what a country's newest users bought
select u.id, o.id, i.sku, l.quantity
  from users u join orders o on o.user_id = u.id
  join order_items l on l.order_id = o.id join items i on i.id = l.item_id
 where u.country = 'c20' and u.created_at > timestamptz '2024-09-01 00:00+00';

-- item_buyers: who bought an item
select distinct u.id, u.email from order_items l join orders o on o.id = l.order_id
  join users u on u.id = o.user_id where l.item_id = :items / 3;

-- also_bought: what else was in the orders of an item
select o.item_id, count(*) from order_items l
  join order_items o on o.order_id = l.order_id and o.item_id <> l.item_id
 where l.item_id = :items / 100 group by o.item_id order by 2 desc, 1 limit 10;

-- category_sales: sales of a category
select count(*), sum(l.quantity * l.price) from items i
  join order_items l on l.item_id = i.id where i.category_id = 120;

-- latest_per_user: the last three events of each of a hundred users
select u.id, e.id, e.created_at, e.kind from users u
  cross join lateral (select * from events e where e.user_id = u.id
                       order by e.created_at desc, e.id limit 3) e
 where u.id between :users / 2 and :users / 2 + 99;

-- latest_order: the last order of each of a country's newer users
select u.id, o.id, o.total from users u
  left join lateral (select * from orders o where o.user_id = u.id
                      order by o.created_at desc, o.id limit 1) o on true
 where u.country = 'c30' and u.created_at > timestamptz '2024-06-01 00:00+00';

-- no_orders: users of a month that never ordered
select u.id, u.email from users u
 where u.created_at >= timestamptz '2024-02-01 00:00+00'
   and u.created_at < timestamptz '2024-03-01 00:00+00'
   and not exists (select from orders o where o.user_id = u.id);

-- returned: users of a month with a returned order
select u.id, u.email from users u
 where u.created_at >= timestamptz '2023-04-01 00:00+00'
   and u.created_at < timestamptz '2023-04-08 00:00+00'
   and exists (select from orders o where o.user_id = u.id
                  and o.status = 'returned');

-- unsold: dear items of some categories that nobody bought
select i.id, i.title from items i
 where i.category_id between 150 and 153 and i.price > 100
   and not exists (select from order_items l where l.item_id = i.id);

-- user_count: events of a user, counted
select count(*), min(created_at), max(created_at) from events
 where user_id = :users / 9;

-- item_months: one item's events by month
select date_trunc('month', created_at at time zone 'UTC'), count(*) from events
 where item_id = :items / 50 group by 1 order by 1;

-- month_sales: sales by month, all of them
select date_trunc('month', created_at at time zone 'UTC'), status, count(*),
    sum(total) from orders group by 1, 2 order by 1, 2;

-- all_kinds: events of a quarter by kind
select kind, count(*), count(item_id) from events
 where created_at >= timestamptz '2024-04-01 00:00+00'
   and created_at < timestamptz '2024-07-01 00:00+00' group by kind;

-- by_key: one order by its key
select o.*, u.name from orders o join users u on u.id = o.user_id
 where o.id = :orders / 3;
