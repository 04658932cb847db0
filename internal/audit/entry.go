package audit

import (
	"crypto/sha256"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// entryType is in every entry, and so in every hash.
const entryType = "holdfast-audit-v1"

// Outcome is what an entry tells of an act.
type Outcome string

const (
	Begun   Outcome = "begun"   // it is about to be done
	Done    Outcome = "done"    // it was done, or what it asks for was so already
	Refused Outcome = "refused" // it wasn't done: the caller may not, or asked for what can't be
	Failed  Outcome = "failed"  // the service failed; status and code say whether it may have been done
	CutOff  Outcome = "cut_off" // no act: entries at the front had their time
)

// Entry is one entry. Append gives it its number, time and place in the chain.
type Entry struct {
	Type     string    `json:"type"`     // entryType
	Sequence int64     `json:"sequence"` // 1, 2, 3, …
	Previous Hash      `json:"previous"` // of the entry in front
	At       time.Time `json:"at"`       // UTC, to the microsecond; never before the one in front

	Outcome   Outcome           `json:"outcome"`
	Act       int64             `json:"act,omitzero"`       // the entry that began what this is the outcome of
	Operation string            `json:"operation"`          // the API's operationId, or a command's name
	Actor     *Actor            `json:"actor,omitzero"`     // nil where nobody was known
	Tenant    domain.TenantID   `json:"tenant_id,omitzero"` // which tenant it concerns; zero for none
	Subjects  map[string]string `json:"subjects,omitempty"` // what it is about, ids by the names of the path's parameters
	Address   string            `json:"address,omitzero"`   // whence it came, as this service's listener saw it
	Request   string            `json:"request_id,omitzero"`
	Status    int               `json:"status,omitzero"`    // of the answer (HTTP)
	Code      string            `json:"code,omitzero"`      // of the problem that was answered
	Before    Hash              `json:"before,omitzero"`    // digest of what it is about
	After     Hash              `json:"after,omitzero"`     // likewise
	Unwritten int64             `json:"unwritten,omitzero"` // how many refusals before this one, of the same caller, have no entry
	Cut       *Cut              `json:"cut,omitzero"`       // of CutOff
}

// Actor is who acts.
type Actor struct {
	Tenant    domain.TenantID    `json:"tenant_id,omitzero"` // zero for an operator
	Principal domain.PrincipalID `json:"principal_id,omitzero"`
	Name      string             `json:"name"`
	Key       domain.KeyID       `json:"key_id,omitzero"`
}

// Cut says which entries are no longer there.
type Cut struct {
	Through int64 `json:"through"` // all up to this number
	Hash    Hash  `json:"hash"`    // of the last of them: what is left begins behind it
}

// Chained is an entry in its place: as its canonical text, and the hash of that.
type Chained struct {
	Sequence int64
	Text     string
	Hash     Hash
}

// chained gives the entry's canonical text and hash.
func (e *Entry) chained() (Chained, error) {
	text, err := canonical(e)
	return Chained{e.Sequence, string(text), sha256.Sum256(text)}, err
}

// AppendJSON appends the entry as the API gives it: an object with all that the
// hash is of, in canonical order, and then the hash.
func (c Chained) AppendJSON(dst []byte) []byte {
	dst = append(dst, c.Text[:len(c.Text)-1]...)
	dst = append(dst, `,"hash":"`...)
	dst = append(dst, c.Hash.String()...)
	return append(dst, `"}`...)
}

// Entry gives what the text says.
func (c Chained) Entry() (e Entry, err error) { return e, json.Unmarshal([]byte(c.Text), &e) }

// split takes an entry as the API gives it, and gives what the hash is of and the
// hash that it shows.
func split(line []byte) (text jsontext.Value, shown Hash, err error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(line, &members); err != nil {
		return nil, Hash{}, err
	}
	if err := json.Unmarshal(members["hash"], &shown); err != nil {
		return nil, Hash{}, err
	}
	delete(members, "hash")
	text, err = canonical(members)
	return text, shown, err
}
