// Package httpapi serves the API that web/openapi.yaml describes.
//
// The document is the source of truth. The strict server and its types are
// generated from it (api.gen.go); the scope of each operation, the parameters
// and bodies that are accepted, and whether an operation is public, are read
// from it at start. An operation that doesn't say its scope, or a body that
// could bind what was not validated, stops the start.
//
// A request passes, in this order:
//
//	identify      its id, and the operation that Echo's router matched
//	tracing       a span and http.server.request.duration
//	access log    one line
//	limit         its deadline: the operation's own, or that of all
//	answer        errors and panics become problem+json, in one place
//	audit         an administrative act's outcome goes into the audit log
//	authenticate  the token becomes a tenancy.Scope that has the operation's scope
//	validate      query, headers and body against the document
//	begin         the act is begun in the audit log, or not done
//	handler       decode, one domain call, encode
//
// A panic is met inside of the span, the log line and the request's id, so that
// it has all three; what stands outside of answer does nothing that could panic.
//
// # Bodies
//
// A JSON body is read once, strictly (strictjson.go), into the value that the
// schema judges. The handler gets the same bytes, bound by exact member names
// (bind.go). Every object with named members is closed, so nothing can bind that
// was not judged. Free-form objects stay bytes.
//
// A body that may have megabytes (room.go) is not read before there is room for it in
// memory, which it has until the answer was written. Of one in parts (recordupload.go)
// the part that is JSON is judged and bound so, and the others are bytes. What an
// answer holds is given back in the same way, and bodies in it are written as they
// are (recordbodies.go), never held a second time as text.
//
// A body of lines (lines.go) is not read before its handler asks for it. Each line
// is then judged and bound in the same way, and what is wrong with one is the
// result of that one.
//
// # Waits and long answers
//
// A request's deadline alone ends the work on it, since a change must not be cut off
// in its middle. What only waits for others (waiting.go) ends also when its caller
// goes or the server drains. An answer that can't be brought to its end, once it has
// begun, is dropped with its connection: it must not look as if it were all.
//
// # OAuth
//
// The operations under /v1/oauth/ take forms, from anybody: a client is known by
// what it shows there. What refuses them, a middleware or the domain, is put into
// the words of their RFCs in one place (oautherrors.go).
package httpapi
