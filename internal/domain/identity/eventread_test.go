package identity

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// history reads an account's events in pages and gives them as lines.
func (d *directory) history(t testing.TB, id domain.AccountID, after int64, limit int) (lines []string) {
	t.Helper()
	names := recordNames{accountRef(id): "ada"}
	for {
		page, err := d.AccountEvents(t.Context(), d.scope, id, after, limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Events) > limit || page.More && len(page.Events) < limit {
			t.Errorf("a page of %d of at most %d, more %v", len(page.Events), limit, page.More)
		}
		for _, e := range page.Events {
			lines = append(lines, d.eventLine(names, e))
			after = e.Revision
		}
		if !page.More {
			return lines
		}
	}
}

func TestAccountEvents_AreTheWholeHistory_InPagesOfAnySize(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "")
	a = d.mustRename(t, a, "Ada")
	d.changeEmail(t, a.ID, "ada@example.com")
	want := []string{
		"ada 1 account.created by principal [handle]",
		"ada 2 account.changed by principal [display_name]",
		"ada 3 account.email_changed by principal [email]",
	}
	for limit := range 4 {
		if diff := cmp.Diff(want, d.history(t, a.ID, 0, limit+1)); diff != "" {
			t.Errorf("in pages of %d (-want +got):\n%s", limit+1, diff)
		}
	}
	if diff := cmp.Diff(want[2:], d.history(t, a.ID, 2, 10)); diff != "" {
		t.Errorf("behind revision 2 (-want +got):\n%s", diff)
	}
	if rest := d.history(t, a.ID, 3, 10); len(rest) > 0 {
		t.Errorf("behind the last revision there are %v", rest)
	}
}

func TestAccountEvents_OfADeletedAccount_AreReadForAsLongAsTheyAreKept(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "ada@example.com")
	if err := d.Delete(t.Context(), d.scope, a.ID, 1); err != nil {
		t.Fatal(err)
	}
	d.everywhere(t, `DELETE FROM events WHERE revision = 1`)
	if diff := cmp.Diff([]string{"ada 2 account.deleted by principal [handle email]"}, d.history(t, a.ID, 0, 10)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d.everywhere(t, `DELETE FROM events`)
	_, err := d.AccountEvents(t.Context(), d.scope, a.ID, 0, 10)
	expectCode(t, err, domain.KindNotFound, "account_not_found")
}

func TestAccountEvents_OfAnAccountWhoseEventsAreGone_AreNone(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "")
	d.everywhere(t, `DELETE FROM events`)
	if lines := d.history(t, a.ID, 0, 10); len(lines) > 0 {
		t.Errorf("got %v", lines)
	}
}
