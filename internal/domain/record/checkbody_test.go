package record

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/objectstore"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// bodyAt is where a section's body is in the bucket.
func (k *keeper) bodyAt(t testing.TB, collection, key, section string) string {
	t.Helper()
	c, err := k.Collection(t.Context(), k.scope, collection)
	if err != nil {
		t.Fatal(err)
	}
	stat, err := k.Stat(t.Context(), k.scope, collection, key, section)
	if err != nil {
		t.Fatal(err)
	}
	return bodyKey(k.scope.Tenant, c.ID, stat.Digest, stat.place.generation)
}

// hasty is a service whose bucket asks once.
func (k *keeper) hasty(t testing.TB) *keeper {
	settings := k.faults.Through(testkit.BodyStore(t))
	settings.MaxAttempts = 1
	other := *k
	other.Service = New(k.router, nil, testkit.OpenBodies(t, settings), Options{})
	return &other
}

func TestCheck_TellsMissingBodiesFromCorruptAndFromUnreachableOnes(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatStore)
	c := k.lived(t, "orders")
	bucket := testkit.OpenBodies(t, testkit.BodyStore(t))
	missing, corrupt := k.bodyAt(t, c, "big", "items"), k.bodyAt(t, c, "small", "items")
	if err := bucket.Delete(t.Context(), missing, corrupt); err != nil {
		t.Fatal(err)
	}
	if _, err := bucket.Ensure(t.Context(), corrupt, []byte("two"), DigestOf([]byte("two")), false); err != nil {
		t.Fatal(err)
	}
	unreachable := k.bodyAt(t, c, "x", "items")
	k = k.hasty(t)
	k.faults.When("the GET of x", func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, unreachable) },
		testkit.Refuse(http.StatusServiceUnavailable, "SlowDown", 0))
	census, found := k.inspect(t, Checking{Bodies: true})
	want := map[string]bool{"body_missing orders big items": true, "body_corrupt orders small items": true, "body_unreachable orders x items": true}
	for _, f := range found {
		delete(want, f)
	}
	if len(found) != 3 || len(want) > 0 {
		t.Errorf("found %q", found)
	}
	if census.Violations != 2 || census.Unreachable != 1 || census.Bodies != livedCensus.Bodies-3 {
		t.Errorf("census %+v", census)
	}
	if _, found := k.inspect(t, Checking{}); len(found) > 0 {
		t.Errorf("without bodies, found %q", found)
	}
}

func TestCheck_EndsWhenTheStoreIsInTrouble(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatStore)
	c := k.collection(t, "orders")
	var all []Publication
	for n := range 2 * maxUnreachable {
		key := string(rune('A'+n/26)) + string(rune('a'+n%26))
		all = append(all, Publication{Key: key, OperationID: key, Expect: Expectation{Absent: true}, Bodies: map[string][]byte{"items": []byte(key)}})
	}
	if _, err := k.PublishEach(t.Context(), k.scope, c, nil, all); err != nil {
		t.Fatal(err)
	}
	k = k.hasty(t)
	k.faults.AtRandom(1, 1, testkit.LostRequest())
	told := int64(0)
	census, err := k.Check(t.Context(), k.scope.Tenant, Checking{Bodies: true, Found: func(v Violation) error {
		if told++; v.Kind != BodyUnreachable {
			t.Errorf("found %+v", v)
		}
		return nil
	}})
	expectCode(t, err, domain.KindUnavailable, "object_store_unavailable")
	if census.Unreachable != told || told < maxUnreachable || told > maxUnreachable+checkedAtOnce || census.Violations != 0 {
		t.Errorf("told %d; census %+v", told, census)
	}
}

func TestCheck_NeedsTheStoreThatBodiesAreIn(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		k.lived(t, "orders")
		without := New(k.in.Router(t, postgres.RoleAPI), lease.New(k.router, testSecrets("server"), lease.Options{}), nil, Options{})
		_, err := without.Check(t.Context(), k.scope.Tenant, Checking{Bodies: true, Found: func(v Violation) error { t.Errorf("found %+v", v); return nil }})
		if k.format == FormatStore {
			expectCode(t, err, domain.KindConflict, "object_store_missing")
		} else if err != nil {
			t.Error(err)
		}
		if _, err := without.Check(t.Context(), k.scope.Tenant, Checking{Found: func(v Violation) error { t.Errorf("found %+v", v); return nil }}); err != nil {
			t.Error(err)
		}
	})
}

// change publishes from a goroutine that isn't the test's.
func (k *keeper) change(t testing.TB, collection string, p Publication) {
	p.Key, p.OperationID, p.Expect = "small", k.operation(), Expectation{Revision: 1}
	if _, err := k.Publish(context.Background(), k.scope, collection, nil, p); err != nil {
		t.Errorf("publish: %v", err)
	}
}

// A section changes between the page that says what its body is and the reading of
// the body, and the old object goes with it.
func TestCheck_ABodyThatGoesWithItsSectionIsNoViolation(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(t *testing.T, k *keeper, c string){
		"another body": func(t *testing.T, k *keeper, c string) {
			k.change(t, c, Publication{Bodies: map[string][]byte{"items": []byte("two")}})
		},
		"a tombstone": func(t *testing.T, k *keeper, c string) {
			k.change(t, c, Publication{Tombstones: []string{"items"}})
		},
	} {
		for fate, spoil := range map[string]func(t *testing.T, bucket *objectstore.Bucket, object string){
			"is removed": func(t *testing.T, bucket *objectstore.Bucket, object string) {
				if err := bucket.Delete(context.Background(), object); err != nil {
					t.Error(err)
				}
			},
			"is spoilt": func(t *testing.T, bucket *objectstore.Bucket, object string) {
				if err := bucket.Delete(context.Background(), object); err != nil {
					t.Error(err)
				}
				if _, err := bucket.Ensure(context.Background(), object, []byte("not"), DigestOf([]byte("not")), false); err != nil {
					t.Error(err)
				}
			},
		} {
			t.Run(name+"/"+fate, func(t *testing.T) {
				t.Parallel()
				k := newKeeper(t, FormatStore)
				c := k.collection(t, "orders")
				k.publish(t, c, Publication{Key: "small", Bodies: map[string][]byte{"items": []byte("one")}, Expect: Expectation{Absent: true}})
				bucket, object := testkit.OpenBodies(t, testkit.BodyStore(t)), k.bodyAt(t, c, "small", "items")
				writer := k.process(t, Options{})
				k.faults.When("the GET of the body", func(r *http.Request) bool { return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, object) },
					func(_ *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
						then(t, writer, c)
						spoil(t, bucket, object)
						return pass()
					})
				census, found := k.inspect(t, Checking{Bodies: true})
				if len(found) > 0 {
					t.Errorf("found %q", found)
				}
				if want := map[string]int64{"another body": 1, "a tombstone": 0}[name]; census.Bodies != want {
					t.Errorf("read %d bodies, want %d", census.Bodies, want)
				}
			})
		}
	}
}
