package httpapi

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// deadlined is a connection that remembers its read deadlines.
type deadlined struct {
	*httptest.ResponseRecorder
	reads []time.Time
}

func (d *deadlined) SetReadDeadline(at time.Time) error {
	d.reads = append(d.reads, at)
	return nil
}

func TestPausing_EachReadHasThePauseButNoMoreThanTheRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		w := &deadlined{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequestWithContext(ctx, "POST", "/", strings.NewReader("ab"))
		body := newPausing(newEcho(nil).NewContext(r, w), 20*time.Second)

		began := time.Now()
		for range 2 {
			if n, err := body.Read(make([]byte, 1)); n != 1 || err != nil {
				t.Fatal(n, err)
			}
			time.Sleep(10 * time.Second)
		}
		if _, err := body.Read(make([]byte, 1)); err != io.EOF {
			t.Fatal(err)
		}
		end := began.Add(25 * time.Second)
		if diff := cmp.Diff([]time.Time{began.Add(20 * time.Second), end, end, {}}, w.reads); diff != "" {
			t.Errorf("read deadlines (-want +got):\n%s", diff)
		}
	})
}
