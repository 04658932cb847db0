package architecture

import (
	"fmt"
	"slices"
	"strings"
)

// A rule says what the packages of a pattern may import. A pattern is a path,
// or "path/..." for it and everything below. Paths of this module go without
// the module's own.
type rule struct {
	packages string
	may      []string // patterns within this module; "..." for all of it
	outside  []string // patterns outside of it and of the standard library; nil for any
}

// nothing is the pattern list that admits no import.
var nothing = []string{}

// domainLibraries are what domain packages use of others: the database's types,
// the tracing API (no SDK), and the text of the world.
var domainLibraries = []string{
	"github.com/jackc/pgx/v5/...",
	"go.opentelemetry.io/otel", "go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/codes",
	"go.opentelemetry.io/otel/metric/...", "go.opentelemetry.io/otel/propagation", "go.opentelemetry.io/otel/trace/...",
	"golang.org/x/text/...", "golang.org/x/net/idna", "golang.org/x/sync/...", "go.mau.fi/util/confusable",
}

// rules are who imports whom. The first one that matches a package is its rule,
// and a package without one is a fault: whoever adds a package says here what
// it may import. Only the packages of "cmd" see everything, and wire it.
var rules = []rule{
	{"internal/domain", nothing, nothing},
	{"internal/domain/identity/...", domainBase("internal/domain/identity/..."), domainLibraries},
	// What is hashed is canonical JSON.
	{"internal/domain/lease/...", domainBase("internal/domain/lease/..."), append([]string{"github.com/go-json-experiment/json/..."}, domainLibraries...)},
	// A publication may carry a lease as its authority.
	{"internal/domain/record/...", domainBase("internal/domain/record/...", "internal/domain/lease"), domainLibraries},
	// What is hashed and approved is canonical JSON.
	{"internal/domain/migration/...", domainBase("internal/domain/migration/...", "internal/domain/record"), append([]string{"github.com/go-json-experiment/json/..."}, domainLibraries...)},

	{"internal/domain/purge", domainBase(), domainLibraries},
	// It gives journals and bodies as their own domains do.
	{"internal/domain/export", domainBase("internal/domain/lease", "internal/domain/record"), domainLibraries},

	{"internal/tenancy/...", []string{"internal/domain", "internal/audit", "internal/postgres"}, nil},
	// What is hashed is canonical JSON.
	{"internal/audit", []string{"internal/domain"}, []string{"github.com/go-json-experiment/json/...", "github.com/jackc/pgx/v5", "github.com/maypok86/otter/v2", "golang.org/x/time/rate", "go.opentelemetry.io/otel", "go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/metric"}},
	{"internal/postgres", []string{"internal/domain", "db/migrations"}, nil},
	{"internal/limits", []string{"internal/domain", "internal/tenancy", "internal/postgres"}, nil},
	{"internal/objectstore/...", []string{"internal/domain"}, nil},
	{"internal/telemetry", nothing, nil},
	{"internal/config", []string{"internal/domain", "internal/postgres", "internal/objectstore"}, nil},
	{"internal/fleet", []string{"internal/domain", "internal/postgres"}, nil},
	// It puts each domain in step again, one after the other.
	{"internal/restore", []string{"internal/domain/...", "internal/tenancy", "internal/postgres"}, nil},
	{"internal/schema", []string{"internal/domain", "internal/postgres", "internal/jobs/riverschema"}, nil},

	{"internal/jobs/riverschema", []string{"internal/postgres"}, nil},
	{"internal/jobs/...", outer("internal/jobs/...", "internal/objectstore"), nil},
	{"internal/httpapi/...", outer("internal/httpapi/...", "web"), nil},

	// It puts the storage's promises to the configured bucket, and goes by the domain's
	// own functions else.
	{"internal/qualify", outer("internal/objectstore/conformance"), nil},

	{"internal/testkit/...", []string{
		"internal/domain/...", "internal/tenancy", "internal/postgres", "internal/objectstore",
		"internal/schema", "internal/jobs/riverschema", "db/migrations",
	}, nil},
	{"internal/bench/...", []string{"..."}, nil},
	{"internal/launch", nothing, nothing},       // starts programs, and so knows none of their code
	{"internal/architecture", nothing, nothing}, // tests only

	// The demo drives the product as a tenant does, and knows none of its code.
	// It holds a lock in the database to stop the API at a chosen moment, and its
	// device is a standard OAuth client.
	{"cmd/demo/...", []string{"clients/...", "internal/launch"}, []string{"github.com/oapi-codegen/nullable", "github.com/jackc/pgx/v5", "golang.org/x/oauth2"}},
	// It runs the clients' examples, as a tenant's programmer does.
	{"cmd/tryout", []string{"clients/go", "internal/launch"}, nothing},
	{"cmd/...", []string{"..."}, nil},
	// They write a part of the client, from what else is generated and from the API's description.
	{"clients/go/internal/...", nothing, []string{"github.com/getkin/kin-openapi/openapi3"}},
	// What generated code needs, the standard client of the token endpoint, what
	// verifies devices' tokens; canonical JSON for a journal's hashes.
	{"clients/...", []string{"clients/..."}, []string{"github.com/oapi-codegen/...", "golang.org/x/oauth2/...", "github.com/golang-jwt/jwt/v5", "github.com/go-json-experiment/json/...", "golang.org/x/sync/semaphore"}},
	{"db/migrations", nothing, nothing},
	{"web/...", nothing, nothing},
}

