package testkit

import "testing"

// BenchmarkClone makes and drops an installation of three data databases: four
// databases in all.
func BenchmarkClone(b *testing.B) {
	s := connectServer(b)
	for b.Loop() {
		installation, err := s.clone(b.Context(), 3)
		if err != nil {
			b.Fatal(err)
		}
		if err := installation.drop(); err != nil {
			b.Fatal(err)
		}
	}
}
