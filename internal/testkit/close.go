package testkit

import (
	"testing"
	"time"
)

// closeWithin bounds the wait for connections that a test has not given back.
const closeWithin = 10 * time.Second

// closePools closes pools, which waits for every connection that is in use. A
// test that left a transaction or rows open would wait for itself, so it fails
// instead, and dropping its databases ends the connections.
func closePools(t testing.TB, close func()) {
	t.Helper()
	closed := make(chan struct{}, 1)
	go func() {
		close()
		closed <- struct{}{}
	}()
	select {
	case <-closed:
	case <-time.After(closeWithin):
		t.Error("the test left a transaction or rows open")
	}
}
