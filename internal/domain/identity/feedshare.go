package identity

import "slices"

// shareOut gives each stream its part of a page: as much as every other that
// wants as much, so that a busy number doesn't hold up the others.
//
// A page that has no room for one event of each begins with another stream than
// the page before it: the position's own sum says with which. That sum grows by
// the events of each page, so the beginning moves on by as many streams as were
// served, and none is passed over for good.
func shareOut(streams []*stream, room int) {
	var sum int64
	for _, st := range streams {
		sum += st.after
	}
	first := int(uint64(sum) % uint64(len(streams)))
	waiting := slices.DeleteFunc(slices.Concat(streams[first:], streams[:first]), func(st *stream) bool { return st.backlog() == 0 })
	for len(waiting) > 0 && room > 0 {
		each := max(room/len(waiting), 1)
		for _, st := range waiting[:min(room, len(waiting))] {
			more := int(min(int64(each), st.backlog()-int64(st.part)))
			st.part += more
			room -= more
		}
		waiting = slices.DeleteFunc(waiting, func(st *stream) bool { return int64(st.part) == st.backlog() })
	}
}
