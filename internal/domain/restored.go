package domain

// RestoreID names a time that a data database was put back to an earlier one.
type RestoreID = ID[RestoreKind]

// RestoreKind is that of RestoreID.
type RestoreKind struct{}

// Restored says which numbers stand on databases that were put back, and by which
// restore. The zero id is of a number that nothing happened to.
type Restored [Numbers]RestoreID

// Has tells that a number's database was put back.
func (r *Restored) Has(n Number) bool { return !r[n].IsZero() }

// List are the numbers that were put back, ascending.
func (r *Restored) List() (numbers []Number) {
	for n, id := range r {
		if !id.IsZero() {
			numbers = append(numbers, Number(n))
		}
	}
	return numbers
}
