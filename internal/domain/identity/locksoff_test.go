package identity

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// TestSafety_WithAdvisoryLocksOff runs the races and the crashes with every
// advisory lock taken out of enter: they order work and hold gates open, and no
// key's uniqueness may rest on them.
func TestSafety_WithAdvisoryLocksOff(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	d.turnAdvisoryLocksOff(t)
	promises := map[string]func(*testing.T, *directory){
		"email race": emailRace, "handle race": handleRace, "patch race": patchRace, "retry race": retryRace,
		"confirm race": confirmRace, "change race": changeRace, "wrong code race": wrongCodeRace, "email storm": emailStorm,
		"device retry race": deviceRetryRace, "device patch race": devicePatchRace, "decision race": decisionRace,
		"guess race": guessRace, "share race": shareRace, "redeem race": redeemRace, "refresh race": refreshRace,
		"sweeps at once": sweepRace, "crashes": everyCrash,
	}
	for name, keep := range promises {
		t.Run(name, func(t *testing.T) {
			own := d.with(Options{})
			own.scope = d.newTenant(t, "ascii")
			keep(t, own)
		})
	}
}

// turnAdvisoryLocksOff makes enter anew without the lines that lock, and proves
// that nothing else of the domain asks for such a lock.
func (d *directory) turnAdvisoryLocksOff(t *testing.T) {
	t.Helper()
	for _, db := range d.router.Databases() {
		admin := d.in.Admin(t, db.Name)
		var definition string
		err := admin.QueryRow(t.Context(), `SELECT pg_get_functiondef('enter'::regproc)`).Scan(&definition)
		if err != nil {
			t.Fatal(err)
		}
		var kept []string
		for line := range strings.Lines(definition) {
			if !strings.Contains(line, "pg_advisory") {
				kept = append(kept, line)
			}
		}
		if dropped := strings.Count(definition, "\n") - strings.Count(strings.Join(kept, ""), "\n"); dropped != 2 {
			t.Fatalf("dropped %d lines of enter, want the two that lock", dropped)
		}
		if _, err := admin.Exec(t.Context(), strings.Join(kept, "")); err != nil {
			t.Fatal(err)
		}
	}
}

// sweepRace lets several sweeps and a lookup finish the same work at once.
func sweepRace(t *testing.T, d *directory) {
	for i := range 8 {
		dying := d.with(Options{Faults: &crashAt{point: []string{"prepared", "claimed"}[i%2], nth: 1}})
		if _, err := dying.tryCreate(t.Context(), numbered("ghost-%d", i), numbered("ghost-%d@example.com", i)); !stopped(err) {
			t.Fatal(err)
		}
	}
	d.expire(t)
	done := make(chan struct{})
	for range 3 {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range 8 {
				if _, err := d.recover(t.Context(), d.scope.Tenant, d.ownerOf(t, numbered("ghost-%d", i))); err != nil {
					t.Errorf("recover: %v", err)
				}
			}
		}()
	}
	for range 3 {
		<-done
	}
	d.sweepAll(t)
	d.checkInvariants(t, true)
	d.expectState(t, state{})
}

// ownerOf is the record that a handle's claim leads to; the zero one if none.
func (d *directory) ownerOf(t *testing.T, handle string) ref {
	t.Helper()
	c, err := d.resolve(t.Context(), d.scope.Tenant, linkTo(domain.FamilyHandle, handle, domain.Token{}))
	if err != nil {
		t.Error(err)
	}
	if c == nil {
		return ref{}
	}
	return c.owner
}
