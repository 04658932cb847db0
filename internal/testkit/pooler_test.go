package testkit

import "testing"

// A machine without the program is told in one line what brings it.
func TestFindPooler_SaysWhatBringsIt(t *testing.T) {
	t.Parallel()
	const want = "no pgbouncer on this machine: apt-get install pgbouncer brings it"
	if program, err := findPooler("no-such-pooler", "/nowhere/pgbouncer"); err == nil || err.Error() != want {
		t.Errorf("%q, %v; want %q", program, err, want)
	}
	if program, err := findPooler("no-such-pooler", "/bin/sh"); err != nil || program != "/bin/sh" {
		t.Errorf("%q, %v", program, err)
	}
}
