// Package domain holds the words that every part of Holdfast shares: typed
// ids, partitions, and the closed set of error kinds. It does no I/O and
// imports only the standard library.
package domain
