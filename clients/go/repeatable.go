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
	"email-changes": true,
	"operators":     true,
	"principals":    true,
	"tenants":       true,
}

// reading are those at which a POST changes nothing.
var reading = map[string]bool{
	"batch-get": true,
	"lookup":    true,
}

func creates(request *http.Request) bool {
	return request.Method == http.MethodPost && creating[path.Base(request.URL.Path)]
}

// repeatable tells whether the request may be sent again after an answer was
// lost: it reads, or it creates under a key.
func repeatable(request *http.Request) bool {
	switch request.Method {
	case http.MethodGet:
		return true
	case http.MethodPost:
		word := path.Base(request.URL.Path)
		return reading[word] || creating[word]
	default:
		return false
	}
}
