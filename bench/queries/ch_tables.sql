-- CH-benCHmark: the nine tables of TPC-C and three of TPC-H, and the five
-- transactions of TPC-C as procedures.  bench/lib/ch.py fills and runs them.

create table warehouse (
    w_id int not null, w_name text not null, w_street_1 text not null,
    w_street_2 text not null, w_city text not null, w_state char(2) not null,
    w_zip char(9) not null, w_tax numeric(4,4) not null,
    w_ytd numeric(12,2) not null);
create table district (
    d_id int not null, d_w_id int not null, d_name text not null,
    d_street_1 text not null, d_street_2 text not null, d_city text not null,
    d_state char(2) not null, d_zip char(9) not null, d_tax numeric(4,4) not null,
    d_ytd numeric(12,2) not null, d_next_o_id int not null);
create table customer (
    c_id int not null, c_d_id int not null, c_w_id int not null,
    c_first text not null, c_middle char(2) not null, c_last text not null,
    c_street_1 text not null, c_street_2 text not null, c_city text not null,
    c_state char(2) not null, c_zip char(9) not null, c_phone char(16) not null,
    c_since timestamp not null, c_credit char(2) not null,
    c_credit_lim numeric(12,2) not null, c_discount numeric(4,4) not null,
    c_balance numeric(12,2) not null, c_ytd_payment numeric(12,2) not null,
    c_payment_cnt int not null, c_delivery_cnt int not null, c_data text not null);
create table history (
    h_c_id int not null, h_c_d_id int not null, h_c_w_id int not null,
    h_d_id int not null, h_w_id int not null, h_date timestamp not null,
    h_amount numeric(6,2) not null, h_data text not null);
create table orders (
    o_id int not null, o_d_id int not null, o_w_id int not null,
    o_c_id int not null, o_entry_d timestamp not null, o_carrier_id int,
    o_ol_cnt int not null, o_all_local int not null);
create table new_order (
    no_o_id int not null, no_d_id int not null, no_w_id int not null);
create table order_line (
    ol_o_id int not null, ol_d_id int not null, ol_w_id int not null,
    ol_number int not null, ol_i_id int not null, ol_supply_w_id int not null,
    ol_delivery_d timestamp, ol_quantity int not null,
    ol_amount numeric(6,2) not null, ol_dist_info char(24) not null);
create table item (
    i_id int not null, i_im_id int not null, i_name text not null,
    i_price numeric(5,2) not null, i_data text not null);
create table stock (
    s_i_id int not null, s_w_id int not null, s_quantity int not null,
    s_dist char(24)[] not null, s_ytd int not null, s_order_cnt int not null,
    s_remote_cnt int not null, s_data text not null);
create table region (
    r_regionkey int not null, r_name text not null, r_comment text not null);
create table nation (
    n_nationkey int not null, n_name text not null, n_regionkey int not null,
    n_comment text not null);
create table supplier (
    su_suppkey int not null, su_name text not null, su_address text not null,
    su_nationkey int not null, su_phone char(15) not null,
    su_acctbal numeric(12,2) not null, su_comment text not null);

-- Numbers from low to high, both included.
create function ch_random(low int, high int) returns int
    language sql volatile parallel safe
    return low + floor(random() * (high - low + 1))::int;

-- TPC-C's uneven numbers.
create function ch_nurand(a int, low int, high int) returns int
    language sql volatile parallel safe
    return (((ch_random(0, a) | ch_random(low, high)) + a / 2)
            % (high - low + 1)) + low;

create function ch_last_name(number int) returns text
    language sql immutable parallel safe
    return (array['BAR','OUGHT','ABLE','PRI','PRES','ESE','ANTI','CALLY','ATION',
                  'EING'])[number / 100 % 10 + 1] ||
           (array['BAR','OUGHT','ABLE','PRI','PRES','ESE','ANTI','CALLY','ATION',
                  'EING'])[number / 10 % 10 + 1] ||
           (array['BAR','OUGHT','ABLE','PRI','PRES','ESE','ANTI','CALLY','ATION',
                  'EING'])[number % 10 + 1];

-- Any warehouse but this one; this one if there is no other.
create function ch_other_warehouse(home int, warehouses int) returns int
    language sql volatile parallel safe
    return case when warehouses = 1 then home
                else (home - 1 + ch_random(1, warehouses - 1)) % warehouses + 1 end;

-- By last name the one in the middle, by first names.
create function ch_customer(w int, d int, customers int) returns int
    language plpgsql volatile as $$
declare
    found_ids int[];
begin
    if random() < 0.6 then
        select array_agg(c_id order by c_first) into found_ids from customer
         where c_w_id = w and c_d_id = d
           and c_last = ch_last_name(ch_nurand(255, 0, 999));
        if found_ids is not null then
            return found_ids[(cardinality(found_ids) + 1) / 2];
        end if;
    end if;
    return ch_nurand(1023, 1, customers);
end $$;

create procedure ch_new_order(warehouses int, customers int, items int)
    language plpgsql as $$
