package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

const acquireBody = `{"request_id":"r","wait_seconds":9}`

var acquireText = fmt.Sprintf("POST %s/acquire%sContent-Length: %d\r\n\r\n%s", leasePath, rawHead, len(acquireBody), acquireBody)

// waitingAPI is one at which a request waits until its context ends.
func waitingAPI(t *testing.T) (a *testAPI, waits chan struct{}, ended chan error) {
	t.Helper()
	a = newTestAPI(t, testOptions{})
	waits, ended = make(chan struct{}), make(chan error, 1)
	a.coordinator.act = func(ctx context.Context) error {
		close(waits)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return ctx.Err()
	}
	return a, waits, ended
}

func TestWaiting_EndsWhenTheServerDrains(t *testing.T) {
	t.Parallel()
	a, waits, ended := waitingAPI(t)
	answered := make(chan *httptest.ResponseRecorder, 1)
	go func() {
		answered <- a.do(t, request{method: "POST", target: leasePath + "/acquire", body: acquireBody})
	}()
	<-waits
	a.api.Drain()
	w := <-answered
	if p := problemIn(t, w); w.Code != http.StatusServiceUnavailable || p.Code != "draining" || w.Header().Get("Retry-After") != "1" {
		t.Errorf("%d %v %s", w.Code, w.Header(), p.Code)
	}
	if err := <-ended; !errors.Is(err, errDraining) {
		t.Errorf("it ended with %v", err)
	}
}

// A lease that is free is given also while the server drains.
func TestWaiting_WhoDoesNotWaitIsAnswered(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.api.Drain()
	if w := a.do(t, request{method: "POST", target: leasePath + "/acquire", body: acquireBody}); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestWaiting_EndsWhenTheCallerGoes(t *testing.T) {
	t.Parallel()
	a, _, ended := waitingAPI(t)
	_, w := exchange(t, a.listen(t, time.Minute), acquireText, true)
	if err := <-ended; !errors.Is(err, errCallerGone) {
		t.Errorf("it ended with %v", err)
	}
	if p := problemIn(t, w); w.Code != http.StatusBadRequest || p.Code != "connection_closed" {
		t.Errorf("%d %s", w.Code, p.Code)
	}
}

// The time that a request has to arrive says nothing of a caller that has sent all.
func TestWaiting_GoesOnWhileTheCallerIsSilent(t *testing.T) {
	t.Parallel()
	const toArrive = 300 * time.Millisecond
	a := newTestAPI(t, testOptions{})
	a.coordinator.act = func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * toArrive):
			return nil
		}
	}
	if _, w := exchange(t, a.listen(t, toArrive), acquireText, false); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
