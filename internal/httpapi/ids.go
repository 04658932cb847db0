package httpapi

import (
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// What isn't an id names nothing, so a path that holds such a thing is answered
// as one with an id that nothing has.

func accountID(text string) (id domain.AccountID, err error) {
	return id, parseID(&id, text, "account_not_found", "There is no account with this id.")
}

// changeID gives the zero id, which no change has, for what isn't an id: the
// account that the path names is judged first.
func changeID(text string) (id domain.EmailChangeID) {
	_ = id.UnmarshalText([]byte(text)) // leaves id alone when it fails
	return id
}

func deviceID(text string) (id domain.DeviceID, err error) {
	return id, parseID(&id, text, "device_not_found", "There is no device with this id.")
}

// clientID reads a public client's id, which has a spelling of its own.
func clientID(text string) (domain.ClientID, error) {
	id := clientOrNone(text)
	if id.IsZero() {
		return id, domain.NotFound("client_not_found", "There is no client of that id here.")
	}
	return id, nil
}

// clientOrNone gives the zero id, which no client has, for what isn't one.
func clientOrNone(text string) domain.ClientID {
	id, ok := tenancy.ParseClientIDText(text)
	if !ok {
		return domain.ClientID{}
	}
	return id
}

func principalID(text string) (id domain.PrincipalID, err error) {
	return id, parseID(&id, text, "principal_not_found", "There is no principal of that id here.")
}

func keyID(text string) (id domain.KeyID, err error) {
	return id, parseID(&id, text, "key_not_found", "There is no key of that id here.")
}

// tenantID refuses the id that stands for the operators: a path names tenants.
func tenantID(text string) (id domain.TenantID, err error) {
	err = parseID(&id, text, "tenant_not_found", "There is no tenant of that id.")
	if err == nil && id == tenancy.Operators {
		err = domain.NotFound("tenant_not_found", "There is no tenant of that id.")
	}
	return id, err
}

// migrationID gives the zero id, which no migration has, for what isn't an id: what
// else the path names is judged in its order.
func migrationID(text string) (id domain.MigrationID) {
	_ = id.UnmarshalText([]byte(text)) // leaves id alone when it fails
	return id
}

// reportID likewise.
func reportID(text string) (id domain.ReportID) {
	_ = id.UnmarshalText([]byte(text))
	return id
}

// migrationHash gives the zero hash, which nothing has, for what isn't one. That of
// a body is one by its schema.
func migrationHash(text string) (hash migration.Hash) {
	_ = hash.UnmarshalText([]byte(text)) // likewise
	return hash
}

func parseID[Kind any](id *domain.ID[Kind], text, code, detail string) error {
	if id.UnmarshalText([]byte(text)) != nil {
		return domain.NotFound(code, detail)
	}
	return nil
}

// batchIDs parses the ids of a body, where one that isn't an id is wrong.
func batchIDs(texts []string) ([]domain.AccountID, error) {
	ids := make([]domain.AccountID, len(texts))
	var fields []domain.Field
	for i, text := range texts {
		if ids[i].UnmarshalText([]byte(text)) != nil {
			fields = append(fields, domain.Field{Pointer: "/ids/" + strconv.Itoa(i), Code: "wrong_format"})
		}
	}
	return ids, invalid(fields)
}