declare
    w int := ch_random(1, warehouses);
    d int := ch_random(1, 10);
    c int := ch_nurand(1023, 1, customers);
    lines int := ch_random(5, 15);
    rolls_back boolean := random() < 0.01;
    remote boolean := random() < 0.1;
    ids int[];
    o int;
    number int := 0;
    one int;
    supplier int;
    quantity int;
    price numeric;
    dist text;
begin
    -- Sorted, so that two orders never wait for each other.
    select array_agg(i order by i) into ids
      from (select ch_nurand(8191, 1, items) i from generate_series(1, lines)) s;
    if rolls_back then
        ids[lines] := items + 1;
    end if;
    perform w_tax from warehouse where w_id = w;
    perform c_discount, c_last, c_credit from customer
      where c_w_id = w and c_d_id = d and c_id = c;
    update district set d_next_o_id = d_next_o_id + 1
     where d_w_id = w and d_id = d returning d_next_o_id - 1 into o;
    insert into orders values (o, d, w, c, localtimestamp, null, lines,
                               case when remote then 0 else 1 end);
    insert into new_order values (o, d, w);
    foreach one in array ids loop
        number := number + 1;
        supplier := w;
        if remote and number = lines then
            supplier := ch_other_warehouse(w, warehouses);
        end if;
        quantity := ch_random(1, 10);
        select i_price into price from item where i_id = one;
        if not found then
            rollback;
            return;
        end if;
        update stock set
            s_quantity = s_quantity - quantity +
                case when s_quantity >= quantity + 10 then 0 else 91 end,
            s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + (supplier <> w)::int
         where s_w_id = supplier and s_i_id = one returning s_dist[d] into dist;
        insert into order_line values (o, d, w, number, one, supplier, null,
                                       quantity, quantity * price, dist);
    end loop;
end $$;

create procedure ch_payment(warehouses int, customers int)
    language plpgsql as $$
declare
    w int := ch_random(1, warehouses);
    d int := ch_random(1, 10);
    c_w int := w;
    c_d int := d;
    c int;
    amount numeric := ch_random(100, 500000) / 100.0;
begin
    if random() < 0.15 then
        c_w := ch_other_warehouse(w, warehouses);
        c_d := ch_random(1, 10);
    end if;
    c := ch_customer(c_w, c_d, customers);
    update warehouse set w_ytd = w_ytd + amount where w_id = w;
    update district set d_ytd = d_ytd + amount where d_w_id = w and d_id = d;
    update customer set c_balance = c_balance - amount,
        c_ytd_payment = c_ytd_payment + amount, c_payment_cnt = c_payment_cnt + 1,
        c_data = case when c_credit = 'BC' then
            left(concat_ws(' ', c, c_d, c_w, d, w, amount, c_data), 500)
            else c_data end
     where c_w_id = c_w and c_d_id = c_d and c_id = c;
    insert into history values (c, c_d, c_w, d, w, localtimestamp, amount,
                                'payment of ' || w || ' ' || d);
end $$;

create procedure ch_order_status(warehouses int, customers int)
    language plpgsql as $$
declare
    w int := ch_random(1, warehouses);
    d int := ch_random(1, 10);
    c int := ch_customer(w, d, customers);
    o int;
begin
    select o_id into o from orders
     where o_w_id = w and o_d_id = d and o_c_id = c order by o_id desc limit 1;
    perform ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
      from order_line where ol_w_id = w and ol_d_id = d and ol_o_id = o;
end $$;

create procedure ch_delivery(warehouses int)
    language plpgsql as $$
declare
    w int := ch_random(1, warehouses);
    carrier int := ch_random(1, 10);
    o int;
    c int;
    amount numeric;
begin
    for d in 1 .. 10 loop
        delete from new_order where no_w_id = w and no_d_id = d and no_o_id =
            (select no_o_id from new_order where no_w_id = w and no_d_id = d
              order by no_o_id limit 1 for update skip locked)
        returning no_o_id into o;
        continue when not found;
        update orders set o_carrier_id = carrier
         where o_w_id = w and o_d_id = d and o_id = o returning o_c_id into c;
        with delivered as (
            update order_line set ol_delivery_d = localtimestamp
             where ol_w_id = w and ol_d_id = d and ol_o_id = o returning ol_amount)
        select sum(ol_amount) into amount from delivered;
        update customer set c_balance = c_balance + amount,
            c_delivery_cnt = c_delivery_cnt + 1
         where c_w_id = w and c_d_id = d and c_id = c;
    end loop;
end $$;

create procedure ch_stock_level(warehouses int)
    language plpgsql as $$
declare
    w int := ch_random(1, warehouses);
    d int := ch_random(1, 10);
    threshold int := ch_random(10, 20);
    next_o int;
begin
    select d_next_o_id into next_o from district where d_w_id = w and d_id = d;
    perform count(distinct s_i_id) from order_line
       join stock on s_w_id = ol_supply_w_id and s_i_id = ol_i_id
      where ol_w_id = w and ol_d_id = d and ol_o_id >= next_o - 20
        and ol_o_id < next_o and s_w_id = w and s_quantity < threshold;
end $$;
