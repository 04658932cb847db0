package identity

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// importID is where a line's record stands, whoever imports it.
func importID[Kind any](idKey []byte, family domain.Family, key string) domain.ID[Kind] {
	return domain.DeriveID[Kind](idKey, "import", string(family), key)
}

func checkImportKey(key string) error {
	switch {
	case key == "":
		return domain.Invalid("import_key_invalid", "A line needs a key of your own, by which it is known when it is sent again.").At("/key")
	case utf8.RuneCountInString(key) > maxImportKey:
		return domain.Invalid("import_key_invalid", "A line's key has at most 255 characters.").At("/key")
	}
	if why := damage(key); why != "" {
		return domain.Invalid("import_key_invalid", "A line's key "+why+".").At("/key")
	}
	return nil
}

// readAccount canonicalizes a line as a creation does its request, whose rules
// hold here too. An address that nobody has verified can't be claimed, and an
// import has nobody to give an email change's code to: such a line is refused, so
// that no address is lost without a word.
func (r *importRun) readAccount(key string, line ImportAccount) (*importJob, error) {
	now := time.Now()
	if line.Email != nil && line.EmailVerified != nil && !*line.EmailVerified {
		return nil, domain.Invalid("email_unverified",
			"An import takes only addresses that have been verified. Leave it out, and begin an email change once the account is there.").At("/email_verified")
	}
	if line.Email == nil && line.EmailVerifiedAt != nil {
		return nil, domain.Invalid("email_missing", "There is no address that was verified at that time.").At("/email_verified_at")
	}
	createdAt, err := past(line.CreatedAt, now, "/created_at")
	if err != nil {
		return nil, err
	}
	verifiedAt, err := past(line.EmailVerifiedAt, now, "/email_verified_at")
	if err != nil {
		return nil, err
	}
	account, _, err := r.s.newAccount(r.scope, CreateAccount{
		Handle: line.Handle, Email: line.Email, EmailVerified: true, DisplayName: line.DisplayName, Attributes: line.Attributes,
	})
	if err != nil {
		return nil, err
	}
	switch line.Status {
	case "", Active:
	case Disabled:
		account.Status = Disabled
	default:
		return nil, domain.Invalid("status_invalid", `An account is imported as "active" or "disabled".`).At("/status")
	}
	account.ID = importID[domain.AccountKind](r.scope.Settings.IDKey, domain.FamilyAccount, key)
	line.CreatedAt, line.EmailVerifiedAt, line.Attributes = createdAt, verifiedAt, unlessEmpty(account.Attributes)
	account.fingerprint = fingerprintOfLine(line)

	c := &creating{account: account, actor: principalActor(r.scope), history: history{createdAt, verifiedAt}}
	record := accountRef(account.ID)
	return &importJob{
		record: record,
		has:    append(namesOf(account.links()), nameOf(record)),
		make:   func(ctx context.Context) (bool, error) { return r.makeAccount(ctx, c) },
	}, nil
}

func (r *importRun) makeAccount(ctx context.Context, c *creating) (exists bool, err error) {
	found, err := r.s.createRecord(ctx, r.scope.Tenant, c)
	switch {
	case err != nil || found == nil:
		return false, err
	case !bytes.Equal(found.fingerprint, c.account.fingerprint):
		return false, errLineReused
	case found.Status == deleted:
		return false, errLineDeleted
	}
	return true, nil
}

// past takes a time that has been, to the microsecond that is stored.
func past(given *time.Time, now time.Time, pointer string) (*time.Time, error) {
	if given == nil {
		return nil, nil
	}
	if given.After(now) {
		return nil, domain.Invalid("time_in_future", "This time is still to come.").At(pointer)
	}
	return new(given.UTC().Truncate(time.Microsecond)), nil
}

// fingerprintOfLine tells a line that is sent again from another one under its
// key.
func fingerprintOfLine(line any) []byte {
	canonical, _ := json.Marshal(line) // text, times, and JSON that was validated
	sum := sha256.Sum256(canonical)
	return sum[:]
}
