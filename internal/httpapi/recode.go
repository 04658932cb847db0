package httpapi

import (
	"github.com/go-json-experiment/json"
)

// recode gives a document of the domain the type that the API has for the same JSON,
// and back: what is hashed, or kept as it was counted, has one form everywhere. A nil
// list becomes an empty one.
func recode[To any](from any) (to To, err error) {
	text, err := json.Marshal(from)
	if err != nil {
		return to, err
	}
	return to, json.Unmarshal(text, &to)
}

// recodeAll recodes the items of a list, and never gives nil.
func recodeAll[To, From any](from []From) ([]To, error) {
	to, err := recode[[]To](from)
	if err == nil && to == nil {
		to = []To{}
	}
	return to, err
}
