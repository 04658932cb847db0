package objectstore_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/objectstore"
)

// withRules opens a bucket whose lifecycle document is the text.
func withRules(t *testing.T, document string) *objectstore.Bucket {
	t.Helper()
	return openFake(t, answering(func(r *http.Request) (*http.Response, error) {
		if !r.URL.Query().Has("lifecycle") || r.Method != http.MethodGet {
			t.Errorf("asked for %s %s", r.Method, r.URL)
		}
		answer := status(r, 200, "Content-Type", "application/xml")
		answer.Body = io.NopCloser(strings.NewReader(document))
		return answer, nil
	}))
}

func TestLifecycle_ReadsWhatARuleCanDo(t *testing.T) {
	t.Parallel()
	const (
		expire = "<Expiration><Days>30</Days></Expiration>"
		bodies = "tenants/t/"
	)
	for name, c := range map[string]struct {
		rule   string // without its status
		prefix string
		safe   bool // it can delete nothing, anywhere
	}{
		"everything":                 {rule: "<Filter><Prefix></Prefix></Filter>" + expire},
		"an empty filter":            {rule: "<Filter/>" + expire},
		"no filter":                  {rule: expire},
		"a prefix":                   {rule: "<Filter><Prefix>tmp/</Prefix></Filter>" + expire, prefix: "tmp/"},
		"a prefix, with space":       {rule: "<Filter>\n <Prefix> tmp/ </Prefix>\n</Filter>" + expire, prefix: " tmp/ "},
		"a prefix of the older form": {rule: "<Prefix>tmp/</Prefix>" + expire, prefix: "tmp/"},
		"both forms":                 {rule: "<Prefix>tmp/</Prefix><Filter><Prefix>tmp/</Prefix></Filter>" + expire},
		"a tag":                      {rule: "<Filter><Tag><Key>a</Key><Value>b</Value></Tag></Filter>" + expire},
		"a size":                     {rule: "<Filter><ObjectSizeGreaterThan>1</ObjectSizeGreaterThan></Filter>" + expire},
		"a prefix and a size":        {rule: "<Filter><And><Prefix>tmp/</Prefix><ObjectSizeLessThan>9</ObjectSizeLessThan></And></Filter>" + expire, prefix: "tmp/"},
		"a tag and a size":           {rule: "<Filter><And><Tag><Key>a</Key></Tag><ObjectSizeLessThan>9</ObjectSizeLessThan></And></Filter>" + expire},
		"one prefix or another":      {rule: "<Filter><Or><Prefix>tmp/</Prefix><Prefix>x/</Prefix></Or></Filter>" + expire},
		"two prefixes":               {rule: "<Filter><Prefix>tmp/</Prefix><Prefix>x/</Prefix></Filter>" + expire},

		"at a date":                  {rule: "<Expiration><Date>2027-01-01T00:00:00Z</Date></Expiration>"},
		"of the last marker":         {rule: "<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>"},
		"into an archive":            {rule: "<Transition><Days>1</Days><StorageClass>DEEP_ARCHIVE</StorageClass></Transition>"},
		"to nobody knows where":      {rule: "<Transition><Days>1</Days></Transition>"},
		"an action nobody knows":     {rule: "<Vanish><Days>1</Days></Vanish>"},
		"an unknown one beside":      {rule: "<AbortIncompleteMultipartUpload><DaysAfterInitiation>7</DaysAfterInitiation></AbortIncompleteMultipartUpload><Vanish/>"},
		"no action":                  {rule: ""},
		"unfinished uploads":         {rule: "<AbortIncompleteMultipartUpload><DaysAfterInitiation>7</DaysAfterInitiation></AbortIncompleteMultipartUpload>", safe: true},
		"old versions":               {rule: "<NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays></NoncurrentVersionExpiration>", safe: true},
		"to a slower class":          {rule: "<Transition><Days>30</Days><StorageClass>STANDARD_IA</StorageClass></Transition>", safe: true},
		"to a slower class, and off": {rule: "<Transition><Days>30</Days><StorageClass>STANDARD_IA</StorageClass></Transition>" + expire},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, state := range []string{"Enabled", "Disabled"} {
				document := `<?xml version="1.0" encoding="UTF-8"?>
<LifecycleConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Rule><ID>r</ID><Status>` + state + `</Status>` + c.rule + `</Rule></LifecycleConfiguration>`
				rules, err := withRules(t, document).Lifecycle(t.Context())
				if err != nil || len(rules) != 1 {
					t.Fatalf("%d rules, %v", len(rules), err)
				}
				r := rules[0]
				if r.ID != "r" || r.Enabled != (state == "Enabled") || r.Prefix != c.prefix || r.Deletes == c.safe {
					t.Errorf("%s: %+v", state, r)
				}
				endangers := state == "Enabled" && !c.safe && c.prefix == ""
				if r.Endangers(bodies) != endangers {
					t.Errorf("%s: it endangers bodies: %t, want %t", state, r.Endangers(bodies), endangers)
				}
			}
		})
	}
}

