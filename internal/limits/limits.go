package limits

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Limits are what one tenant may do and have.
type Limits struct {
	RequestsPerSecond  int64 // of one process
	ConcurrentRequests int64 // of one process
	WaitingRequests    int64 // of one process: those that follow a journal, or stand in line for a lease
	EntriesPerSecond   int64 // appended to journals, by one process
	ImportRows         int64 // of one request
	Accounts           int64
	Devices            int64
	Worlds             int64
	BodyBytes          int64 // of live bodies, each as often as it is referred to
}

// Default is what a tenant has to whom nobody gave anything else: more than an
// application of a usual size needs, and little enough that one gone wild leaves
// others alone.
var Default = Limits{
	RequestsPerSecond:  2_000,
	ConcurrentRequests: 64,
	WaitingRequests:    1_000,
	EntriesPerSecond:   10_000,
	ImportRows:         10_000,
	Accounts:           10_000_000,
	Devices:            20_000_000,
	Worlds:             100_000,
	BodyBytes:          1 << 40,
}

// Most is the most of anything that a limit can be.
const Most = 1 << 50

// Set are the limits that an operator set for a tenant; nil is the default. The
// revision grows by one with every change, and is 1 before the first.
type Set struct {
	RequestsPerSecond  *int64
	ConcurrentRequests *int64
	WaitingRequests    *int64
	EntriesPerSecond   *int64
	ImportRows         *int64
	Accounts           *int64
	Devices            *int64
	Worlds             *int64
	BodyBytes          *int64
	Revision           int64
}

// Effective are the limits with the defaults where none is set.
func (s Set) Effective() Limits {
	l := Default
	for _, f := range fields {
		if set := *f.set(&s); set != nil {
			*f.effective(&l) = *set
		}
	}
	return l
}

// field is one limit.
type field struct {
	name      string
	least     int64 // a rate of nothing is a suspension, and has a state of its own
	set       func(*Set) **int64
	effective func(*Limits) *int64
}

// The names of those that are no stocks.
const (
	requestsPerSecond  = "requests_per_second"
	concurrentRequests = "concurrent_requests"
	waitingRequests    = "waiting_requests"
	entriesPerSecond   = "entries_per_second"
	importRows         = "import_rows"
)

var fields = []field{
	{requestsPerSecond, 1, func(s *Set) **int64 { return &s.RequestsPerSecond }, func(l *Limits) *int64 { return &l.RequestsPerSecond }},
	{concurrentRequests, 1, func(s *Set) **int64 { return &s.ConcurrentRequests }, func(l *Limits) *int64 { return &l.ConcurrentRequests }},
	{waitingRequests, 1, func(s *Set) **int64 { return &s.WaitingRequests }, func(l *Limits) *int64 { return &l.WaitingRequests }},
	{entriesPerSecond, 1, func(s *Set) **int64 { return &s.EntriesPerSecond }, func(l *Limits) *int64 { return &l.EntriesPerSecond }},
	{importRows, 1, func(s *Set) **int64 { return &s.ImportRows }, func(l *Limits) *int64 { return &l.ImportRows }},
	{string(domain.Accounts), 0, func(s *Set) **int64 { return &s.Accounts }, func(l *Limits) *int64 { return &l.Accounts }},
	{string(domain.Devices), 0, func(s *Set) **int64 { return &s.Devices }, func(l *Limits) *int64 { return &l.Devices }},
	{string(domain.Worlds), 0, func(s *Set) **int64 { return &s.Worlds }, func(l *Limits) *int64 { return &l.Worlds }},
	{string(domain.BodyBytes), 0, func(s *Set) **int64 { return &s.BodyBytes }, func(l *Limits) *int64 { return &l.BodyBytes }},
}

// check refuses what is no limit.
func (s Set) check() error {
	for _, f := range fields {
		if set := *f.set(&s); set != nil && (*set < f.least || *set > Most) {
			return domain.Invalid("limit_invalid", fmt.Sprintf("The limit %s is a number from %d to %d, or null for the default.", f.name, f.least, int64(Most))).At("/" + f.name)
		}
	}
	return nil
}

// Usage is what a tenant has, as it was counted.
type Usage struct {
	Accounts  int64
	Devices   int64
	Worlds    int64
	BodyBytes int64
}

func (u *Usage) of(stock domain.Stock) *int64 {
	switch stock {
	case domain.Accounts:
		return &u.Accounts
	case domain.Devices:
		return &u.Devices
	case domain.Worlds:
		return &u.Worlds
	case domain.BodyBytes:
		return &u.BodyBytes
	}
	panic("no stock is called " + string(stock))
}

func (u *Usage) add(more Usage) {
	u.Accounts += more.Accounts
	u.Devices += more.Devices
	u.Worlds += more.Worlds
	u.BodyBytes += more.BodyBytes
}

func (l *Limits) of(stock domain.Stock) int64 {
	for _, f := range fields {
		if f.name == string(stock) {
			return *f.effective(l)
		}
	}
	panic("no stock is called " + string(stock))
}
