package identity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Report says what an import has made of a tenant's namespace, for an operator
// to compare with what was meant, and to open it by naming the hash.
type Report struct {
	Tenant domain.TenantID
	Census
	Found     []Violation // the first of them, at most maxFound
	Hash      string      // SHA-256, in hexadecimal: any change of any record or key gives another
	Openable  bool
	Obstacles []Obstacle // why it isn't openable
}

// Obstacle is a reason for a namespace to stay closed.
type Obstacle string

const (
	ObstacleViolations Obstacle = "violations"         // something is there that must never be
	ObstaclePending    Obstacle = "pending_operations" // an import is still under way, or recovery has not run
)

// maxFound bounds the violations that a report shows.
const maxFound = 100

// hashed is what a report's hash is taken of, as JSON with the fields in this
// order. It has nothing that time alone changes, and nothing of where the numbers
// live: two reports of the same records and keys have one hash, and the same
// lines imported twice too.
type hashed struct {
	Format     string          `json:"format"`
	Tenant     domain.TenantID `json:"tenant"`
	Layout     string          `json:"layout"`
	Records    []RecordCount   `json:"records"`
	Keys       []KeyCount      `json:"keys"`
	Codes      int64           `json:"codes"`
	Pending    int64           `json:"pending_operations"`
	Violations int64           `json:"violations"`
	Digest     string          `json:"digest"` // of every record and its keys
}

// Report looks at everything that a tenant has, as Check does, and sums it up.
// While others write it is true of no moment; then, or behind it, another report
// has another hash.
//
// Errors: as Check.
func (s *Service) Report(ctx context.Context, tenant domain.TenantID) (Report, error) {
	r := Report{Tenant: tenant}
	i := s.newInspection(tenant, func(v Violation) error {
		if len(r.Found) < maxFound {
			r.Found = append(r.Found, v)
		}
		return nil
	})
	if err := i.all(ctx); err != nil {
		return Report{}, err
	}
	r.Census = i.census()
	if r.Violations > 0 {
		r.Obstacles = append(r.Obstacles, ObstacleViolations)
	}
	if r.Pending > 0 {
		r.Obstacles = append(r.Obstacles, ObstaclePending)
	}
	r.Openable = len(r.Obstacles) == 0
	hash, err := r.hash(i.sum())
	r.Hash = hash
	return r, err
}

func (r *Report) hash(digest [sha256.Size]byte) (string, error) {
	canonical, err := json.Marshal(hashed{
		Format:     "holdfast-identity-report-1",
		Tenant:     r.Tenant,
		Layout:     domain.Layout,
		Records:    r.Records,
		Keys:       r.Keys,
		Codes:      r.Codes.Live + r.Codes.Past,
		Pending:    r.Pending,
		Violations: r.Violations,
		Digest:     hex.EncodeToString(digest[:]),
	})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}
