//go:build !linux

package process

import "syscall"

// setDeathSignal does nothing: this system has no parent-death signal, and
// the guardian alone ends what a killed stack leaves.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}

// orphaned returns a channel that never closes: this system doesn't tell of a
// parent's death.
func orphaned(*Starter) (<-chan struct{}, error) { return nil, nil }
