package identity

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

func drawStreams(t *rapid.T, backlog *rapid.Generator[int64]) []*stream {
	streams := make([]*stream, domain.Numbers)
	for n := range streams {
		after := rapid.Int64Range(0, 1<<40).Draw(t, "after")
		streams[n] = &stream{number: domain.Number(n), after: after, end: after + backlog.Draw(t, "backlog")}
	}
	return streams
}

func TestShareOut_FillsThePage_AndGivesNobodyMoreThanWhoStillWaits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		backlogs := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 5), rapid.Int64Range(0, 5000))
		streams := drawStreams(t, backlogs)
		limit := rapid.IntRange(1, MaxEvents).Draw(t, "limit")
		shareOut(streams, limit)
		var given, wanted, most int64
		for _, st := range streams {
			given, wanted, most = given+int64(st.part), wanted+st.backlog(), max(most, int64(st.part))
		}
		if given != min(wanted, int64(limit)) {
			t.Errorf("the page has %d, of %d that wait and room for %d", given, wanted, limit)
		}
		for _, st := range streams {
			switch part := int64(st.part); {
			case part > st.backlog():
				t.Errorf("%d gets %d, and %d wait", st.number, part, st.backlog())
			case part < st.backlog() && part+1 < most:
				t.Errorf("%d gets %d and more wait, while another gets %d", st.number, part, most)
			}
		}
	})
}

// Numbers that never run dry hold up nobody, however small the pages are.
func TestShareOut_InAsManyPagesAsNumbers_ServesEveryNumber(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		streams := drawStreams(t, rapid.OneOf(rapid.Just(int64(0)), rapid.Just(int64(1<<20))))
		limit := rapid.IntRange(1, domain.Numbers).Draw(t, "limit")
		served := map[domain.Number]bool{}
		for range domain.Numbers {
			shareOut(streams, limit)
			for _, st := range streams {
				served[st.number] = served[st.number] || st.part > 0
				st.after, st.end, st.part = st.after+int64(st.part), st.end+int64(st.part), 0
			}
		}
		for _, st := range streams {
			if st.backlog() > 0 && !served[st.number] {
				t.Errorf("number %d was never served", st.number)
			}
		}
	})
}
