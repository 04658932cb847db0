package claimsmodel

import "fmt"

// The sizes of the model. Slot 0 of the changes means "no change", so that a
// zero token is no token.
const (
	keyCount    = 3
	recordCount = 3
	changeCount = 8
)

// key is one lookup key: a handle, an email or a device code.
type key uint8

const (
	x key = iota
	y
	z
)

func (k key) String() string { return "xyz"[k : k+1] }

// keys is a set of keys, a bit each.
type keys uint8

func setOf(ks ...key) (s keys) {
	for _, k := range ks {
		s |= 1 << k
	}
	return s
}

func (s keys) has(k key) bool { return s&(1<<k) != 0 }

func (s keys) String() string {
	var list string
	for k := range key(keyCount) {
		if s.has(k) {
			list += k.String()
		}
	}
	return "{" + list + "}"
}

// record is one account or device.
type record uint8

const (
	ann record = iota
	bob
	cid
)

func (r record) String() string { return [...]string{"ann", "bob", "cid"}[r] }

// token names an operation. Each change of a scenario has one of its own, equal
// to its index, so that the owner of a claim follows from the claim's token.
type token uint8

// state is everything that decides what may happen next. It is comparable, made
// of bytes without padding, and whatever nobody will read again is zero: so a
// state is its own canonical encoding.
type state struct {
	rows   [recordCount]row
	claims [keyCount]claim
	runs   [changeCount]run
}

// row is what a record's bucket holds of it.
type row struct {
	content
	pending token // the pending change, by the change that began it; 0 for none
	op      operation
	cleared operation // cleared last, which a crash of the database may bring back
}

// content is the committed record, which only a committed change may alter.
type content struct {
	life     life
	revision uint8
	notes    uint8           // a field that is no lookup key: one bit for each key-preserving update
	held     [keyCount]token // the token of the claim that backs each key; 0 for a key that is not held
}

func (c content) String() string {
	return fmt.Sprintf("{%v, revision %d, notes %b, keys under %v}", c.life, c.revision, c.notes, c.held)
}

func (c content) keys() (s keys) {
	for k := range key(keyCount) {
		if c.held[k] != 0 {
			s |= 1 << k
		}
	}
	return s
}

// life is where a record stands between not existing and having existed.
type life uint8

const (
	absent life = iota
	live
	tombstone        // deleted; its remaining keys are in quarantine
	expiredTombstone // deleted, and the quarantine is over
	removed          // without a trace, but that its id is not used again
)

func (l life) String() string {
	return [...]string{"absent", "live", "tombstone", "expired tombstone", "removed"}[l]
}

// operation is the prepared change on a row. The lists of keys that it carries
// are in its change's run, where they outlive it in late messages.
type operation struct {
	phase   phase
	token   token
	overdue bool // its deadline has passed
}

type phase uint8

const (
	none phase = iota
	prepared
	aborted
	committed
)

// claim gives a key to the owner of its token.
type claim struct {
	token token
	// stray says that this claim may rightly become an orphan: it arrived when
	// its operation was no longer prepared, its prepare was lost, or its
	// tombstone's quarantine ended. Decisions don't see it.
	stray bool
}

// run is one change under way: its caller's progress, the messages of it that
// may still arrive, and its history.
type run struct {
	stage  stage
	answer answer

	// Progress that only the caller knows.
	granted keys // new keys whose claims were answered with a grant

	// What the prepare (or a touch's reading) wrote down.
	base    uint8           // the revision that it was prepared from
	notes   uint8           // the record's notes; only a fault writes them back
	added   keys            // new lookup links
	dropped [keyCount]token // old lookup links, each with the token that backs it
	saw     operation       // the operation that a touch read; only a fault writes it back

	// What may be on its way.
	posted   bool // the first message was sent, and has not arrived
	arrived  bool // the prepare has arrived, and not in vain: claims may be on their way
	asked    bool // a commit or a swap was sent, and may arrive (again)
	released keys // releases carried out since the decision, while the operation is on its row
	missed   keys // keys whose claim a slow reader missed in the first half of its reading

	// History.
	happened bool // committed
	expired  bool // the device code of this change is past its expiry, by its key's bucket
	lapsed   bool // the same by its record's bucket
}

// stage is how far a caller has come with a change.
type stage uint8

const (
	idle     stage = iota
	wishing        // began a pending change
	working        // prepared, or read by a touch
	inVain         // prepared a creation of what exists
	settling       // knows its success, and cleans up
	done           // the caller was told something, and goes on
)

// answer is what a caller was told.
type answer uint8

const (
	untold answer = iota
	success
	failure // it made nothing happen
	unknown // outcome_unknown
)

func (a answer) String() string { return [...]string{"untold", "success", "failure", "unknown"}[a] }
