package main

import (
	"fmt"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// validOnMigrations gives a request to an operation on migrations, deployments or
// qualifications what it needs to succeed. It tells whether it knows the operation.
func (s *subject) validOnMigrations(t testing.TB, x *exchange, n int64, body func(string)) bool {
	t.Helper()
	// on has the request be about a migration, by its plan.
	on := func(m moving) {
		x.path["tenant_id"], x.path["migration_id"], x.path["plan_hash"] = m.tenant, m.id, m.plan
		if x.op.operation.RequestBody != nil {
			body(`{"plan_hash":"` + m.plan + `"}`)
		}
	}
	switch x.op.operation.OperationID {
	case "listDeployments":
	case "listQualifications":
		x.query = "build=x"
	case "getQualification":
		x.path["report_hash"] = s.qualified(t)
	case "requestMigration":
		x.header.Set("Idempotency-Key", fmt.Sprint("migration-", n))
		body(`{"kind":"record_bodies","collections":["` + s.collection + `"]}`)
	case "requestTenantMigration":
		x.header.Set("Idempotency-Key", fmt.Sprint("migration-", n))
		body(`{"kind":"rehydrate","collections":["` + s.collection + `"]}`)
	case "listMigrations", "listTenantMigrations":
		x.query = "limit=2"
	case "getMigration":
		x.path["migration_id"] = s.ownMigration(t)
	case "getTenantMigration", "getMigrationPlan", "getMigrationDrift":
		on(s.once(t, "planned", s.planned))
	case "previewMigration":
		on(s.once(t, "planned anew", s.planned))
		body(`{"qualification":"` + s.qualified(t) + `","caps":{"inspected_rows":64,"records":4,"bytes":8388608,"bodies_in_flight":4},` +
			`"prices":{"class_a_per_million":4.5,"class_b_per_million":0.36,"storage_per_gb_month":0.015},"free_bytes":1}`)
	case "approveMigration":
		on(s.planned(t))
		body(`{"hash":"` + x.path["plan_hash"] + `"}`)
	case "abortMigration":
		on(s.once(t, "aborted", s.planned))
	case "activateMigration":
		on(s.once(t, "approved", s.approved))
	case "runMigration":
		on(s.idle(t, s.once(t, "active", s.active)))
	case "scrubMigration":
		on(s.idle(t, s.once(t, "active", s.active)))
		body(`{"plan_hash":"` + x.path["plan_hash"] + `","budget":{"bodies":100,"bytes":1000000,"duration_seconds":60}}`)
	case "lowerMigrationCaps":
		on(s.once(t, "active", s.active))
		body(`{"plan_hash":"` + x.path["plan_hash"] + `","caps":{"inspected_rows":32,"records":2,"bytes":65536,"bodies_in_flight":1}}`)
	case "pauseMigration", "resumeMigration":
		on(s.once(t, "paused", s.paused))
	case "closeMigration":
		on(s.once(t, "verified", s.verified))
		body(`{"plan_hash":"` + x.path["plan_hash"] + `","decision":"All is well."}`)
	case "previewRequalification":
		on(s.once(t, "former", s.ofFormerBuild))
		body(`{"plan_hash":"` + x.path["plan_hash"] + `","qualification":"` + s.qualified(t) + `"}`)
	case "getMigrationEnvelope":
		on(s.once(t, "former", s.ofFormerBuild))
		x.path["envelope_hash"] = s.envelope(t, s.once(t, "former", s.ofFormerBuild))
	case "requalifyMigration":
		m := s.ofFormerBuild(t)
		on(m)
		hash := s.envelope(t, m)
		s.approve(t, m, hash)
		body(`{"envelope_hash":"` + hash + `"}`)
	case "beginVerification":
		on(s.once(t, "planned", s.planned))
		body(`{"plan_hash":"` + x.path["plan_hash"] + `","phase":"baseline"}`)
	case "getMigrationReport":
		on(s.once(t, "read", s.planned))
		x.path["report_id"] = s.reading(t, s.once(t, "read", s.planned))
	case "endVerification":
		on(s.once(t, "read", s.planned))
		x.path["report_id"] = s.reading(t, s.once(t, "read", s.planned))
		body(`{"started_at":"2026-11-30T12:00:00Z","ended_at":"2026-11-30T12:00:01Z","requests":1,"bodies":1,"bytes":5,"limits":["phase"],"points":[],` +
			`"pages":[{"collection":"orders","section":"items","outcome":"read","more":false,` +
			`"sections":[{"key":"a","revision":1,"export_sequence":1,"live":true,"digest":"` + helloDigest + `","length":5}]}]}`)
	case "listDeferred":
		on(s.once(t, "deferred", s.deferring))
	case "retryDeferred":
		m := s.once(t, "deferred", s.deferring)
		on(m)
		x.path["deferred_id"] = s.deferred(t, m)
	default:
		return false
	}
	return true
}

// ownMigration is the id of one that the owner has asked for.
func (s *subject) ownMigration(t testing.TB) string {
	t.Helper()
	asked, err := connect(t, s.api, s.owner.key).RequestMigrationWithResponse(t.Context(),
		&holdfast.RequestMigrationParams{IdempotencyKey: ptr("the-migration")}, holdfast.NewMigration{Kind: holdfast.NewMigrationRecordBodies})
	if err != nil {
		t.Fatal(err)
	}
	return asked.JSON201.MigrationID
}
