/* anago--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION anago" to load this file. \quit

CREATE FUNCTION anago_stats(
	OUT queries bigint,
	OUT rows bigint,
	OUT tasks bigint,
	OUT hits bigint,
	OUT reads bigint,
	OUT shared_reads bigint,
	OUT sync_reads bigint,
	OUT no_descriptor bigint,
	OUT given_up bigint,
	OUT latency_us bigint,
	OUT alone_reads bigint,
	OUT alone_us bigint,
	OUT together_reads bigint,
	OUT together_us bigint,
	OUT together_inflight bigint,
	OUT fallbacks bigint,
	OUT stats_reset timestamptz,
	OUT scope text
)
RETURNS record
AS 'MODULE_PATHNAME', 'anago_stats'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION anago_stats() IS
	'counters of anago since they were last reset; see view anago_stats';

CREATE FUNCTION anago_stats_reset()
RETURNS void
AS 'MODULE_PATHNAME', 'anago_stats_reset'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION anago_stats_reset() IS
	'set the counters of anago to zero';

CREATE VIEW anago_stats AS
	SELECT * FROM anago_stats();

COMMENT ON VIEW anago_stats IS
	'counters of anago since they were last reset';
COMMENT ON COLUMN anago_stats.queries IS
	'plan nodes AnagoScan and AnagoJoin executed';
COMMENT ON COLUMN anago_stats.rows IS
	'rows that left steps, all steps together';
COMMENT ON COLUMN anago_stats.tasks IS
	'tasks run';
COMMENT ON COLUMN anago_stats.hits IS
	'blocks found in shared buffers';
COMMENT ON COLUMN anago_stats.reads IS
	'reads issued, without waiting for them';
COMMENT ON COLUMN anago_stats.shared_reads IS
	'times that a task waited for a read that another one had issued';
COMMENT ON COLUMN anago_stats.sync_reads IS
	'blocks read synchronously';
COMMENT ON COLUMN anago_stats.no_descriptor IS
	'of sync_reads, those for want of a file descriptor';
COMMENT ON COLUMN anago_stats.given_up IS
	'of reads, those that no task came for';
COMMENT ON COLUMN anago_stats.latency_us IS
	'time from issue to completion, all reads together, in microseconds';
COMMENT ON COLUMN anago_stats.alone_reads IS
	'reads that a device was waited for, with none other of the process in flight';
COMMENT ON COLUMN anago_stats.alone_us IS
	'time from issue to completion, all of alone_reads together, in microseconds';
COMMENT ON COLUMN anago_stats.together_reads IS
	'reads that a device was waited for, with others of the process in flight';
COMMENT ON COLUMN anago_stats.together_us IS
	'time from issue to completion, all of together_reads together, in microseconds';
COMMENT ON COLUMN anago_stats.together_inflight IS
	'sum over together_reads of reads in flight when they were issued';
COMMENT ON COLUMN anago_stats.fallbacks IS
	'times that an I/O method could not be used and the next one was taken';
COMMENT ON COLUMN anago_stats.stats_reset IS
	'when the counters were last set to zero';
COMMENT ON COLUMN anago_stats.scope IS
	'whose counters these are: server or process';

REVOKE ALL ON FUNCTION anago_stats() FROM PUBLIC;
REVOKE ALL ON FUNCTION anago_stats_reset() FROM PUBLIC;
REVOKE ALL ON anago_stats FROM PUBLIC;
GRANT EXECUTE ON FUNCTION anago_stats() TO pg_read_all_stats;
GRANT SELECT ON anago_stats TO pg_read_all_stats;

CREATE FUNCTION anago_index_groups(
	index regclass,
	OUT columns integer,
	OUT entries double precision,
	OUT low double precision,
	OUT high double precision,
	OUT blocks double precision,
	OUT leaves integer
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'anago_index_groups'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION anago_index_groups(regclass) IS
	'for each number of leading columns of a B-tree index: mean number of entries that agree in them, with its interval of two standard errors, heap blocks that these lead to, and leaves sampled, as planning sees it';

CREATE FUNCTION anago_resident(relation regclass)
RETURNS double precision
AS 'MODULE_PATHNAME', 'anago_resident'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION anago_resident(regclass) IS
	'share of the blocks of a table or index that is cached, 0 to 1, as planning sees it';

CREATE FUNCTION anago_explain_why(
	query text,
	OUT relation text,
	OUT path text,
	OUT cost double precision,
	OUT cheapest text,
	OUT cheapest_cost double precision,
	OUT why text
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'anago_explain_why'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION anago_explain_why(text) IS
	'plan a query, as EXPLAIN does, and tell for each table and join which plans of anago were thought of, what they cost against the cheapest, and why others were not';

REVOKE ALL ON FUNCTION anago_index_groups(regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION anago_resident(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION anago_index_groups(regclass) TO pg_read_all_stats;
GRANT EXECUTE ON FUNCTION anago_resident(regclass) TO pg_read_all_stats;

CREATE TABLE anago_calibration (
	tablespace name NOT NULL,
	taken_at timestamptz NOT NULL,
	taken_by name NOT NULL,
	server_version text NOT NULL,
	method text NOT NULL,
	direct boolean NOT NULL,
	data_bytes bigint NOT NULL,
	in_flight integer[] NOT NULL,
	reads_per_second double precision[] NOT NULL,
	latency_us double precision[] NOT NULL,
	sequential_mb_per_second double precision NOT NULL,
	kernel_page_us double precision NOT NULL,
	buffer_page_us double precision NOT NULL,
	PRIMARY KEY (tablespace, taken_at)
);

COMMENT ON TABLE anago_calibration IS
	'what anago_calibrate() has found; the planner goes by the latest row of each tablespace';
COMMENT ON COLUMN anago_calibration.method IS
	'how reads were kept in flight: uring, posix_fadvise or sim';
COMMENT ON COLUMN anago_calibration.direct IS
	'whether reads passed by the page cache of the kernel';
COMMENT ON COLUMN anago_calibration.data_bytes IS
	'size of the files that were read, at random places';
COMMENT ON COLUMN anago_calibration.in_flight IS
	'depths: reads in flight';
COMMENT ON COLUMN anago_calibration.reads_per_second IS
	'blocks read per second at each of these depths';
COMMENT ON COLUMN anago_calibration.latency_us IS
	'mean time from issue to completion at each of these depths, in microseconds';
COMMENT ON COLUMN anago_calibration.sequential_mb_per_second IS
	'megabytes per second of large reads in order';
COMMENT ON COLUMN anago_calibration.kernel_page_us IS
	'time to read a block that the kernel has in its page cache, in microseconds';
COMMENT ON COLUMN anago_calibration.buffer_page_us IS
	'time to find a block in shared buffers, in microseconds';

SELECT pg_catalog.pg_extension_config_dump('anago_calibration', '');

CREATE FUNCTION anago_calibration_changed()
RETURNS trigger
AS 'MODULE_PATHNAME', 'anago_calibration_changed'
LANGUAGE C;

COMMENT ON FUNCTION anago_calibration_changed() IS
	'has all sessions read anago_calibration again';

CREATE TRIGGER anago_calibration_changed
	AFTER INSERT OR UPDATE OR DELETE ON anago_calibration
	FOR EACH STATEMENT EXECUTE FUNCTION anago_calibration_changed();

CREATE FUNCTION anago_calibrate(
	tablespace name DEFAULT NULL,
	duration interval DEFAULT '10 seconds',
	max_in_flight integer DEFAULT 256
)
RETURNS anago_calibration
AS 'MODULE_PATHNAME', 'anago_calibrate'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION anago_calibrate(name, interval, integer) IS
	'measure the storage of a tablespace (by default the database''s), and have the planner go by it';

CREATE FUNCTION anago_device(
	tablespace name DEFAULT NULL,
	OUT source text,
	OUT taken_at timestamptz,
	OUT latency_us double precision,
	OUT reads_per_second double precision,
	OUT gain double precision
)
RETURNS record
AS 'MODULE_PATHNAME', 'anago_device'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION anago_device(name) IS
	'what planning goes by for a tablespace (by default the database''s): where it is from, time of a read that is alone, reads per second with anago.max_inflight_reads in flight, and how many times as many that is';

REVOKE ALL ON FUNCTION anago_calibrate(name, interval, integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION anago_device(name) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION anago_device(name) TO pg_read_all_stats;
GRANT SELECT ON anago_calibration TO PUBLIC;

CREATE FUNCTION anago_freshness(over interval DEFAULT '1 minute')
RETURNS double precision
AS 'MODULE_PATHNAME', 'anago_freshness'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION anago_freshness(interval) IS
	'on a standby: share, 0 to 1, that is applied of what the primary has written to its WAL over so long a time (1 second to 5 minutes); NULL where that is not known, as on a primary';

REVOKE ALL ON FUNCTION anago_freshness(interval) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION anago_freshness(interval) TO pg_read_all_stats;

CREATE FUNCTION anago_activity(
	OUT pid integer,
	OUT leader_pid integer,
	OUT usesysid oid,
	OUT datid oid,
	OUT since timestamptz,
	OUT share integer,
	OUT in_flight integer,
	OUT wanted integer,
	OUT allowed integer,
	OUT awake integer,
	OUT planned integer,
	OUT reads bigint,
	OUT rows bigint,
	OUT tasks bigint,
	OUT waiting_for text
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'anago_activity'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION anago_activity() IS
	'processes that run queries by anago; see view anago_activity';

CREATE VIEW anago_activity AS
	SELECT a.pid, a.leader_pid, pg_catalog.pg_get_userbyid(a.usesysid) AS usename, d.datname,
		a.since, a.share, a.in_flight, a.wanted, a.allowed, a.awake, a.planned, a.reads, a.rows, a.tasks, a.waiting_for
	FROM anago_activity() a
	LEFT JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) a.datid;

COMMENT ON VIEW anago_activity IS
	'processes that run queries by anago, and what they have of the server''s budget of reads; one''s own, or all for members of pg_read_all_stats';
COMMENT ON COLUMN anago_activity.pid IS
	'the process';
COMMENT ON COLUMN anago_activity.leader_pid IS
	'the process whose query it is: itself, or the leader of a parallel query';
COMMENT ON COLUMN anago_activity.since IS
	'when the statement began';
COMMENT ON COLUMN anago_activity.share IS
	'anago.share of the query';
COMMENT ON COLUMN anago_activity.in_flight IS
	'reads on their way';
COMMENT ON COLUMN anago_activity.wanted IS
	'reads that would be on their way if nothing but the query''s own window were a limit';
COMMENT ON COLUMN anago_activity.allowed IS
	'reads that may be on their way now; NULL: there is no limit';
COMMENT ON COLUMN anago_activity.awake IS
	'processes of the query that are at work; the others are parked, wait for work, or have ended; NULL: it has one';
COMMENT ON COLUMN anago_activity.planned IS
	'processes that the query was planned with, its leader counted if it takes part; NULL: one';
COMMENT ON COLUMN anago_activity.reads IS
	'blocks read, since the query began in this process';
COMMENT ON COLUMN anago_activity.rows IS
	'rows that plan nodes of anago have given';
COMMENT ON COLUMN anago_activity.tasks IS
	'tasks run';
COMMENT ON COLUMN anago_activity.waiting_for IS
	'budget, reads per second, parked, or a wait event as in pg_stat_activity; NULL: it is at work';

CREATE FUNCTION anago_set_resources(
	pid integer,
	processes integer DEFAULT NULL,
	reads integer DEFAULT NULL
)
RETURNS void
AS 'MODULE_PATHNAME', 'anago_set_resources'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION anago_set_resources(integer, integer, integer) IS
	'limits of the query that a process runs by anago: processes at work, and reads on their way of all of them; NULL leaves a limit as it is, 0 ends it. At once, until the query ends; one''s own, or any for members of pg_signal_backend';

CREATE FUNCTION anago_budget(
	OUT scope text,
	OUT inflight_limit integer,
	OUT reads_per_s_limit integer,
	OUT mb_per_s_limit integer,
	OUT processes integer,
	OUT in_flight integer,
	OUT peak integer
)
RETURNS record
AS 'MODULE_PATHNAME', 'anago_budget'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION anago_budget() IS
	'the budget of reads: whose it is (server, or this process alone), its limits as they are in force, processes that run queries by anago, reads that these have on their way, and the most since the limit was set';

REVOKE ALL ON FUNCTION anago_budget() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION anago_budget() TO pg_read_all_stats;
GRANT SELECT ON anago_activity TO PUBLIC;

CREATE FUNCTION anago_guard(
	OUT pid integer,
	OUT state text,
	OUT transactions_per_s double precision,
	OUT latency_us double precision,
	OUT unloaded_us double precision,
	OUT slowdown double precision,
	OUT inflight_limit integer,
	OUT part_of_time double precision,
	OUT process_limit integer
)
RETURNS record
AS 'MODULE_PATHNAME', 'anago_guard'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION anago_guard() IS
	'what the guard sees and does; see view anago_guard';

CREATE VIEW anago_guard AS
	SELECT * FROM anago_guard();

COMMENT ON VIEW anago_guard IS
	'what the guard sees of transactions, and what reads it leaves to queries by anago';
COMMENT ON COLUMN anago_guard.pid IS
	'its process; NULL: there is none, as anago is not preloaded';
COMMENT ON COLUMN anago_guard.state IS
	'off; idle: no query reads; free: there are no transactions; probe: it looks what these take without queries; limits';
COMMENT ON COLUMN anago_guard.transactions_per_s IS
	'transactions of sessions that run no query by anago, when last counted';
COMMENT ON COLUMN anago_guard.latency_us IS
	'mean time that one of these takes, in microseconds';
COMMENT ON COLUMN anago_guard.unloaded_us IS
	'the same without queries by anago';
COMMENT ON COLUMN anago_guard.slowdown IS
	'one by the other, smoothed; held at or below anago.oltp_slowdown';
COMMENT ON COLUMN anago_guard.inflight_limit IS
	'reads that all queries together may have on their way; NULL: no limit of the guard''s';
COMMENT ON COLUMN anago_guard.part_of_time IS
	'part of the time in which these may be issued';
COMMENT ON COLUMN anago_guard.process_limit IS
	'processes of these queries that may work at once, one of each at least; NULL: no limit of the guard''s';

REVOKE ALL ON FUNCTION anago_guard() FROM PUBLIC;
REVOKE ALL ON anago_guard FROM PUBLIC;
GRANT EXECUTE ON FUNCTION anago_guard() TO pg_read_all_stats;
GRANT SELECT ON anago_guard TO pg_read_all_stats;

CREATE FUNCTION anago_balancer(
	OUT pid integer,
	OUT state text,
	OUT decision text,
	OUT why text,
	OUT decided_at timestamp with time zone,
	OUT oltp_cores double precision,
	OUT oltp_processes integer,
	OUT oltp_cpu double precision,
	OUT olap_cores double precision,
	OUT olap_processes integer,
	OUT olap_cpu double precision,
	OUT shipping_cores double precision,
	OUT shipping_processes integer,
	OUT shipping_cpu double precision,
	OUT transactions double precision,
	OUT waiting double precision,
	OUT queues integer,
	OUT queueing_before double precision,
	OUT queue_variance double precision,
	OUT freshness double precision,
	OUT olap_iowait double precision,
	OUT inflight_limit integer,
	OUT process_limit integer,
	OUT placed integer,
	OUT grouped integer
)
RETURNS record
AS 'MODULE_PATHNAME', 'anago_balancer'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION anago_balancer() IS
	'what the balancer sees and does; see view anago_balancer';

CREATE VIEW anago_balancer AS
	SELECT * FROM anago_balancer();

COMMENT ON VIEW anago_balancer IS
	'what the balancer sees of the server, what it has decided, and what it leaves to queries by anago';
COMMENT ON COLUMN anago_balancer.pid IS
	'its process; NULL: there is none, as anago is not preloaded';
COMMENT ON COLUMN anago_balancer.state IS
	'off; starts; what is favoured: OLTP, log shipping, OLAP or nobody';
COMMENT ON COLUMN anago_balancer.decision IS
	'what was decided at the end of the last period';
COMMENT ON COLUMN anago_balancer.why IS
	'why that is favoured';
COMMENT ON COLUMN anago_balancer.decided_at IS
	'when the last period ended';
COMMENT ON COLUMN anago_balancer.oltp_cores IS
	'cores of transactions, in fractions where there are few cores';
COMMENT ON COLUMN anago_balancer.oltp_processes IS
	'sessions and parallel workers that belong to transactions';
COMMENT ON COLUMN anago_balancer.oltp_cpu IS
	'CPU time that these took, as a part of the time of their cores, 0 to 1';
COMMENT ON COLUMN anago_balancer.olap_cores IS
	'cores of queries';
COMMENT ON COLUMN anago_balancer.olap_processes IS
	'sessions and parallel workers that belong to queries';
COMMENT ON COLUMN anago_balancer.olap_cpu IS
	'CPU time that these took, as a part of the time of their cores, 0 to 1';
COMMENT ON COLUMN anago_balancer.shipping_cores IS
	'cores of log shipping; NULL: there is none';
COMMENT ON COLUMN anago_balancer.shipping_processes IS
	'processes that send, receive or replay WAL';
COMMENT ON COLUMN anago_balancer.shipping_cpu IS
	'CPU time that these took, as a part of the time of their cores, 0 to 1';
COMMENT ON COLUMN anago_balancer.transactions IS
	'processes of transactions that ran or waited, mean over the period; not those that waited for their client or a lock';
COMMENT ON COLUMN anago_balancer.waiting IS
	'of these and of those that wait before the server, those that are more than their cores, for each of these cores';
COMMENT ON COLUMN anago_balancer.queues IS
	'queues before the server, as anago.balancer_queues tells; NULL: none, or not known';
COMMENT ON COLUMN anago_balancer.queueing_before IS
	'transactions that wait in these';
COMMENT ON COLUMN anago_balancer.queue_variance IS
	'variance of their lengths; NULL: there is one at most';
COMMENT ON COLUMN anago_balancer.freshness IS
	'part of the changes that is applied, 0 to 1: 1 on a primary, on a standby as anago_freshness()';
COMMENT ON COLUMN anago_balancer.olap_iowait IS
	'part of the time, 0 to 1, in which CPUs of queries had nothing to do but to wait for storage';
COMMENT ON COLUMN anago_balancer.inflight_limit IS
	'reads that all queries together may have on their way; NULL: no limit of the balancer''s';
COMMENT ON COLUMN anago_balancer.process_limit IS
	'processes of these queries that may work at once, one of each at least; NULL: no limit of the balancer''s';
COMMENT ON COLUMN anago_balancer.placed IS
	'processes that run on CPUs of their class';
COMMENT ON COLUMN anago_balancer.grouped IS
	'processes that are in the control group of their class';

REVOKE ALL ON FUNCTION anago_balancer() FROM PUBLIC;
REVOKE ALL ON anago_balancer FROM PUBLIC;
GRANT EXECUTE ON FUNCTION anago_balancer() TO pg_read_all_stats;
GRANT SELECT ON anago_balancer TO pg_read_all_stats;

CREATE FUNCTION anago_swap(
	OUT pid integer,
	OUT state text,
	OUT why text,
	OUT since timestamptz,
	OUT wish text,
	OUT freshness double precision,
	OUT replayed pg_lsn,
	OUT received pg_lsn,
	OUT paused boolean,
	OUT transactions integer,
	OUT other_state text,
	OUT other_freshness double precision,
	OUT other_heard timestamptz,
	OUT other_error text,
	OUT id bigint,
	OUT term bigint,
	OUT system_identifier bigint
)
RETURNS record
AS 'MODULE_PATHNAME', 'anago_swap'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION anago_swap() IS
	'which of two standbys answers; see view anago_swap';

CREATE VIEW anago_swap AS
	SELECT * FROM anago_swap();

COMMENT ON VIEW anago_swap IS
	'which of two standbys answers queries, and which one applies changes';
COMMENT ON COLUMN anago_swap.pid IS
	'the process that decides; NULL: there is none, as anago is not preloaded or anago.swap_other is not set';
COMMENT ON COLUMN anago_swap.state IS
	'off; primary; starting; applying; taking over; answering; draining; answering alone';
COMMENT ON COLUMN anago_swap.why IS
	'why it came into that state';
COMMENT ON COLUMN anago_swap.since IS
	'when it did';
COMMENT ON COLUMN anago_swap.wish IS
	'why the other one should answer: freshness, clock, bound; none: it need not';
COMMENT ON COLUMN anago_swap.freshness IS
	'part of the changes of the last minute that is applied, 0 to 1; NULL: not known';
COMMENT ON COLUMN anago_swap.replayed IS
	'how far WAL is replayed';
COMMENT ON COLUMN anago_swap.received IS
	'how far it is here';
COMMENT ON COLUMN anago_swap.paused IS
	'replay stands still';
COMMENT ON COLUMN anago_swap.transactions IS
	'transactions of clients that run here';
COMMENT ON COLUMN anago_swap.other_state IS
	'state of the other standby, when it was last heard';
COMMENT ON COLUMN anago_swap.other_freshness IS
	'its freshness then';
COMMENT ON COLUMN anago_swap.other_heard IS
	'when it was last heard; NULL: not yet';
COMMENT ON COLUMN anago_swap.other_error IS
	'why it cannot be asked; NULL: it can';
COMMENT ON COLUMN anago_swap.id IS
	'a random number of the process that decides';
COMMENT ON COLUMN anago_swap.term IS
	'of two that answer the one with the greater term stays, of equal ones that with the greater id';
COMMENT ON COLUMN anago_swap.system_identifier IS
	'of the cluster, the same on both';

REVOKE ALL ON FUNCTION anago_swap() FROM PUBLIC;
REVOKE ALL ON anago_swap FROM PUBLIC;
GRANT EXECUTE ON FUNCTION anago_swap() TO pg_read_all_stats;
GRANT SELECT ON anago_swap TO pg_read_all_stats;
