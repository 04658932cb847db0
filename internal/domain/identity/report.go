package identity

import "github.com/holdfast-dev/holdfast/internal/domain"

// Report says what an import has made of a tenant's namespace, for an operator
// to compare with what was meant, and to open it by naming the hash.
type Report struct {
	Tenant domain.TenantID
	Census
	Found     []Violation // the first of them, at most 100
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
