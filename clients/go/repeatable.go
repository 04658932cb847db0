package holdfast

import (
	"net/http"
	"strings"
)

// operation is what must be known of an operation to send it again.
type operation struct {
	method     string
	path       string // a template
	keyed      bool   // it takes an Idempotency-Key, under which it finds what the first one made
	repeatable bool   // the same request again finds what the first one did, or changes nothing
}

// operationOf finds the operation that a request is for, or gives a zero one where there
// is nothing to know.
func operationOf(request *http.Request) operation {
	path := strings.Split(request.URL.EscapedPath(), "/")
	for _, op := range operations {
		if op.method == request.Method && endsAs(path, strings.Split(op.path, "/")) {
			return op
		}
	}
	return operation{}
}

// endsAs tells whether a path ends as a template says: the service may stand below a
// path of its own. A template begins with "", from before its first slash.
func endsAs(path, template []string) bool {
	template = template[1:]
	if len(path) <= len(template) {
		return false
	}
	path = path[len(path)-len(template):]
	for i, segment := range template {
		if segment != path[i] && !(strings.HasPrefix(segment, "{") && path[i] != "") {
			return false
		}
	}
	return true
}

// creates tells a request that gets an Idempotency-Key unless it has one.
func creates(request *http.Request) bool {
	return request.Method == http.MethodPost && operationOf(request).keyed
}

// repeatable tells whether the request may be sent again after an answer was lost: it
// reads; it has a key; it is put, and so has an operation id or says how things are to
// be; or the API's description says that it may. An append is none of them: its entries
// may have no ids.
func repeatable(request *http.Request) bool {
	switch request.Method {
	case http.MethodGet, http.MethodHead, http.MethodPut:
		return true
	default:
		op := operationOf(request)
		return op.repeatable || op.keyed && request.Header.Get("Idempotency-Key") != ""
	}
}
