// Package web carries the API's description, which is the source of truth for
// the server, the clients and the tests.
package web

import _ "embed"

// OpenAPI is openapi.yaml: an OpenAPI 3.0.3 document.
//
//go:embed openapi.yaml
var OpenAPI []byte
