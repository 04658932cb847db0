package limits

import (
	"testing"
	"time"
)

func TestDue_WhatTakesLongIsCountedSeldom(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for took, want := range map[time.Duration]time.Duration{
		time.Millisecond: time.Minute + time.Millisecond,
		3 * time.Second:  303 * time.Second, // a hundredth of the time
		time.Minute:      61 * time.Minute,
	} {
		if got := dueAfter(began, took).Sub(began); got != want {
			t.Errorf("what took %v is due after %v, want %v", took, got, want)
		}
	}
}
