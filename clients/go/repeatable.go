package holdfast

import (
	"net/http"
	"path"
)

// creating are the last words of the paths at which a POST takes an
// Idempotency-Key: it may be repeated, and finds what the first one made.
var creating = map[string]bool{
	"accounts":      true,
	"api-keys":      true,
	"clients":       true,
	"devices":       true,
	"email-changes": true,
	"operators":     true,
	"principals":    true,
	"tenants":       true,
}

// reading are the ends of the paths at which a POST changes nothing. The lookup of
// a device's code is none of them: it counts guesses.
var reading = map[string]bool{
	"accounts/batch-get": true,
	"accounts/lookup":    true,
}

// importing is where a line that is sent again finds what it made, by its key.
const importing = "accounts/import"

func creates(request *http.Request) bool {
	return request.Method == http.MethodPost && creating[path.Base(request.URL.Path)]
}

// repeatable tells whether the request may be sent again after an answer was
// lost: it reads, or it creates under a key or under keys.
func repeatable(request *http.Request) bool {
	switch request.Method {
	case http.MethodGet:
		return true
	case http.MethodPost:
		parent, word := path.Split(request.URL.Path)
		end := path.Base(parent) + "/" + word
		return reading[end] || end == importing || creating[word]
	default:
		return false
	}
}
