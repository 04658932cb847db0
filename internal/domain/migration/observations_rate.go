package migration

// Rate is how fast a small migration was, from its slowest pass to its fastest. The
// zero value is one that nobody has measured.
type Rate struct {
	LowBodies  float64 // a second
	HighBodies float64
	LowBytes   float64 // of bodies, a second
	HighBytes  float64
}
