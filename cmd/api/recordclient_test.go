package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestRecordsExample_RunsAgainstTheAPI(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		cmd := exec.Command("go", "run", "../../clients/go/example/records")
		cmd.Env = append(os.Environ(), "HOLDFAST_URL="+k.api.url, "HOLDFAST_API_KEY="+k.owner.key)
		output, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(output), `The index has 3 bodies, up to sequence 10; of 2026/1, "two apples and a pear".`) {
			t.Errorf("%v\n%s", err, output)
		}
	})
}

// client is the owner's.
func (k *keeper) client(t testing.TB, options ...holdfast.Option) *holdfast.ClientWithResponses {
	t.Helper()
	return connect(t, k.api, k.owner.key, options...)
}

func TestClient_PublishesSmallAndLargeBodiesAndReadsThemVerified(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		client := k.client(t)
		for key, body := range map[string][]byte{"small": []byte("\x00\xff"), "large": bytes.Repeat([]byte("\x00\xff\r\n--"), 300_000), "empty": nil} {
			change := holdfast.RecordChange{IfAbsent: true, Sections: map[string][]byte{"items": body, "plans": []byte(key)}}
			if published, err := holdfast.Publish(t.Context(), client, "orders", key, change); err != nil || published.Replayed || published.Revision != 1 {
				t.Fatalf("%s: %+v, %v", key, published, err)
			}
			record, err := holdfast.ReadRecord(t.Context(), client, "orders", key)
			if err != nil || !bytes.Equal(*record.Sections["items"].Body, body) || string(*record.Sections["plans"].Body) != key {
				t.Errorf("%s is read otherwise, %v", key, err)
			}
			kept, err := holdfast.ReadBody(t.Context(), client, "orders", key, "items")
			if err != nil || !bytes.Equal(kept.Bytes, body) {
				t.Errorf("the body of %s is read otherwise, %v", key, err)
			}
			if changed, err := kept.Refresh(t.Context(), client, "orders", key, "items"); err != nil || changed {
				t.Errorf("the copy of %s has changed: %v, %v", key, changed, err)
			}
			path := filepath.Join(t.TempDir(), "body")
			digest, err := holdfast.SaveBody(t.Context(), client, "orders", key, "items", path)
			saved, _ := os.ReadFile(path)
			if err != nil || digest != kept.Digest || !bytes.Equal(saved, body) {
				t.Errorf("%d bytes of %s were saved, %v", len(saved), key, err)
			}
		}
	})
}

func TestClient_ACopyStaysWhereTheBodyCannotBeHad(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 2)
	client := k.client(t, holdfast.WithAttempts(1))
	k.create(t, "a", map[string]string{"items": "hello"})
	kept, err := holdfast.ReadBody(t.Context(), client, "orders", "a", "items")
	if err != nil {
		t.Fatal(err)
	}
	k.ask(t, "PUT", at("a"), publication("change", map[string]string{"items": "world"}), `If-Match: "1"`)
	k.network.AtRandom(1, 1, testkit.Refuse(http.StatusNotFound, "NoSuchKey", 0))
	if _, err := kept.Refresh(t.Context(), client, "orders", "a", "items"); !holdfast.IsCode(err, "body_unavailable") || string(kept.Bytes) != "hello" {
		t.Errorf("%q, %v", kept.Bytes, err)
	}
}

// Each of several producers adds one to a count, and whoever meets another decides
// anew on the record that the conflict shows.
func TestClient_ProducersThatMeetCountRight(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		k.create(t, "count", map[string]string{"items": "0"})
		const producers, rounds = 4, 5
		var all sync.WaitGroup
		for range producers {
			client := k.client(t)
			all.Go(func() {
				for range rounds {
					if err := countUp(t.Context(), client); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		record, err := holdfast.ReadRecord(t.Context(), k.client(t), "orders", "count")
		if err != nil || string(*record.Sections["items"].Body) != fmt.Sprint(producers*rounds) || record.Revision != 1+producers*rounds {
			t.Errorf("it is %q at revision %d, %v", *record.Sections["items"].Body, record.Revision, err)
		}
	})
}

func countUp(ctx context.Context, client *holdfast.ClientWithResponses) error {
	record, err := holdfast.ReadRecord(ctx, client, "orders", "count")
	for err == nil {
		var n int
		fmt.Sscan(string(*record.Sections["items"].Body), &n)
		_, err = holdfast.Publish(ctx, client, "orders", "count", holdfast.RecordChange{
			IfRevision: record.Revision, Sections: map[string][]byte{"items": []byte(fmt.Sprint(n + 1))}, ConflictBodies: true,
		})
		var conflict *holdfast.RecordConflictError
		if !errors.As(err, &conflict) {
			return err
		}
		record, err = conflict.Record, nil
	}
	return err
}

// losing loses answers to changes, after they were made.
type losing struct {
	mu    sync.Mutex
	every int // how many pass to one that is lost
	asked int
	lost  int
}

var errLost = errors.New("the answer is lost")

func (l *losing) Do(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultClient.Do(request)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked++; err != nil || request.Method == http.MethodGet || strings.HasSuffix(request.URL.Path, "/token") || l.asked%l.every == 0 {
		return response, err
	}
	l.lost++
	response.Body.Close()
	return nil, errLost
}

func TestClient_LostAnswersAreAskedForAgainAndNothingIsDoneTwice(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		network := &losing{every: 3}
		client := k.client(t, holdfast.WithHTTPDoer(network), holdfast.WithAttempts(1))
		for i := range 5 {
			change := holdfast.RecordChange{Sections: map[string][]byte{"items": fmt.Append(nil, i)}, IfRevision: int64(i), IfAbsent: i == 0}
			published, err := holdfast.Publish(t.Context(), client, "orders", "a", change)
			if err != nil || published.Revision != int64(i+1) {
				t.Fatalf("%+v, %v", published, err)
			}
		}
		done, err := holdfast.WorkBatch(t.Context(), client, "orders", holdfast.BatchOptions{Owner: "w", Items: []string{"a", "b"}}, func(context.Context, *holdfast.HeldBatch) (map[string]holdfast.RecordChange, error) {
			return map[string]holdfast.RecordChange{
				"a": {IfRevision: 5, Sections: map[string][]byte{"closed": nil}},
				"b": {IfAbsent: true, Sections: map[string][]byte{"items": nil}},
			}, nil
		})
		if err != nil || len(done.Items) != 2 || done.Items[0].Outcome != "published" || done.Items[1].Outcome != "published" {
			t.Fatalf("%+v, %v", done, err)
		}
		if record, err := holdfast.ReadRecord(t.Context(), client, "orders", "a"); err != nil || record.Revision != 6 || network.lost < 7 {
			t.Errorf("%+v, %v after %d lost answers", record, err, network.lost)
		}
	})
}

