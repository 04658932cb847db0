package main

import (
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// TestARunningInstallation drives an API and a worker, and looks at all that they
// tell: metrics, spans and logs.
func TestARunningInstallation(t *testing.T) {
	in := install(t)
	tr := drive(t, in)

	var told scraped
	ready := func() bool {
		ofAPI, ofWorker := in.api.metrics(t), in.worker.metrics(t)
		told = scrape(t, ofAPI, ofWorker, in.astray.metrics(t))
		// What comes last: a pass of the cleanup over every number, the end of a lease
		// whose time is over, and a snapshot.
		return told.has("holdfast_sweep_pass_age_seconds", "family") && len(told["holdfast_lease_expiry_lateness_seconds_bucket"]) > 0 &&
			strings.Contains(ofWorker, `holdfast_jobs_leader 1`) && strings.Contains(ofWorker, `rpc_method="S3/PutObject"`)
	}
	eventually(t, "the worker has done a round of everything", ready)
	t.Run("every metric that the dashboard and the alerts name is emitted", func(t *testing.T) {
		for _, q := range queries(t) {
			missing, err := told.missing(q)
			if err != nil {
				t.Errorf("%s: %s: %v", q.of, q.text, err)
			} else if len(missing) > 0 {
				t.Errorf("%s: %s: not told: %v", q.of, q.text, missing)
			}
		}
	})
	t.Run("a bucket that isn't there is reported and gates nothing", func(t *testing.T) {
		for _, want := range []string{"holdfast_ready 1\n", `holdfast_ready_check{check="object_store"} 0`} {
			if text := in.astray.metrics(t); !strings.Contains(text, want) {
				t.Errorf("not told: %s", want)
			}
		}
	})
	t.Run("no metric names a tenant or anything of one", func(t *testing.T) { demandPlainMetrics(t, told, tr) })

	in.api.stop(t)
	in.worker.stop(t)
	t.Run("logs name no person, body or token", func(t *testing.T) {
		for name, log := range map[string]string{"API": in.api.log.String(), "worker": in.worker.log.String()} {
			tr.canaries.demandSilence(t, "the "+name+"'s log", log)
		}
	})
	t.Run("logs are JSON with the ids of what they are about", func(t *testing.T) { demandIDs(t, in, tr) })
	spans := in.collector.all()
	t.Run("spans name no person, body or token", func(t *testing.T) {
		for _, s := range spans {
			tr.canaries.demandSilence(t, "a span "+s.Name, s.String())
		}
	})
	t.Run("everything has its span", func(t *testing.T) { demandSpans(t, spans, tr) })
	t.Run("a job's span is linked to the request that asked for it", func(t *testing.T) { demandLink(t, spans) })
}

var anID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

func demandPlainMetrics(t *testing.T, told scraped, tr *traffic) {
	for name, all := range told {
		for _, series := range all {
			text := series.String()
			tr.canaries.demandSilence(t, "a metric", text)
			if name == "target_info" { // the process's own: it is an instance of a service
				continue
			}
			if anID.MatchString(text) {
				t.Errorf("a label of %s is an id", text)
			}
			for _, label := range []string{"tenant", "tenant_id", "holdfast_tenant_id", "principal", "account", "world", "collection", "request_id", "job_id"} {
				if series.Has(label) {
					t.Errorf("%s has the label %s", name, label)
				}
			}
		}
	}
}

// demandSilence looks for each of them.
func (c canaries) demandSilence(t *testing.T, where, text string) {
	t.Helper()
	for name, value := range c {
		if strings.Contains(text, value) {
			i := strings.Index(text, value)
			t.Errorf("%s has the %s: …%s…", where, name, text[max(0, i-200):min(len(text), i+len(value)+100)])
		}
	}
}

func demandIDs(t *testing.T, in *installation, tr *traffic) {
	request := regexp.MustCompile(`(?m)^{.*"msg":"request".*"trace_id":"[0-9a-f]{32}".*"request_id":"[0-9a-f-]{36}".*"tenant_id":"` + tr.tenant + `".*}$`)
	if !request.MatchString(in.api.log.String()) {
		t.Error("no line of a request has its trace, its id and its tenant")
	}
	job := regexp.MustCompile(`(?m)^{.*"trace_id":"[0-9a-f]{32}".*"job_id":\d+,"job_kind":"\w+".*}$`)
	if !job.MatchString(in.worker.log.String()) {
		t.Error("no line of a job has its trace and its id")
	}
}

func demandSpans(t *testing.T, spans []*span, tr *traffic) {
	for _, want := range []struct {
		service, name string
		kind          tracepb.Span_SpanKind
		attributes    map[string]string // "*" is any
	}{
		{"holdfast-api", "POST /v1/accounts", tracepb.Span_SPAN_KIND_SERVER, map[string]string{
			"http.route": "/v1/accounts", "http.request.method": "POST", "holdfast.tenant_id": tr.tenant}},
		{"holdfast-api", "identity.read", tracepb.Span_SPAN_KIND_INTERNAL, map[string]string{"holdfast.tenant_id": tr.tenant, "holdfast.database": "*"}},
		{"holdfast-api", "transaction", tracepb.Span_SPAN_KIND_INTERNAL, map[string]string{
			"db.system.name": "postgresql", "holdfast.database": "data1", "holdfast.tenant_id": tr.tenant, "holdfast.purpose": "serve"}},
		{"holdfast-api", "transaction", tracepb.Span_SPAN_KIND_INTERNAL, map[string]string{"holdfast.database": "control"}},
		{"holdfast-api", "SELECT", tracepb.Span_SPAN_KIND_CLIENT, map[string]string{"db.system.name": "postgresql", "db.query.text": "*"}},
		{"holdfast-api", "S3/PutObject", tracepb.Span_SPAN_KIND_CLIENT, map[string]string{"rpc.method": "S3/PutObject", "aws.s3.bucket": "*"}},
		{"holdfast-api", "S3/GetObject", tracepb.Span_SPAN_KIND_CLIENT, map[string]string{"rpc.method": "S3/GetObject", "aws.s3.key": "*"}},
		{"holdfast-api", "S3/HeadBucket", tracepb.Span_SPAN_KIND_CLIENT, map[string]string{"aws.s3.bucket": "*"}},
		{"holdfast-api", "river.insert_many", tracepb.Span_SPAN_KIND_PRODUCER, nil},
		{"holdfast-worker", "river.work/identity_sweep", tracepb.Span_SPAN_KIND_CONSUMER, map[string]string{"queue": "sweeps"}},
		{"holdfast-worker", "S3/PutObject", tracepb.Span_SPAN_KIND_CLIENT, map[string]string{"aws.s3.bucket": "*"}},
	} {
		if !slices.ContainsFunc(spans, func(s *span) bool {
			return s.service == want.service && s.Name == want.name && s.Kind == want.kind && s.hasAll(want.attributes)
		}) {
			t.Errorf("no span %s of %s with %v", want.name, want.service, want.attributes)
		}
	}
}

func (s *span) hasAll(attributes map[string]string) bool {
	for name, want := range attributes {
		if got, has := s.attributes[name]; !has || want != "*" && got != want {
			return false
		}
	}
	return true
}

func demandLink(t *testing.T, spans []*span) {
	traces := map[string]string{} // of requests, by their trace
	for _, s := range spans {
		if s.Kind == tracepb.Span_SPAN_KIND_SERVER {
			traces[hex.EncodeToString(s.TraceId)] = s.Name
		}
	}
	for _, s := range spans {
		for _, link := range s.Links {
			if s.Name == "river.work/identity_sweep" && traces[hex.EncodeToString(link.TraceId)] == "POST /v1/sweeps/{kind}/run" {
				return
			}
		}
	}
	t.Error("no job is linked to the request for a sweep")
}
