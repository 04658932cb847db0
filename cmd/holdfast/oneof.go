package main

import (
	"fmt"
	"slices"
	"strings"
)

// oneOf is a flag's value, one of a few words.
type oneOf struct {
	value string
	words []string
}

func (o *oneOf) String() string { return o.value }

// Type is what help shows in the place of the value.
func (o *oneOf) Type() string { return strings.Join(o.words, "|") }

// Set takes a word, and refuses any other text.
func (o *oneOf) Set(text string) error {
	if !slices.Contains(o.words, text) {
		return fmt.Errorf("it is not one of %s", strings.Join(o.words, ", "))
	}
	o.value = text
	return nil
}
