-- K: orders deleted, and by a foreign key their line items; at scale 10 of customers 300000 to 300400.
delete from orders where o_custkey between (30000 * {scale})::int and (30040 * {scale})::int
