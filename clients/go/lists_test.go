package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/web"
)

// pagesOfTwo answers with three pages of two accounts.
func pagesOfTwo(n int, w *httptest.ResponseRecorder) {
	next := fmt.Sprintf(`,"next_cursor":"c%d"`, n)
	if n == 3 {
		next = ""
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"accounts":[{"handle":"a%d"},{"handle":"a%d"}]%s}`, 2*n-1, 2*n, next)
}

func TestLists_AreWalkedToTheirEndWithTheirFilters(t *testing.T) {
	t.Parallel()
	s := &service{answer: pagesOfTwo}
	status := holdfast.AccountStatusFilter("active")
	params := &holdfast.ListAccountsParams{Status: &status}
	var handles []string
	for account, err := range holdfast.AllAccounts(t.Context(), connect(t, s), params) {
		if err != nil {
			t.Fatal(err)
		}
		handles = append(handles, account.Handle)
	}
	var asked []string
	for _, r := range s.seen {
		asked = append(asked, r.URL.RawQuery)
	}
	if diff := cmp.Diff([]string{"status=active", "status=active&cursor=c1", "status=active&cursor=c2"}, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a1", "a2", "a3", "a4", "a5", "a6"}, handles); diff != "" || params.Cursor != nil {
		t.Errorf("walked (-want +got):\n%s", diff)
	}
}

func TestLists_EndWhereTheCallerBreaksOff(t *testing.T) {
	t.Parallel()
	s := &service{answer: pagesOfTwo}
	for account := range holdfast.AllAccounts(t.Context(), connect(t, s), nil) {
		if account.Handle == "a3" {
			break
		}
	}
	if len(s.seen) != 2 {
		t.Errorf("asked %d times", len(s.seen))
	}
}

func TestLists_AnErrorComesLast(t *testing.T) {
	t.Parallel()
	s := &service{answer: func(n int, w *httptest.ResponseRecorder) {
		if n == 2 {
			refuse(w, 422, "cursor_invalid", "")
			return
		}
		pagesOfTwo(n, w)
	}}
	var came []error
	for _, err := range holdfast.AllAccounts(t.Context(), connect(t, s), nil) {
		came = append(came, err)
	}
	if len(came) != 3 || came[0] != nil || came[1] != nil || !holdfast.IsCode(came[2], "cursor_invalid") {
		t.Errorf("it gave %v", came)
	}
}

// A feed always has a cursor: what stands there now is walked.
func TestLists_AFeedIsWalkedAsFarAsItGoes(t *testing.T) {
	t.Parallel()
	s := &service{answer: feed(2)}
	events := 0
	for _, err := range holdfast.AllEvents(t.Context(), connect(t, s), nil) {
		if err != nil {
			t.Fatal(err)
		}
		events++
	}
	if events != 2 || len(s.seen) != 2 {
		t.Errorf("%d events in %d pages", events, len(s.seen))
	}
}

// feed answers with a page of one event, and says up to the n-th that others stand there.
func feed(pages int) func(int, *httptest.ResponseRecorder) {
	return func(n int, w *httptest.ResponseRecorder) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"events":[{"id":"e%d"}],"next_cursor":"c%d","more":%t}`, n, n, n < pages)
	}
}

func TestFollowEvents_GoesOnFromWhereItWasLeftUntilItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: func(n int, w *httptest.ResponseRecorder) {
			switch n {
			case 2:
				refuse(w, 503, "database_busy", "")
			case 3:
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{"events":[],"next_cursor":"c3","more":false}`)
			default:
				feed(1)(n, w)
			}
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var cursors []string
		var last error
		for page, err := range holdfast.FollowEvents(ctx, connect(t, s), "kept") {
			if last = err; err != nil {
				if holdfast.IsCode(err, "database_busy") {
					break // the service invites to no retry
				}
				continue
			}
			cursors = append(cursors, page.NextCursor)
		}
		if !holdfast.IsCode(last, "database_busy") || !cmp.Equal(cursors, []string{"c1"}) {
			t.Errorf("%v, then %v", cursors, last)
		}
		for page, err := range holdfast.FollowEvents(ctx, connect(t, s), cursors[0]) {
			if last = err; err == nil {
				cursors = append(cursors, page.NextCursor)
			}
			if len(cursors) == 3 {
				cancel()
			}
		}
		if !errors.Is(last, context.Canceled) || !cmp.Equal(cursors, []string{"c1", "c4", "c5"}) {
			t.Errorf("%v, then %v", cursors, last)
		}
		var asked []string
		for _, r := range s.seen {
			asked = append(asked, r.URL.Query().Get("cursor"))
		}
		if diff := cmp.Diff([]string{"kept", "c1", "c1", "c3", "c4"}, asked); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	})
}

// Every list of the document that goes on by a cursor has a walk.
func TestLists_AllOfTheDocumentAreThere(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "lists.gen.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	walks := map[string]bool{}
	for _, declared := range file.Decls {
		if f, ok := declared.(*ast.FuncDecl); ok {
			walks[strings.ToLower(f.Name.Name)] = true
		}
	}
	doc, err := openapi3.NewLoader().LoadFromData(web.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range doc.Paths.Map() {
		id := ""
		if item.Get != nil && item.Get.Parameters.GetByInAndName("query", "cursor") != nil && item.Get.Responses.Value("200").Value.Content["application/json"] != nil {
			id = item.Get.OperationID
		}
		name := "all" + strings.ToLower(strings.TrimPrefix(id, "list"))
		if id == "getSnapshot" {
			name = "allsnapshotparts"
		}
		if id != "" && !walks[name] {
			t.Errorf("%s has no walk", id)
		}
	}
}
