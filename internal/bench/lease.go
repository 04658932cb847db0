package bench

import (
	"context"
	"fmt"
	"strconv"
)

// LeaseOptions of a run.
type LeaseOptions struct {
	Options
	Worlds int // that are held and written to, where it is not one
}

// Lease measures what nodes do most with the worlds that they hold: append under
// their leases, renew them, read journals and follow them.
func Lease(ctx context.Context, o LeaseOptions) ([]Outcome, error) {
	if err := o.verify(); err != nil {
		return nil, err
	}
	if o.Worlds < 1 {
		return nil, fmt.Errorf("%d worlds can't be measured", o.Worlds)
	}
	s, err := newStack(ctx, o.Environ, appenders, o.Log)
	if err != nil {
		return nil, err
	}
	defer s.close()
	o.Note("taking the leases of %d worlds", o.Worlds)
	worlds, err := s.holdWorlds(ctx, o.Worlds)
	if err != nil {
		return nil, err
	}
	read, err := s.hold(ctx, "world-read")
	if err != nil {
		return nil, err
	}
	if err := s.fillJournal(ctx, read); err != nil {
		return nil, err
	}
	if err := s.fillJournals(ctx, o.Worlds); err != nil {
		return nil, err
	}
	bareServer, err := startReference(ctx, o.Log)
	if err != nil {
		return nil, err
	}
	defer bareServer.Stop()
	secondAPI, second, err := s.startSecond(ctx, o.Log)
	if err != nil {
		return nil, err
	}
	defer secondAPI.Stop()
	etcd, err := startEtcd(ctx, o.Options)
	if err != nil {
		return nil, err
	}
	defer etcd.stop()
	comparisons := s.journalWrites(worlds, etcd)
	comparisons = append(comparisons, s.journalReads(worlds, read, second, newClient("http://"+bareServer.Address, readers))...)
	return o.measure(ctx, s, comparisons)
}

// journalWrites compares appends and renewals.
func (s *stack) journalWrites(worlds []held, etcd *etcd) []Comparison {
	n := len(worlds)
	appended := fmt.Sprintf("pgbench, one statement that checks and moves the head and inserts the entry, %%s, %d clients", appenders)
	one := func(atLeast float64) []Reference {
		return against("pgbench append", fmt.Sprintf(appended, journals(1)), atLeast, s.journaled(pgbenchAppend(1)))
	}
	many := func(atLeast float64) []Reference {
		return against("pgbench append", fmt.Sprintf(appended, journals(n)), atLeast, s.journaled(pgbenchAppend(n)))
	}
	renew := against("pgbench renew", "pgbench likewise, with the head's new expiry", 0, s.journaled(pgbenchRenew(n)))
	return []Comparison{
		{
			What:       "append to one world",
			Product:    fmt.Sprintf("POST /v1/worlds/{world_id}/journal under a lease, one entry of %d bytes with an id, one world, %d callers", payloadSize, appenders),
			product:    s.append(worlds[:1], appenders, 1),
			References: append(etcd.puts(1, 2), one(1)...),
		},
		{
			What:       "append to many worlds",
			Product:    fmt.Sprintf("the same, %d worlds", n),
			product:    s.append(worlds, appenders, 1),
			References: append(etcd.puts(n, 1.2), many(0.5)...),
		},
		{
			What:       "append by hundreds",
			Product:    fmt.Sprintf("entries of the same, %d a request, one world, %d callers", batchSize, batchers),
			product:    s.append(worlds[:1], batchers, batchSize),
			References: many(3.33),
		},
		{
			What:       "renew by hundreds",
			Product:    fmt.Sprintf("leases renewed by POST /v1/leases/renew, %d a request, %d worlds, a caller for each %d", batchSize, n, batchSize),
			product:    s.renew(worlds),
			References: append(many(1.33), renew...),
		},
	}
}

// journalReads compares what is read, and times what is followed through the
// second API.
func (s *stack) journalReads(worlds []held, read held, second, bare *client) []Comparison {
	followed := worlds[:min(followers, len(worlds))]
	return []Comparison{
		{
			What:    "read pages",
			Product: fmt.Sprintf("GET /v1/worlds/{world_id}/journal, %d entries, %d callers", pageSize, readers),
			product: page(s.tenant, read.journal()+"?after=%d&limit="+strconv.Itoa(pageSize)),
			References: against("bare page", fmt.Sprintf("a bare Echo handler with one read of %d entries by primary key, %d callers", pageSize, readers), 0,
				page(bare, "/reference/journal/%d")),
		},
		{
			What: "see on a stream",
			Product: fmt.Sprintf("from the sending of an append to its event on a stream through another API process, %d worlds, each with one writer that waits for it",
				len(followed)),
			product: s.follow(second, followed),
		},
	}
}

func journals(n int) string {
	if n == 1 {
		return "one journal"
	}
	return fmt.Sprintf("%d journals", n)
}
