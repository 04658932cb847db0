package main

import (
	"net/http"
	"testing"
)

func TestContract_EveryOperationHasARequestThatSucceedsAsDescribed(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	for _, op := range loadSpec(t).operations {
		x := s.valid(t, op)
		s.send(t, x)
		if x.status >= http.StatusBadRequest {
			t.Errorf("%v: %d %s", op, x.status, x.answer)
		}
	}
}
