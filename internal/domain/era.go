package domain

// A counter that a database gives out is a promise: no number of it comes again.
// A database that is put back to an earlier time would break it, so behind a
// restore its counters go on at the next era, beyond whatever they can have given
// out in the time that was lost. A number's era is its upper bits: 2^40 numbers an
// era, 8,192 eras below 2^53, which is as far as every JSON reader counts.
const eraBits = 40

// EraStart is the last number in front of a number's era: the era's own begin
// behind it. It is 0 for the first era.
func EraStart(n int64) int64 { return n >> eraBits << eraBits }

// NextEra is where a counter stands that has left its era.
func NextEra(n int64) int64 { return EraStart(n) + 1<<eraBits }

// NextEraFollows tells that between two numbers of a dense counter nothing is
// missing: they follow each other, or the second is the first of a later era.
func NextEraFollows(before, next int64) bool {
	return next == before+1 || next > before && EraStart(next) > EraStart(before) && next == EraStart(next)+1
}

// EndsAt tells that a counter says of the last number that was given out that there
// is none behind it: it stands there, or at the start of a later era.
func EndsAt(counter, last int64) bool {
	return counter == last || counter > last && counter == EraStart(counter)
}

// Lost tells that a number which somebody has seen was given out in a time that a
// restore has taken back: counter stands in an era behind the number's, and the
// era before counter's ended at restored. Of the eras before that one nothing is
// known any more, so what is of them counts as lost too. 0 is nobody's.
func Lost(seen, counter, restored int64) bool {
	start := EraStart(counter)
	if seen <= 0 || seen >= start {
		return false
	}
	return seen > restored || EraStart(seen) != EraStart(restored)
}
