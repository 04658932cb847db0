package process

import (
	"os"
	"os/signal"
	"syscall"
)

// Interrupts returns the requests to end this process, as signals to pass on:
// those that it gets, and SIGTERM in the name of a parent that has died.
func Interrupts(s *Starter) (<-chan os.Signal, error) {
	gone, err := orphaned(s)
	if err != nil {
		return nil, err
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)

	requests := make(chan os.Signal, 4)
	go func() {
		for {
			select {
			case sig := <-signals:
				requests <- sig
			case <-gone:
				gone = nil // once is enough
				requests <- syscall.SIGTERM
			}
		}
	}()
	return requests, nil
}
