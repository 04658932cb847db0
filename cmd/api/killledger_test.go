package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// ledger is what all callers together were told of who has which key, and of how
// far each record is. Handles and addresses don't meet: these have an @.
type ledger struct {
	mu     sync.Mutex
	stints map[string][]*stint
	told   map[string][]acknowledged // by record
	kinds  map[revision]string       // of acknowledged changes
	ids    []string                  // of accounts, as they were acknowledged
}

// stint is one account's time with a key.
type stint struct {
	key     string
	account string    // its id; "" while nobody knows
	from    time.Time // since when it may have had the key
	until   time.Time // since when it hasn't any more; zero while it may
	had     bool      // for sure, once
	leaving int       // changes are under way, or open, that take the key away
	shaken  int       // there were so many of these
	tomb    bool      // the account was deleted, and holds its handle in quarantine
}

// forSure tells whether the account has the key whatever comes of what is open.
func (st *stint) forSure() bool { return st.had && st.leaving == 0 && st.until.IsZero() }

type revision struct {
	record string
	number int64
}

type acknowledged struct {
	at       time.Time
	revision int64 // gone for a deletion
}

const gone = math.MaxInt64

func newLedger() *ledger {
	return &ledger{stints: map[string][]*stint{}, told: map[string][]acknowledged{}, kinds: map[revision]string{}}
}

func keyOf(text string) string { return strings.ToLower(text) }

// wants says that somebody is about to ask for a key.
func (l *ledger) wants(key, account string) *stint {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := &stint{key: keyOf(key), account: account, from: time.Now()}
	l.stints[st.key] = append(l.stints[st.key], st)
	return st
}

// has says that an account was acknowledged to have the key. The answer is what
// is wrong with that, or "".
func (l *ledger) has(st *stint, account string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	st.account, st.had = account, true
	for _, other := range l.stints[st.key] {
		if other != st && other.forSure() && st.leaving == 0 {
			return fmt.Sprintf("%s was given to %s, and %s has it", st.key, account, other.account)
		}
	}
	return ""
}

// leaves says that the key is about to be taken from the account; stays, that it
// was not; left, that it was, or that the account never got it.
func (l *ledger) leaves(st *stint) {
	if st != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		st.leaving++
		st.shaken++
	}
}

func (l *ledger) stays(st *stint) {
	if st != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		st.leaving--
	}
}

func (l *ledger) left(st *stint) {
	if st != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		st.until = time.Now()
	}
}

func (l *ledger) entombs(st *stint) {
	l.mu.Lock()
	defer l.mu.Unlock()
	st.tomb = true
}

// mayHaveBeenTaken tells whether anybody but the one who asked may have had the
// key since it asked.
func (l *ledger) mayHaveBeenTaken(asking *stint, since time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.stints[asking.key], func(st *stint) bool {
		return st != asking && (st.until.IsZero() || !st.until.Before(since))
	})
}

// acknowledge notes how far a record is for sure, and by what kind of change it
// came there; "" for one that isn't known.
func (l *ledger) acknowledge(record string, number int64, kind string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.told[record]
	if len(all) == 0 && strings.HasPrefix(kind, "account.") {
		l.ids = append(l.ids, record)
	}
	if n := len(all); n == 0 || all[n-1].revision < number {
		l.told[record] = append(all, acknowledged{time.Now(), number})
	}
	if kind != "" && number != gone {
		l.kinds[revision{record, number}] = kind
	}
}

// floor is the revision that whoever asks from then on must be shown at least.
func (l *ledger) floor(record string, began time.Time) (least int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.told[record] {
		if !a.at.After(began) {
			least = a.revision
		}
	}
	return least
}

// all are the stints with a key.
func (l *ledger) all(key string) (copies []stint) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, st := range l.stints[key] {
		copies = append(copies, *st)
	}
	return copies
}

// present are the accounts that are there for sure, by their time with their
// handle, and how often that was in doubt.
func (l *ledger) present() map[*stint]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	there := map[*stint]int{}
	for key, all := range l.stints {
		if strings.Contains(key, "@") {
			continue
		}
		for _, st := range all {
			if st.forSure() && !st.tomb {
				there[st] = st.shaken
			}
		}
	}
	return there
}

// now is the floor for whoever asks from now on.
func (l *ledger) now(record string) int64 { return l.floor(record, time.Now()) }

// anyAccount is the id of some account that was acknowledged.
func (l *ledger) anyAccount(rng *rand.Rand) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ids) == 0 {
		return ""
	}
	return l.ids[rng.IntN(len(l.ids))]
}

// watch is a key that somebody is about to look up.
type watch struct {
	key    string
	began  time.Time
	holder *stint // had it for sure then; nil if nobody did
	shaken int
}

func (l *ledger) watch(key string) watch {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := watch{key: keyOf(key), began: time.Now()}
	for _, st := range l.stints[w.key] {
		if st.forSure() {
			w.holder, w.shaken = st, st.shaken
		}
	}
	return w
}

// steady is who had the key from before the look-up until now.
func (l *ledger) steady(w watch) (holder stint, steady bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.holder == nil || !w.holder.forSure() || w.holder.shaken != w.shaken {
		return stint{}, false
	}
	return *w.holder, true
}

// judge holds what a look-up found to what callers had been told: an account that
// has the key, says so itself, and is as far as it was known to be; and nobody
// only where nobody has it for sure. found is nil for nobody.
func (l *ledger) judge(w watch, found *holdfast.Account) string {
	holder, steady := l.steady(w)
	if found == nil {
		if steady && !holder.tomb {
			return fmt.Sprintf("%s leads to nobody, and %s has it", w.key, holder.account)
		}
		return ""
	}
	if keyOf(found.Handle) != w.key && (found.Email == nil || keyOf(*found.Email) != w.key) {
		return fmt.Sprintf("%s leads to %s, which doesn't have it: %+v", w.key, found.ID, found)
	}
	if steady && (holder.account != found.ID || holder.tomb) {
		return fmt.Sprintf("%s leads to %s, and %s has it (deleted: %v)", w.key, found.ID, holder.account, holder.tomb)
	}
	if least := l.floor(found.ID, w.began); found.Revision < least {
		return fmt.Sprintf("%s leads to %s at revision %d, and %d had been acknowledged", w.key, found.ID, found.Revision, least)
	}
	return ""
}
