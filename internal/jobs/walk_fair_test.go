package jobs

import (
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// A place that never has an end has its turn once a lap, and no other waits for more
// than that.
func TestWalk_APlaceWithoutEndKeepsNoOtherFromItsTurn(t *testing.T) {
	t.Parallel()
	w := newWalk([]string{"all"}, []domain.Number{0, 1, 2}, func(_ string, n domain.Number) domain.Number { return n })
	w.next = 0
	var turns []domain.Number
	for range 9 { // runs, each of one visit
		w.begin(3)
		place, ok := w.turn()
		if !ok {
			t.Fatal("the walk ended with work left")
		}
		turns = append(turns, place)
		if place == 0 {
			w.leave(place)
		} else {
			w.pass(place)
		}
	}
	if want := []domain.Number{0, 1, 2, 0, 1, 2, 0, 1, 2}; !slices.Equal(turns, want) {
		t.Errorf("the turns are %v, want %v", turns, want)
	}
	w.begin(3)
	for range 3 {
		place, _ := w.turn()
		w.pass(place)
	}
	if place, ok := w.turn(); ok {
		t.Errorf("%d has another turn, and nothing is left", place)
	}
}