func TestLifecycle_SaysTheSameOfTheSameRules(t *testing.T) {
	t.Parallel()
	one, err := withRules(t, `<LifecycleConfiguration><Rule><ID>r</ID><Filter><And><Prefix>tmp/ </Prefix><Tag><Key>k</Key><Value>a,b)</Value></Tag></And></Filter>
		<Status>Enabled</Status><Expiration><Days>30</Days></Expiration><AbortIncompleteMultipartUpload><DaysAfterInitiation>7</DaysAfterInitiation></AbortIncompleteMultipartUpload></Rule></LifecycleConfiguration>`).Lifecycle(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other, err := withRules(t, `<LifecycleConfiguration><Rule><AbortIncompleteMultipartUpload><DaysAfterInitiation>7</DaysAfterInitiation></AbortIncompleteMultipartUpload>
		<Expiration> <Days>30</Days> </Expiration><Status>Enabled</Status><Filter><And><Tag><Value>a,b)</Value><Key>k</Key></Tag><Prefix>tmp/ </Prefix></And></Filter><ID>r</ID></Rule></LifecycleConfiguration>`).Lifecycle(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []domain.LifecycleRule{{
		ID: "r", Enabled: true, Deletes: true, Prefix: "tmp/ ",
		Actions:    []string{`AbortIncompleteMultipartUpload(DaysAfterInitiation="7")`, `Expiration(Days="30")`},
		Conditions: []string{`Filter(And(Prefix="tmp/ ",Tag(Key="k",Value="a,b)")))`},
	}}
	if diff := cmp.Diff(want, one); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(one, other); diff != "" {
		t.Errorf("the same rules in another order (-one +other):\n%s", diff)
	}
}

func TestLifecycle_WhatCannotBeRead_IsAnError(t *testing.T) {
	t.Parallel()
	for name, document := range map[string]string{
		"nothing":          "",
		"cut off":          "<LifecycleConfiguration><Rule><Status>Enabled</Status>",
		"another document": "<Tagging></Tagging>",
		"no status":        "<LifecycleConfiguration><Rule><Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>",
		"another status":   "<LifecycleConfiguration><Rule><Status>Perhaps</Status></Rule></LifecycleConfiguration>",
		"two statuses":     "<LifecycleConfiguration><Rule><Status>Disabled</Status><Status>Enabled</Status></Rule></LifecycleConfiguration>",
		"not only rules":   "<LifecycleConfiguration><Ruse><Status>Enabled</Status></Ruse></LifecycleConfiguration>",
		"too large":        "<LifecycleConfiguration>" + strings.Repeat(" ", 5<<20) + "</LifecycleConfiguration>",
	} {
		rules, err := withRules(t, document).Lifecycle(t.Context())
		if wantCode(t, err, isUnavailable); rules != nil {
			t.Errorf("%s: %+v", name, rules)
		}
	}
}

func TestLifecycle_OnlyTheStoresWordForNoRulesIsNone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		code   string
		none   bool
	}{
		{404, "NoSuchLifecycleConfiguration", true},
		{404, "NoSuchBucket", false}, {404, "", false}, {403, "AccessDenied", false}, {501, "NotImplemented", false},
	} {
		b := openFake(t, answering(func(r *http.Request) (*http.Response, error) {
			answer := status(r, c.status, "Content-Type", "application/xml")
			answer.Body = io.NopCloser(strings.NewReader("<Error><Code>" + c.code + "</Code></Error>"))
			return answer, nil
		}), func(s *objectstore.Settings) { s.MaxAttempts = 1 })
		rules, err := b.Lifecycle(t.Context())
		if c.none && (err != nil || len(rules) != 0) {
			t.Errorf("%d %s: %v, %v; want no rules", c.status, c.code, rules, err)
		}
		if !c.none {
			wantCode(t, err, isUnavailable)
		}
	}
}
