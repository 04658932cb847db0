package main

import (
	"fmt"
	"testing"
)

// validOnLimits makes valid requests about what tenants may do and have. It tells
// whether the operation is one of these.
func (s *subject) validOnLimits(t testing.TB, x *exchange, n int64, json func(string)) bool {
	t.Helper()
	switch x.op.operation.OperationID {
	case "getLimits", "getUsage":
	case "setLimits":
		x.path["tenant_id"] = s.tenant(t, s.api, fmt.Sprint("limited-", n)).id
		x.header.Set("If-Match", `"1"`)
		json(`{"requests_per_second":500,"worlds":$n,"body_bytes":0}`)
	default:
		return false
	}
	return true
}
