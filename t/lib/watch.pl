# What tests share that look at queries while these run: one session that looks
# on, as connecting takes longer than much of what is looked at.
#
#     watch($node);
#     becomes('count(*) = 2 from anago_activity', 'two queries are at work');
#     configure('anago.server_inflight_reads', 20);
#     is(seen('select in_flight from anago_budget()'), 20, 'the limit is used');
#     unwatch();

use strict;
use warnings FATAL => 'all';
use FindBin;
use Test::More;
use Time::HiRes qw(time usleep);

require "$FindBin::RealBin/common.pl";

# Longer than anything that is waited for takes on a busy machine, in s.  Whether
# it comes soon enough is another question, which until_true() answers.
our $PATIENCE = 60;

my ($watch, $view, $pause);

# watch NODE, SETTING => VALUE...: from now on this server is looked at.  `view`
# has the one row that becomes() is about; `pause` is the time between two looks,
# in s.
sub watch
{
	my ($node, %settings) = @_;

	unwatch() if $watch;
	$view = delete $settings{view};
	$pause = delete $settings{pause} // 0.01;
	$watch = Anago::session($node, 'anago.enable' => 'off', %settings);
	return;
}

# (the server may have gone away meanwhile)
sub unwatch
{
	eval { $watch->quit };
	undef $watch;
	return;
}

# What a query gives.
sub seen
{
	my ($sql) = @_;
	return $watch->query_safe($sql);
}

# Until SQL says t, in ms; undef: not within so many seconds.
sub until_true
{
	my ($sql, $seconds) = @_;
	return Anago::until_true($watch, $sql, $seconds // $PATIENCE, $pause * 1_000_000);
}

# A test: sooner or later this holds, an expression with its FROM; that is not
# needed where there is a view.
sub becomes
{
	my ($condition, $name, $seconds) = @_;
	my $from = defined $view ? " from $view" : '';
	my $ok = ok(defined until_true("select $condition$from", $seconds), $name);

	diag(seen('select * from ' . ($view // 'anago_activity'))) unless $ok;
	return $ok;
}

# The same for what is not asked in SQL.
sub eventually
{
	my ($check, $name) = @_;
	my $start = time;

	while (time - $start < $PATIENCE)
	{
		return pass($name) if $check->();
		usleep(50_000);
	}
	return fail($name);
}

# configure SETTING, VALUE...: for the whole server, at once.  Several values are
# those of a list.
sub configure
{
	my ($name, @values) = @_;

	seen("alter system set $name = " . join(', ', map { "'" . s/'/''/gr . "'" } @values));
	seen('select pg_reload_conf()');
	return;
}

1;