func TestClient_AFollowerMissesNothingAndSeesNothingTwiceOverRestarts(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		const producers, each = 3, 20
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var all sync.WaitGroup
		for p := range producers {
			client := k.client(t)
			all.Go(func() {
				for i := range each {
					change := holdfast.RecordChange{IfAbsent: true, Sections: map[string][]byte{"items": fmt.Appendf(nil, "%d of %d", i, p)}}
					if _, err := holdfast.Publish(ctx, client, "orders", fmt.Sprintf("%d/%d", p, i), change); err != nil {
						t.Error(err)
					}
				}
			})
		}
		var seen []string
		for kept := int64(0); len(seen) < producers*each && ctx.Err() == nil; {
			for page, err := range holdfast.FollowExport(ctx, k.client(t), "orders", holdfast.FollowOptions{After: kept, Bodies: true, LongestPause: 50 * time.Millisecond}) {
				if err != nil {
					t.Error(err)
				}
				for _, section := range page.Records {
					seen = append(seen, section.Key)
					if p, i, _ := strings.Cut(section.Key, "/"); string(*section.Body) != i+" of "+p {
						t.Errorf("%s has %q", section.Key, *section.Body)
					}
				}
				if kept = page.Next; len(seen)%2 == 0 { // as if it were started anew
					break
				}
			}
		}
		all.Wait()
		once := map[string]bool{}
		for _, key := range seen {
			once[key] = true
		}
		if len(seen) != producers*each || len(once) != len(seen) {
			t.Errorf("it saw %d changes of %d records", len(seen), len(once))
		}
	})
}

func TestClient_ABatchThatIsTakenOverEndsItsWork(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 1)
	late := make(chan struct{})
	slow := &pausing{late: late}
	options := holdfast.BatchOptions{Owner: "slow", Items: []string{"a", "b"}, Term: 5 * time.Second}
	_, err := holdfast.WorkBatch(t.Context(), k.client(t, holdfast.WithHTTPDoer(slow)), "orders", options, func(ctx context.Context, batch *holdfast.HeldBatch) (map[string]holdfast.RecordChange, error) {
		<-ctx.Done()
		var done holdfast.Completion
		eventually(t, "another batch has the items", func() bool {
			var err error
			done, err = holdfast.WorkBatch(t.Context(), k.client(t), "orders", holdfast.BatchOptions{Owner: "quick", Items: []string{"a", "b"}}, func(_ context.Context, batch *holdfast.HeldBatch) (map[string]holdfast.RecordChange, error) {
				return map[string]holdfast.RecordChange{"a": {IfAbsent: true, Sections: map[string][]byte{"items": []byte("quick")}}}, nil
			})
			return err == nil
		})
		if len(done.Items) != 1 || done.Items[0].Outcome != holdfast.OutcomePublished {
			t.Errorf("it completed %+v", done)
		}
		close(late)
		_, err := batch.Publish(context.WithoutCancel(ctx), "a", holdfast.RecordChange{IfRevision: 1, Sections: map[string][]byte{"items": []byte("slow")}})
		return nil, err
	})
	if !errors.Is(err, holdfast.ErrClaimsNotKept) || !holdfast.IsCode(err, "claim_lost") {
		t.Errorf("%v", err)
	}
	if kept, err := holdfast.ReadBody(t.Context(), k.client(t), "orders", "a", "items"); err != nil || string(kept.Bytes) != "quick" {
		t.Errorf("%q, %v", kept.Bytes, err)
	}
}

// pausing holds heartbeats up.
type pausing struct{ late chan struct{} }

func (p *pausing) Do(request *http.Request) (*http.Response, error) {
	if strings.HasSuffix(request.URL.Path, "/heartbeat") {
		select {
		case <-p.late:
		case <-request.Context().Done():
			return nil, request.Context().Err()
		}
	}
	return http.DefaultClient.Do(request)
}

func TestClient_AReceiptIsTheSameForAProgramThatStartsAnew(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 1)
	change := holdfast.RecordChange{OperationID: "order-1", IfAbsent: true, Sections: map[string][]byte{"items": []byte("x")}}
	var receipts []holdfast.Receipt
	for range 2 {
		published, err := holdfast.Publish(t.Context(), k.client(t), "orders", "a", change)
		if err != nil || published.Replayed != (len(receipts) == 1) {
			t.Fatalf("%+v, %v", published, err)
		}
		receipts = append(receipts, published.Receipt)
	}
	if diff := cmp.Diff(receipts[0], receipts[1]); diff != "" {
		t.Errorf("the receipts differ:\n%s", diff)
	}
}
