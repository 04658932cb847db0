package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// importAll imports lines and gives their results in short: "3 key created", or
// the error's code.
func (d *directory) importAll(t testing.TB, lines ...ImportLine) []string {
	t.Helper()
	results, err := d.tryImport(t.Context(), lines...)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func (d *directory) tryImport(ctx context.Context, lines ...ImportLine) (results []string, err error) {
	err = d.Import(ctx, d.scope, linesOf(lines), func(r ImportResult) error {
		results = append(results, short(r))
		return nil
	})
	return results, err
}

func linesOf(lines []ImportLine) func() (ImportLine, error) {
	return func() (ImportLine, error) {
		if len(lines) == 0 {
			return ImportLine{}, io.EOF
		}
		line := lines[0]
		lines = lines[1:]
		return line, nil
	}
}

func short(r ImportResult) string {
	what := string(r.Result)
	if r.Error != nil {
		what = r.Error.Code
		for _, f := range r.Error.Fields {
			what += " " + f.Pointer
		}
	}
	return fmt.Sprintf("%d %s %s", r.Line, r.Key, what)
}

// accountLine is a line of an account with a verified email; "" for none.
func accountLine(key, handle, email string) ImportLine {
	line := ImportLine{Key: key, Account: &ImportAccount{Handle: handle}}
	if email != "" {
		line.Account.Email = &email
	}
	return line
}

func (d *directory) imported(key string) domain.AccountID {
	return importID[domain.AccountKind](d.scope.Settings.IDKey, domain.FamilyAccount, key)
}

func expectResults(t testing.TB, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

func TestImport_MakesWhatTheLinesSay(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	made, verified := time.Date(2011, 5, 1, 12, 0, 0, 123456789, time.FixedZone("", 3600)), time.Date(2012, 1, 1, 0, 0, 0, 0, time.UTC)
	full := accountLine("1", "Ada", "Ada@example.com")
	full.Account.EmailVerified, full.Account.EmailVerifiedAt, full.Account.CreatedAt = new(true), &verified, &made
	full.Account.DisplayName, full.Account.Attributes, full.Account.Status = new("Ada L."), json.RawMessage(`{"plan": 1.50}`), Disabled
	expectResults(t, d.importAll(t, full, accountLine("2", "ben", "")), "1 1 created", "2 2 created")

	ada, err := d.Get(t.Context(), d.scope, d.imported("1"))
	if err != nil {
		t.Fatal(err)
	}
	utc := func(at time.Time) time.Time { return at.UTC() }
	want := Account{ID: d.imported("1"), Revision: 1, Status: Disabled, Handle: RestoreHandle("Ada", "ada", ""), Email: RestoreEmail("Ada@example.com", "ada@example.com"),
		EmailVerifiedAt: &verified, DisplayName: new("Ada L."), Attributes: json.RawMessage(`{"plan":1.50}`),
		CreatedAt: time.Date(2011, 5, 1, 11, 0, 0, 123456000, time.UTC), UpdatedAt: ada.UpdatedAt}
	if diff := cmp.Diff(want, ada, cmp.AllowUnexported(Handle{}, Email{}), cmp.Transformer("UTC", utc)); diff != "" {
		t.Errorf("account (-want +got):\n%s", diff)
	}
	ben, err := d.Get(t.Context(), d.scope, d.imported("2"))
	if err != nil || ben.Status != Active || !ben.CreatedAt.Equal(ben.UpdatedAt) || string(ben.Attributes) != "{}" {
		t.Errorf("the other is %+v, %v", ben, err)
	}
	d.expectState(t, state{
		Accounts: []string{"ada ada@example.com disabled rev 1", "ben - active rev 1"},
		Claims:   []string{"email ada@example.com of ada", "handle ada of ada", "handle ben of ben"},
		Events: []string{"ada 1 account.created by principal [handle email display_name attributes]",
			"ben 1 account.created by principal [handle]"},
	})
	d.checkInvariants(t, true)
}

func TestImport_SentAgain_AnswersExists(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	lines := []ImportLine{accountLine("1", "ada", "ada@example.com"), accountLine("2", "ben", "")}
	d.importAll(t, lines...)
	before := d.state(t)

	d.scope.Principal = domain.NewID[domain.PrincipalKind](time.Now()) // whoever resumes
	expectResults(t, d.importAll(t, append(lines, accountLine("3", "cy", ""))...), "1 1 exists", "2 2 exists", "3 3 created")
	same := accountLine("1", "ada", "ada@example.com")
	same.Account.Attributes = json.RawMessage("{ }")
	expectResults(t, d.importAll(t, same), "1 1 exists")
	other := accountLine("1", "ada", "ada@example.com")
	other.Account.DisplayName = new("Ada")
	expectResults(t, d.importAll(t, other, accountLine("2", "ben", "ben@example.com")), "1 1 idempotency_key_reused /key", "2 2 idempotency_key_reused /key")

	ben, err := d.Get(t.Context(), d.scope, d.imported("2"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Delete(t.Context(), d.scope, ben.ID, ben.Revision); err != nil {
		t.Fatal(err)
	}
	expectResults(t, d.importAll(t, lines...), "1 1 exists", "2 2 account_deleted /key")
	if after := d.state(t); len(after.Accounts) != len(before.Accounts)+1 {
		t.Errorf("accounts are %v", after.Accounts)
	}
	d.checkInvariants(t, true)
}

// Results come as if each line had been done behind the one before, however many
// are under way at once.
func TestImport_TheSameKeysTwiceInAFile_TheFirstLineHasThem(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	var lines []ImportLine
	var want []string
	var s state
	for i := range importWindow {
		handle, email := numbered("a-%d", i), numbered("a-%d@example.com", i)
		lines = append(lines,
			accountLine(numbered("%d", i), handle, email),
			accountLine(numbered("%d", i), handle, email),                 // the same again
			accountLine(numbered("%d-email", i), handle+"-other", email),  // its email
			accountLine(numbered("%d-handle", i), handle, "other-"+email)) // its handle
		want = append(want, fmt.Sprintf("%d %d created", 4*i+1, i), fmt.Sprintf("%d %d exists", 4*i+2, i),
			fmt.Sprintf("%d %d-email email_taken /email", 4*i+3, i), fmt.Sprintf("%d %d-handle handle_taken /handle", 4*i+4, i))
		s.Accounts = append(s.Accounts, handle+" "+email+" active rev 1")
		s.Claims = append(s.Claims, "email "+email+" of "+handle, "handle "+handle+" of "+handle)
		s.Events = append(s.Events, handle+" 1 account.created by principal [handle email]")
	}
	expectResults(t, d.importAll(t, lines...), want...)
	s.sort()
	d.expectState(t, s)
	d.checkInvariants(t, true)
}

func TestImport_ABadLine_IsRefusedByItselfAndStopsNothing(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	later := time.Now().Add(time.Hour)
	account := func(change func(*ImportAccount)) ImportLine {
		line := accountLine("k", "ada", "ada@example.com")
		change(line.Account)
		return line
	}
	keyed := func(key string) ImportLine { return accountLine(key, "ada", "") }
	bad := []struct {
		line ImportLine
		want string
	}{
		{ImportLine{Refused: domain.Invalid("json_invalid", "no JSON")}, "json_invalid"},
		{ImportLine{Key: "k"}, "import_line_invalid"},
		{ImportLine{Key: "k", Account: &ImportAccount{}, Device: &ImportDevice{}}, "import_line_invalid"},
		{keyed(""), "import_key_invalid /key"},
		{keyed(string(slices.Repeat([]rune("é"), 256))), "import_key_invalid /key"},
		{keyed("a\x00b"), "import_key_invalid /key"},
		{accountLine("k", "no spaces", ""), "handle_invalid /handle"},
		{accountLine("k", "admin", ""), "handle_reserved /handle"},
		{accountLine("k", "ada", "ada"), "email_invalid /email"},
		{account(func(a *ImportAccount) { a.EmailVerified = new(false) }), "email_unverified /email_verified"},
		{account(func(a *ImportAccount) { a.Email, a.EmailVerifiedAt = nil, new(time.Time) }), "email_missing /email_verified_at"},
		{account(func(a *ImportAccount) { a.EmailVerifiedAt = &later }), "time_in_future /email_verified_at"},
		{account(func(a *ImportAccount) { a.CreatedAt = &later }), "time_in_future /created_at"},
		{account(func(a *ImportAccount) { a.Status = "deleted" }), "status_invalid /status"},
		{account(func(a *ImportAccount) { a.DisplayName = new(string(make([]byte, 201))) }), "display_name_too_long /display_name"},
		{account(func(a *ImportAccount) { a.Attributes = json.RawMessage(`[]`) }), "attributes_invalid /attributes"},
	}
	var lines []ImportLine
	var want []string
	for i, b := range bad {
		lines = append(lines, b.line, accountLine(numbered("good-%d", i), numbered("good-%d", i), ""))
		want = append(want, fmt.Sprintf("%d %s %s", 2*i+1, b.line.Key, b.want), fmt.Sprintf("%d good-%d created", 2*i+2, i))
	}
	expectResults(t, d.importAll(t, lines...), want...)
	if s := d.state(t); len(s.Accounts) != len(bad) || len(s.Operations) > 0 {
		t.Errorf("there are %v, %v", s.Accounts, s.Operations)
	}
	d.checkInvariants(t, true)
}

func TestImport_ReadsNoMoreThanItsWindowAhead(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	read, answered, widest := 0, 0, 0
	err := d.Import(t.Context(), d.scope, func() (ImportLine, error) {
		if read == 5*importWindow {
			return ImportLine{}, io.EOF
		}
		read++
		widest = max(widest, read-answered)
		return accountLine(numbered("%d", read), numbered("a-%d", read), ""), nil
	}, func(r ImportResult) error {
		answered++
		if r.Line != answered || r.Result != ImportCreated {
			t.Errorf("result %d is %s", answered, short(r))
		}
		return nil
	})
	if err != nil || answered != read || widest != importWindow {
		t.Errorf("%v; %d read, %d answered, %d at once at most; want a window of %d", err, read, answered, widest, importWindow)
	}
}

func TestImport_ItsCallersErrorsEndIt_BehindTheResultsOfWhatWasRead(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	broken := errors.New("the connection broke")
	lines := linesOf([]ImportLine{accountLine("1", "ada", ""), accountLine("2", "ben", "")})
	var results []string
	err := d.Import(t.Context(), d.scope, func() (ImportLine, error) {
		line, err := lines()
		if err == io.EOF {
			err = broken
		}
		return line, err
	}, func(r ImportResult) error {
		results = append(results, short(r))
		return nil
	})
	if !errors.Is(err, broken) {
		t.Errorf("it ends with %v, want next's error", err)
	}
	expectResults(t, results, "1 1 created", "2 2 created")

	err = d.Import(t.Context(), d.scope, linesOf([]ImportLine{accountLine("3", "cy", ""), accountLine("4", "dee", "")}),
		func(ImportResult) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("it ends with %v, want result's error", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = d.Import(ctx, d.scope, func() (ImportLine, error) {
		cancel()
		return accountLine("5", "eve", ""), nil
	}, func(r ImportResult) error {
		t.Errorf("a result for a caller that went away: %s", short(r))
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v, want the caller's cancellation", err)
	}
	d.checkInvariants(t, true)
}

func TestImport_GoesIntoANamespaceThatIsImporting(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	d.setGate(t, d.scope.Tenant, tenancy.GateState{State: "open", Layout: domain.Layout, IdentityState: "importing"})
	expectResults(t, d.importAll(t, accountLine("1", "ada", "ada@example.com")), "1 1 created")
	expectResults(t, d.importAll(t, accountLine("1", "ada", "ada@example.com")), "1 1 exists")
	_, err := d.Get(t.Context(), d.scope, d.imported("1"))
	expectCode(t, err, domain.KindForbidden, "namespace_importing")
	d.setGate(t, d.scope.Tenant, gateOf("open"))
	if _, err := d.LookupEmail(t.Context(), d.scope, "ada@example.com"); err != nil {
		t.Error(err)
	}
}

func TestImport_ATenantThatIsSuspendedMeanwhile_EndsIt(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	next := linesOf([]ImportLine{accountLine("1", "ada", "")})
	err := d.Import(t.Context(), d.scope, func() (ImportLine, error) {
		d.setGate(t, d.scope.Tenant, gateOf("suspended")) // behind the gates, which are entered first
		return next()
	}, func(r ImportResult) error {
		t.Errorf("a result of a suspended tenant: %s", short(r))
		return nil
	})
	expectCode(t, err, domain.KindForbidden, "tenant_suspended")
}

func TestImport_ALineThatHasLanded_IsForgotten(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	r := &importRun{s: d.Service, scope: d.scope, busy: map[importName]*flight{}}
	first, second := r.begin(1, accountLine("1", "ada", "ada@example.com")), r.begin(2, accountLine("2", "ada", ""))
	if len(r.busy) != 4 || len(second.after) != 1 || second.after[0] != first { // two records, a handle, an address
		t.Fatalf("busy is %v, and the second waits for %v", r.busy, second.after)
	}
	r.forget(first)
	if len(r.busy) != 2 || r.busy[importName{domain.FamilyHandle, "ada"}] != second {
		t.Errorf("behind the first, busy is %v", r.busy)
	}
	r.forget(second)
	if len(r.busy) != 0 {
		t.Errorf("behind both, busy is %v", r.busy)
	}
}

func TestImport_ATimeBeyondTheCommits_IsTheCommits(t *testing.T) {
	t.Parallel()
	now := time.Now()
	before, behind := now.Add(-time.Hour), now.Add(time.Hour) // by a clock that runs ahead
	for _, c := range []struct {
		given *time.Time
		want  time.Time
	}{{nil, now}, {&before, before}, {&behind, now}} {
		if got := earlier(c.given, now); got != c.want {
			t.Errorf("of %v and %v it takes %v", c.given, now, got)
		}
	}
}
