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
	"migrations":    true,
	"operators":     true,
	"principals":    true,
	"snapshots":     true,
	"tenants":       true,
}

// reading are the ends of the paths at which a POST changes nothing. The lookup of
// a device's code is none of them: it counts guesses.
var reading = map[string]bool{
	"accounts/batch-get": true,
	"accounts/lookup":    true,
	"body/presign":       true,
	"journal/check":      true,
}

// settling are the ends of the paths at which a POST that comes again finds what the
// first one did, by its request id or by the lease that it presents, and changes
// nothing more. An append is none of them: its entries may have no ids.
var settling = map[string]bool{
	"lease/acquire":  true,
	"lease/activate": true,
	"lease/renew":    true,
	"leases/renew":   true,
}

// named are the last words of the paths at which what is sent names itself, by an
// operation id or a batch's id and its claims: what comes again finds what the first
// one did.
var named = map[string]bool{
	"batches":   true,
	"complete":  true,
	"heartbeat": true,
	"publish":   true,
}

// finishing are the last words of the paths at which a POST that comes again finishes
// what was begun, and changes nothing more. They are acts on a migration, by the hash
// that they name, and a tenant's resumption.
var finishing = map[string]bool{
	"abort":     true,
	"activate":  true,
	"caps":      true,
	"close":     true,
	"pause":     true,
	"requalify": true,
	"resume":    true,
	"retry":     true,
}

// importing is where a line that is sent again finds what it made, by its key.
const importing = "accounts/import"

func creates(request *http.Request) bool {
	return request.Method == http.MethodPost && creating[path.Base(request.URL.Path)]
}

// repeatable tells whether the request may be sent again after an answer was
// lost: it reads, it settles, it finishes, it creates under a key or under keys, or
// it is named. What is put has an operation id, or says how things are to be.
func repeatable(request *http.Request) bool {
	switch request.Method {
	case http.MethodGet, http.MethodPut:
		return true
	case http.MethodDelete:
		return request.Header.Get("Idempotency-Key") != ""
	case http.MethodPost:
		parent, word := path.Split(request.URL.Path)
		end := path.Base(parent) + "/" + word
		return reading[end] || settling[end] || end == importing || creating[word] || named[word] || finishing[word]
	default:
		return false
	}
}
