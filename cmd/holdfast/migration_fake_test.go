package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const (
	aTenant    = "01930000-0000-7000-8000-000000000001"
	aMigration = "01930000-0000-7000-8000-000000000002"
	aRun       = "01930000-0000-7000-8000-000000000003"
	aReport    = "01930000-0000-7000-8000-000000000004"

	thisMigration = "/v1/tenants/" + aTenant + "/migrations/" + aMigration
)

var (
	aPlan     = strings.Repeat("a", 64)
	anotherOf = strings.Repeat("b", 64)
	someTime  = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
)

// scripted is an API that answers what the test says, and keeps what it was asked.
type scripted struct {
	environ []string

	mu      sync.Mutex
	answers map[string][]any // by method and path; the last one stands
	asked   []asked
}

// asked is a request that changes something, or would.
type asked struct{ Route, Body string }

// problem is an answer that isn't a success.
type problem struct {
	Status     int                   `json:"status"`
	Code       string                `json:"code"`
	Detail     string                `json:"detail"`
	Request    string                `json:"request_id"`
	Collection string                `json:"collection,omitempty"`
	Key        string                `json:"key,omitempty"`
	Section    string                `json:"section,omitempty"`
	State      string                `json:"state,omitempty"`
	Drift      *[]holdfast.PlanDrift `json:"drift,omitempty"`
}

