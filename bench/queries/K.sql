-- K: orders deleted, and by a foreign key their line items.
delete from orders where o_custkey between 300000 and 300400
