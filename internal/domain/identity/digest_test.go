package identity

import (
	"bytes"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// expectDistinct holds digests to telling their rows apart.
func expectDistinct(t *testing.T, sums map[string][32]byte) {
	t.Helper()
	seen := map[[32]byte]string{}
	for name, sum := range sums {
		if other, known := seen[sum]; known {
			t.Errorf("%q and %q have one digest", name, other)
		}
		seen[sum] = name
	}
}

func TestDigest_OfAnAccount_IsOfAllThatItSays(t *testing.T) {
	t.Parallel()
	sum := func(change func(*accountRow)) [32]byte {
		a := accountRow{Account: Account{ID: domain.AccountID{1}, Revision: 1, Status: Active, Handle: RestoreHandle("Ada", "ada", "skeleton/ada"),
			Email: RestoreEmail("Ada@x.com", "ada@x.com"), Attributes: []byte(`{}`)}}
		change(&a)
		i := inspection{}
		i.digests[7].account(&a)
		return i.sum()
	}
	none := sum(func(*accountRow) {})
	expectDistinct(t, map[string][32]byte{
		"nothing":         none,
		"its id":          sum(func(a *accountRow) { a.ID = domain.AccountID{2} }),
		"its revision":    sum(func(a *accountRow) { a.Revision = 2 }),
		"its status":      sum(func(a *accountRow) { a.Status = Disabled }),
		"its handle":      sum(func(a *accountRow) { a.Handle = RestoreHandle("ADA", "ada", "skeleton/ada") }),
		"its handle key":  sum(func(a *accountRow) { a.Handle = RestoreHandle("Ada", "adb", "skeleton/ada") }),
		"its skeleton":    sum(func(a *accountRow) { a.Handle = RestoreHandle("Ada", "ada", "skeleton/adb") }),
		"its email":       sum(func(a *accountRow) { a.Email = RestoreEmail("ADA@x.com", "ada@x.com") }),
		"its email key":   sum(func(a *accountRow) { a.Email = RestoreEmail("Ada@x.com", "adb@x.com") }),
		"an empty name":   sum(func(a *accountRow) { a.DisplayName = new("") }),
		"its name":        sum(func(a *accountRow) { a.DisplayName = new("Ada") }),
		"its attributes":  sum(func(a *accountRow) { a.Attributes = []byte(`{"a":1}`) }),
		"where words end": sum(func(a *accountRow) { a.Handle = RestoreHandle("Adaa", "da", "skeleton/ada") }),
	})
	for name, change := range map[string]func(*accountRow){
		"tokens": func(a *accountRow) {
			a.handleToken, a.skeletonToken, a.emailToken = domain.Token{1}, domain.Token{2}, domain.Token{3}
		},
		"times": func(a *accountRow) {
			a.CreatedAt, a.UpdatedAt, a.EmailVerifiedAt = time.Now(), time.Now(), new(time.Now())
		},
		"fingerprint": func(a *accountRow) { a.fingerprint = []byte("x") },
	} {
		if sum(change) != none {
			t.Errorf("the %s of an import changes the digest", name)
		}
	}
}

func TestDigest_OfADevice_IsOfAllThatItSays(t *testing.T) {
	t.Parallel()
	at := time.Unix(1, 0)
	sum := func(change func(*deviceRow)) [32]byte {
		d := deviceRow{Device: Device{ID: domain.DeviceID{1}, Revision: 1, Status: DevicePending, UserCode: RestoreUserCode(tvCode), ExpiresAt: &at}}
		change(&d)
		i := inspection{}
		i.digests[7].device(&d)
		return i.sum()
	}
	expectDistinct(t, map[string][32]byte{
		"nothing":        sum(func(*deviceRow) {}),
		"its id":         sum(func(d *deviceRow) { d.ID = domain.DeviceID{2} }),
		"its revision":   sum(func(d *deviceRow) { d.Revision = 2 }),
		"its status":     sum(func(d *deviceRow) { d.Status = DeviceDenied }),
		"its account":    sum(func(d *deviceRow) { d.Account = domain.AccountID{1} }),
		"an empty label": sum(func(d *deviceRow) { d.Label = new("") }),
		"its label":      sum(func(d *deviceRow) { d.Label = new("TV") }),
		"its client":     sum(func(d *deviceRow) { d.Client = domain.ClientID{1} }),
		"its scopes":     sum(func(d *deviceRow) { d.Scopes = []string{"a"} }),
		"more scopes":    sum(func(d *deviceRow) { d.Scopes = []string{"a", "b"} }),
		"its code":       sum(func(d *deviceRow) { d.UserCode = RestoreUserCode(waitingCode) }),
		"no code":        sum(func(d *deviceRow) { d.UserCode, d.ExpiresAt = UserCode{}, nil }),
		"its expiry":     sum(func(d *deviceRow) { d.ExpiresAt = new(at.Add(time.Second)) }),
	})
}

func TestDigest_OfAllRecords_TellsWhichNumberTheyStandInAndWhatTheyAre(t *testing.T) {
	t.Parallel()
	sum := func(fill func(*inspection)) [32]byte {
		i := inspection{}
		fill(&i)
		return i.sum()
	}
	account, device := &accountRow{}, &deviceRow{}
	expectDistinct(t, map[string][32]byte{
		"nothing":         sum(func(*inspection) {}),
		"an account":      sum(func(i *inspection) { i.digests[7].account(account) }),
		"another number":  sum(func(i *inspection) { i.digests[8].account(account) }),
		"an account more": sum(func(i *inspection) { i.digests[7].account(account); i.digests[7].account(account) }),
		"a device":        sum(func(i *inspection) { i.digests[7].device(device) }),
	})
	if one, other := digest(nil, "a", "\x00b").Sum(nil), digest(nil, "a\x00", "b").Sum(nil); bytes.Equal(one, other) {
		t.Error("two lists of words have one digest")
	}
}
