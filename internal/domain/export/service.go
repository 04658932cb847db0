package export

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// pageLines is how many lines a page has at most. The longest are accounts, of about
// 20 KiB, and journal entries, of which lease.Service bounds a page.
const pageLines = 200

// Tenants is what the export needs of tenancy.Store.
type Tenants interface {
	ControlRead(ctx context.Context, tenant domain.TenantID, fn func(pgx.Tx) error) error
}

// Service exports tenants.
type Service struct {
	router   *postgres.Router
	tenants  Tenants
	journals *lease.Service
	records  *record.Service
}

// New makes a service. The journals and the records must be read for the purpose
// tenancy.Export.
func New(router *postgres.Router, tenants Tenants, journals *lease.Service, records *record.Service) *Service {
	return &Service{router, tenants, journals, records}
}

// Page is a stretch of an export.
type Page struct {
	Lines [][]byte // JSON objects {"kind": "…", "data": {…}}, on one line each
	Next  Position // to go on from
	More  bool     // something may follow
}

// Page reads the next lines, of one kind: none where the tenant has nothing of it.
// Whoever asks has made sure that the tenant is there.
//
// Errors: forbidden tenant_closed, for a tenant that is being purged, or was;
// unavailable.
func (s *Service) Page(ctx context.Context, tenant domain.TenantID, at Position) (page Page, err error) {
	var keys [][]string
	var values [][]byte
	switch {
	case at.Number == 0:
		keys, values, err = s.readControl(ctx, tenant, at)
	case at.kind().name == kindEntry:
		keys, values, err = s.readEntries(ctx, tenant, at)
	default:
		keys, values, err = s.readNumber(ctx, tenant, at)
	}
	if err != nil {
		return Page{}, err
	}
	if len(keys) == 0 {
		page.Next, page.More = at.next()
		return page, nil
	}
	for _, value := range values {
		line, err := lineOf(at.kind().name, value)
		if err != nil {
			return Page{}, err
		}
		page.Lines = append(page.Lines, line)
	}
	page.Next, page.More = Position{Number: at.Number, Kind: at.Kind, Key: keys[len(keys)-1]}, true
	return page, nil
}

// lineOf puts JSON, which a tenant may have written on several lines, on one.
func lineOf(kind string, value []byte) ([]byte, error) {
	line := bytes.NewBufferString(`{"kind":"` + kind + `","data":`)
	if err := json.Compact(line, value); err != nil {
		return nil, err
	}
	line.WriteByte('}')
	return line.Bytes(), nil
}

func collect(rows pgx.Rows, keys *[][]string, values *[][]byte) error {
	var key []string
	var value []byte
	_, err := pgx.ForEachRow(rows, []any{&key, &value}, func() error {
		*keys, *values = append(*keys, key), append(*values, value)
		key, value = nil, nil
		return nil
	})
	return err
}

func (s *Service) readControl(ctx context.Context, tenant domain.TenantID, at Position) (keys [][]string, values [][]byte, err error) {
	err = s.tenants.ControlRead(ctx, tenant, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, at.kind().sql, at.key(), pageLines)
		return collect(rows, &keys, &values)
	})
	return keys, values, err
}

func (s *Service) readNumber(ctx context.Context, tenant domain.TenantID, at Position) (keys [][]string, values [][]byte, err error) {
	err = s.inNumber(ctx, tenant, at, func(tx *tenancy.Tx, number int16) {
		tx.Queue(at.kind().sql, number, at.key(), pageLines).Query(func(rows pgx.Rows) error {
			return collect(rows, &keys, &values)
		})
	})
	return keys, values, err
}

func (s *Service) inNumber(ctx context.Context, tenant domain.TenantID, at Position, queue func(tx *tenancy.Tx, number int16)) error {
	number := domain.Number(at.Number - 1)
	entry := tenancy.Entry{Tenant: tenant, Numbers: []domain.Number{number}, Purpose: tenancy.Export, ReadOnly: true}
	return tenancy.Run(ctx, s.router.Database(number), entry, func(_ context.Context, tx *tenancy.Tx) error {
		queue(tx, int16(number))
		return nil
	})
}

// Body reads a live section's body, verified, if it is still the one of that digest.
// Whoever gets it closes it.
//
// Errors: conflict body_changed; as record.Service.Body.
func (s *Service) Body(ctx context.Context, tenant domain.TenantID, collection, key, section string, digest record.Digest) (*record.Body, error) {
	body, err := s.records.Body(ctx, tenancy.Scope{Tenant: tenant}, collection, key, section)
	if err != nil {
		return nil, err
	}
	if body.Digest != digest {
		body.Close()
		return nil, domain.Conflict("body_changed", "The section has another body by now. It is in a later export.")
	}
	return body, nil
}
