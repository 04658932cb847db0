package main

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain/migration"
)

// ranged is a flag's value within bounds. Whatever is outside, or no such value at
// all, is refused with the bounds.
type ranged[T cmp.Ordered] struct {
	to          *T
	least, most T
	kind        string // what help shows in the place of the value
	demand      string // what it has to be, with the bounds
	parse       func(string) (T, error)
}

func (r *ranged[T]) String() string { return fmt.Sprint(*r.to) }

// Type is what help shows in the place of the value.
func (r *ranged[T]) Type() string { return r.kind }

// Set takes a value within the bounds. What isn't a number is within none.
func (r *ranged[T]) Set(text string) error {
	value, err := r.parse(text)
	if err != nil || !(r.least <= value && value <= r.most) {
		return fmt.Errorf("it is not %s", r.demand)
	}
	*r.to = value
	return nil
}

// wholeIn is a whole number from least to most.
func wholeIn[T int | int64](to *T, least, most T) *ranged[T] {
	demand := fmt.Sprintf("a whole number from %d to %d", least, most)
	return &ranged[T]{to, least, most, "number", demand, func(text string) (T, error) {
		value, err := strconv.ParseInt(text, 10, 64)
		if int64(T(value)) != value {
			return 0, strconv.ErrRange
		}
		return T(value), err
	}}
}

// wholeFrom is one from least.
func wholeFrom(to *int64, least int64) *ranged[int64] { return wholeIn(to, least, math.MaxInt64) }

// largestPrice is the API's bound of a price, in US dollars.
const largestPrice = 1e6

func priceIn(to *float64) *ranged[float64] {
	return &ranged[float64]{to, 0, largestPrice, "dollars", "a price from 0 to 1000000", func(text string) (float64, error) {
		return strconv.ParseFloat(text, 64)
	}}
}

// lastingIn is a duration from least to most.
func lastingIn(to *time.Duration, least, most time.Duration) *ranged[time.Duration] {
	return &ranged[time.Duration]{to, least, most, "duration", fmt.Sprintf("a duration from %v to %v", least, most), time.ParseDuration}
}

// hashFlag is a flag's value that names something by its SHA-256.
type hashFlag struct{ to *string }

func (h hashFlag) String() string { return *h.to }

func (h hashFlag) Type() string { return "hash" }

// Set takes 64 hexadecimal digits, as they are printed.
func (h hashFlag) Set(text string) error {
	if err := new(migration.Hash).UnmarshalText([]byte(text)); err != nil {
		return fmt.Errorf("it is not the hash of anything: 64 hexadecimal digits, in lower case")
	}
	*h.to = text
	return nil
}
