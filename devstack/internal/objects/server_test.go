package objects

import (
	"path/filepath"
	"testing"
)

func TestListenAgain_IsWhereItWas_UnlessThatIsTaken(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "address")
	first, err := listenAgain(file)
	if err != nil {
		t.Fatal(err)
	}
	beside, err := listenAgain(file)
	if err != nil || beside.Addr().String() == first.Addr().String() {
		t.Fatalf("beside it: %v", err)
	}
	defer beside.Close()
	was := first.Addr().String()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := beside.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := listenAgain(file)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if is := again.Addr().String(); is != beside.Addr().String() {
		t.Errorf("it listens at %s, and did at %s, then at %s", is, was, beside.Addr())
	}
}
