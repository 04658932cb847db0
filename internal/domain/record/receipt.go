package record

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Outcome is what became of a publication that was not refused.
type Outcome string

const (
	Published    Outcome = "published"
	Deduplicated Outcome = "deduplicated" // the same was published under the same fence before
	Superseded   Outcome = "superseded"   // a newer revision stands under the fence
)

// Receipt says what became of a publication. It is kept for ReceiptLife, for
// whoever asks again.
type Receipt struct {
	OperationID string    `json:"operation_id"`
	Key         string    `json:"key"`
	Outcome     Outcome   `json:"outcome"`
	Revision    int64     `json:"revision"`        // of the record then; 0 where there was none
	Fence       *Fence    `json:"fence,omitempty"` // that stood then
	Changes     []Change  `json:"changes"`         // by section
	At          time.Time `json:"at"`
	Replayed    bool      `json:"-"` // an earlier request did it
}

// Change is what a publication made of one section, named or implied.
type Change struct {
	Section  string  `json:"section"`
	Live     bool    `json:"live"`
	Digest   *Digest `json:"digest,omitempty"` // of a live one
	Length   int64   `json:"length"`
	Sequence int64   `json:"export_sequence"`
}

// ReceiptLife is how long a receipt is kept.
const ReceiptLife = 7 * 24 * time.Hour

// Stored is what is kept under an operation id: one of the two.
type Stored struct {
	Publication *Receipt    `json:"publication,omitempty"`
	Completion  *Completion `json:"completion,omitempty"`
}

// storedReceipt is a row of receipts.
type storedReceipt struct {
	Stored
	fingerprint [32]byte
}

var (
	errOperationReused = domain.Conflict("operation_id_reused",
		"The operation id was used for something else. Ids are used once; ask with the same content, or under another id.")
	errNoReceipt = domain.NotFound("receipt_not_found",
		"There is no receipt of this operation: it was never made, or more than 7 days ago.")
)

// replay gives what the operation came to, if it is known.
func (c *locked) replay(operationID string, fingerprint [32]byte) (stored Stored, known bool, err error) {
	r, known := c.receipts[operationID]
	if known && r.fingerprint != fingerprint {
		return Stored{}, true, errOperationReused
	}
	return r.Stored, known, nil
}

// keep keeps what an operation came to, if it has an id.
func (c *locked) keep(operationID string, fingerprint [32]byte, stored Stored) {
	if operationID == "" {
		return
	}
	c.receipts[operationID] = storedReceipt{stored, fingerprint}
	c.newReceipts = append(c.newReceipts, operationID)
}
