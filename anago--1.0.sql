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

REVOKE ALL ON FUNCTION anago_index_groups(regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION anago_resident(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION anago_index_groups(regclass) TO pg_read_all_stats;
GRANT EXECUTE ON FUNCTION anago_resident(regclass) TO pg_read_all_stats;