// domainBase is what every domain package may import of this module.
func domainBase(more ...string) []string {
	return append([]string{"internal/domain", "internal/tenancy", "internal/postgres"}, more...)
}

// outer is what the packages around the domain may import of this module.
func outer(more ...string) []string {
	return append([]string{"internal/domain/...", "internal/tenancy", "internal/audit", "internal/limits", "internal/postgres", "internal/telemetry"}, more...)
}

// A restriction names who alone may import something.
type restriction struct {
	imports string // a pattern
	only    []string
}

var restrictions = []restriction{
	{"github.com/labstack/echo/...", []string{"internal/httpapi/...", "cmd/api", "internal/bench/..."}},
	{"github.com/riverqueue/...", []string{"internal/jobs/...", "cmd/..."}},
	// Tests make buckets, and rules; bodies are measured beside the bare SDK.
	{"github.com/aws/...", []string{"internal/objectstore/...", "internal/testkit", "internal/bench"}},
	{"internal/testkit/...", []string{"internal/testkit/..."}}, // and tests, which are not held to these rules
	{"internal/bench/...", []string{"internal/bench/...", "cmd/holdfast"}},
	{"internal/launch", []string{"internal/bench/...", "cmd/demo", "cmd/tryout", "cmd/holdfast"}},
	{"testing", []string{"internal/testkit/..."}},
	{"devstack/...", nil},
}

// faults are the imports of a package that the rules refuse. Imports of this
// module come without its path.
func faults(pkg string, imports []string) []string {
	i := slices.IndexFunc(rules, func(r rule) bool { return matches(r.packages, pkg) })
	if i < 0 {
		return []string{fmt.Sprintf("%s has no rule: say what it may import", pkg)}
	}
	var found []string
	for _, path := range imports {
		if !allows(rules[i], path) {
			found = append(found, fmt.Sprintf("%s must not import %s: the rule of %s", pkg, path, rules[i].packages))
		}
		for _, r := range restrictions {
			if matches(r.imports, path) && !matchesAny(r.only, pkg) {
				found = append(found, fmt.Sprintf("%s must not import %s: only %v may", pkg, path, r.only))
			}
		}
	}
	return found
}

func allows(r rule, path string) bool {
	switch {
	case isOutside(path):
		return r.outside == nil || matchesAny(r.outside, path)
	case isOurs(path):
		return matchesAny(r.may, path)
	default: // the standard library
		return true
	}
}

// isOutside tells another module's package: its path begins with a host name.
func isOutside(path string) bool {
	host, _, _ := strings.Cut(path, "/")
	return strings.Contains(host, ".")
}

// isOurs tells this module's package, by its folder. The standard library has
// some such folders too, and nobody else can import what is in them.
func isOurs(path string) bool {
	folder, _, _ := strings.Cut(path, "/")
	return slices.Contains([]string{"clients", "cmd", "db", "devstack", "internal", "web"}, folder)
}

func matchesAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, path) })
}

func matches(pattern, path string) bool {
	if pattern == "..." {
		return true
	}
	folder, below := strings.CutSuffix(pattern, "/...")
	return path == folder || below && strings.HasPrefix(path, folder+"/")
}
