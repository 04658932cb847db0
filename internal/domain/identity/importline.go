package identity

import (
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// maxImportKey bounds the importer's own key of a line, in characters.
const maxImportKey = 255

// ImportLine is one line of an import: an account or a device, under a key of
// the importer's own. Keys of accounts and of devices don't meet: both may have
// a "42". A line that couldn't be read says so in Refused, and has neither.
type ImportLine struct {
	Key     string // 1 to 255 characters; names the record within its kind, for good
	Account *ImportAccount
	Device  *ImportDevice
	Refused *domain.Error // answered in the line's place; nothing else is looked at
}

// ImportAccount is an account as another directory had it.
type ImportAccount struct {
	Handle          string          `json:"handle"`
	Email           *string         `json:"email,omitempty"`             // verified there, and claimed here
	EmailVerified   *bool           `json:"email_verified,omitempty"`    // nil is true; false is refused
	EmailVerifiedAt *time.Time      `json:"email_verified_at,omitempty"` // nil is the time of the import; never later than that
	DisplayName     *string         `json:"display_name,omitempty"`      // at most 200 characters
	Attributes      json.RawMessage `json:"attributes,omitempty"`        // a JSON object of at most 16 KiB, or nil
	Status          Status          `json:"status,omitempty"`            // Active or Disabled; "" is Active
	CreatedAt       *time.Time      `json:"created_at,omitempty"`        // nil is the time of the import; never later than that
}

// ImportDevice is a device as another directory had it. The account is named by
// its key in the same import, on an earlier line or in an earlier run, or by its
// id. An approved device has one; a revoked one may; a pending one has none, and
// has a user code.
type ImportDevice struct {
	AccountKey string           `json:"account_key,omitempty"`
	Account    domain.AccountID `json:"account_id,omitzero"`
	Label      *string          `json:"label,omitempty"` // at most 200 characters
	Status     DeviceStatus     `json:"status"`          // DeviceApproved, DeviceRevoked or DevicePending
	UserCode   *string          `json:"user_code,omitempty"`
	ExpiresAt  *time.Time       `json:"expires_at,omitempty"` // the code's; with one, and only then. An expired one is stored and not claimed
	CreatedAt  *time.Time       `json:"created_at,omitempty"` // nil is the time of the import; never later than that
}

// ImportOutcome is what became of a line.
type ImportOutcome string

const (
	ImportCreated ImportOutcome = "created"
	ImportExists  ImportOutcome = "exists" // an earlier one with this key and this very content made it
	ImportFailed  ImportOutcome = "failed" // nothing was made; Error says why
)

// ImportResult answers one line.
type ImportResult struct {
	Line   int // from 1
	Key    string
	Result ImportOutcome
	Family domain.Family   // account or device; "" for a line that couldn't be read
	ID     domain.RecordID // of the record; zero for a failed line
	Error  *domain.Error   // nil unless failed; its pointers are into the line
}