func newScripted(t *testing.T) *scripted {
	t.Helper()
	s := &scripted{answers: map[string][]any{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.environ = []string{"HOLDFAST_URL=" + server.URL, "HOLDFAST_API_KEY=" + tenancy.GenerateKey(time.Now())}
	s.on("POST /v1/oauth/token", holdfast.Token{AccessToken: "t", TokenType: "Bearer", ExpiresIn: 900})
	return s
}

// on says what a route answers, call by call.
func (s *scripted) on(route string, answers ...any) { s.answers[route] = answers }

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	route := r.Method + " " + r.URL.Path
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method != http.MethodGet && r.URL.Path != "/v1/oauth/token" {
		s.asked = append(s.asked, asked{strings.TrimPrefix(route, r.Method+" "), string(body)})
	}
	var given any = problem{Status: http.StatusNotFound, Code: "unscripted", Detail: route, Request: "r"}
	if left := s.answers[route]; len(left) > 0 {
		given, s.answers[route] = left[0], left[min(1, len(left)-1):]
	}
	status, kind := statusOf(r), "application/json"
	if p, is := given.(problem); is {
		status, kind = p.Status, "application/problem+json"
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(given)
}

// statusOf is what a route answers with when all is well.
func statusOf(r *http.Request) int {
	switch {
	case r.Method != http.MethodPost:
	case strings.HasSuffix(r.URL.Path, "/run"), strings.HasSuffix(r.URL.Path, "/scrub"):
		return http.StatusAccepted
	case strings.HasSuffix(r.URL.Path, "/migrations"), strings.HasSuffix(r.URL.Path, "/verify"):
		return http.StatusCreated
	}
	return http.StatusOK
}

// wasAsked are the requests that change something, and forgets them.
func (s *scripted) wasAsked() []asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.asked
	s.asked = nil
	return all
}

// inState is a migration's status in a state, with a plan.
func inState(state string) holdfast.TenantMigrationStatus {
	s := holdfast.TenantMigrationStatus{
		Migration: holdfast.Migration{
			MigrationID: aMigration, TenantID: aTenant, Kind: "record_bodies", State: state, Revision: 3, FormerPlanHashes: []string{},
			RequestedBy: holdfast.MigrationActor{Name: "grace"}, RequestedAt: someTime, ChangedAt: someTime,
		},
		Progress: holdfast.MigrationProgress{
			At: someTime, Left: holdfast.MigrationLeft{Records: 30, Sections: 40, Whole: true}, Total: holdfast.MigrationCounters{Records: 10, Bodies: 12, Bytes: 4096},
			Collections: []holdfast.MigrationCollection{}, Awaited: []string{}, Reasons: []holdfast.MigrationReason{},
			Next: holdfast.MigrationNext{Code: "none", Text: "Nothing, until an operator acts."},
		},
		Transitions: []holdfast.MigrationTransition{}, Runs: []holdfast.MigrationRun{}, Reports: []holdfast.MigrationReport{},
	}
	if state != "requested" && state != "aborted" {
		s.Migration.PlanHash = &aPlan
		s.Migration.Caps = &holdfast.MigrationCaps{InspectedRows: 64, Records: 4, Bytes: 8 << 20, BodiesInFlight: 4}
	}
	if state == "stopped" {
		s.Migration.Stop = &holdfast.MigrationStop{Category: "source_defect", FromState: "active", Detail: "A section isn't what its row says.",
			Collection: new("orders"), Key: new("o-1"), Section: new("items"), NextStep: "List the deferred sections."}
	}
	return s
}

// transitioned adds a transition within a state.
func transitioned(s holdfast.TenantMigrationStatus, act, note string) holdfast.TenantMigrationStatus {
	s.Transitions = append(s.Transitions, holdfast.MigrationTransition{Revision: int64(len(s.Transitions)) + 1, Act: act, FromState: &s.Migration.State,
		ToState: s.Migration.State, Actor: holdfast.MigrationActor{Name: "ada"}, Note: json.RawMessage(note), At: someTime})
	return s
}

// aPacket is what a plan says.
func aPacket() holdfast.MigrationPacket {
	return holdfast.MigrationPacket{
		Type: "holdfast-migration-plan-v1", MigrationID: aMigration, TenantID: aTenant, Kind: "record_bodies", Build: "v2", RollbackFloorBuild: "v2",
		Qualification: anotherOf, FromFormat: 1, ToFormat: 2, Operator: holdfast.MigrationActor{Name: "grace"},
		Databases: []holdfast.DatabaseIdentity{{Name: "data1", SystemIdentifier: "77", DatabaseOid: 5, Numbers: "0-63"}},
		Store:     holdfast.StorePlace{Endpoint: "https://s3.example", Bucket: "bodies", Prefix: "tenants/"}, Lifecycle: []holdfast.LifecycleRule{},
		LifecycleHash: anotherOf, LifecycleObservedAt: someTime, Scope: []string{"every collection"}, StopRules: []string{"the bucket can't be reached"},
		Caps: holdfast.MigrationCaps{InspectedRows: 64, Records: 4, Bytes: 8 << 20, BodiesInFlight: 4},
	}
}

func aPlanOf(hash, text string) holdfast.MigrationPlan {
	return holdfast.MigrationPlan{
		PlanHash: hash, Packet: aPacket(), Text: text, PreviewedBy: holdfast.MigrationActor{Name: "grace"}, PreviewedAt: someTime, CountedAt: someTime,
		Observations: holdfast.MigrationObservations{
			BeganAt: someTime, EndedAt: someTime, Total: holdfast.SectionTotals{Records: 40, LiveSections: 50, Bytes: 3 << 20, Tombstones: 2},
			Collections: []holdfast.CollectionCount{{Collection: "orders", CollectionID: aRun, Format: 1, Distinct: holdfast.DistinctBodies{Ratio: 0.5},
				Sections: []holdfast.SectionCount{{Section: "items", LiveSections: 50, Bytes: 3 << 20, Tombstones: 2}}}},
			Sizes:     []holdfast.SizeBucket{{UpToBytes: 0}, {UpToBytes: 64 << 10, Bodies: 50, Bytes: 3 << 20}, {UpToBytes: -1}},
			Defects:   holdfast.DefectCount{LengthMismatch: 1, First: []holdfast.SectionDefect{{Collection: "orders", Key: "o-9", Section: "items", Reason: "length_mismatch"}}},
			Estimate:  &holdfast.MigrationEstimate{LowSeconds: 60, HighSeconds: 7200},
			Databases: []holdfast.DatabaseSize{{Database: "data1", Bytes: 1 << 30, Connections: 7, ConnectionsAllowed: 97}},
		},
	}
}
